internal import CRDTCore
internal import Engine
internal import FileServing
package import NIOHTTP1
package import PeerdKit

/// The reason why a request was not carried out, as RFC 9457 has it.
package struct Problem: Answer, Error {
    private var statusCode: Int
    private var type: String
    /// The kind of problem, for programs: words with hyphens.
    package var code: String
    /// The kind of problem, for people.
    package var title: String
    /// What happened, as sentences, and what to do about failures of the workspace.
    package var detail: String
    /// What happened alone.
    package var message: String
    /// What to do, as a sentence; nil if there is nothing to do.
    package var advice: String?
    /// What decides that something is not permitted; nil for other problems.
    package var decision: AccessExplanationAnswer.Decision?
    /// Header fields that belong to the answer.
    package var headers = HTTPHeaders()

    private enum CodingKeys: String, CodingKey {
        case type, title, detail, code, message, advice, decision
        case statusCode = "status"
    }

    package var status: HTTPResponseStatus { HTTPResponseStatus(statusCode: max(0, self.statusCode)) }

    package static func == (left: Problem, right: Problem) -> Bool {
        (left.status, left.code, left.detail) == (right.status, right.code, right.detail)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.code) }

    package init(
        _ status: HTTPResponseStatus,
        _ code: String,
        _ detail: String,
        advice: String? = nil,
        headers: HTTPHeaders = [:]
    ) {
        (self.statusCode, self.code, self.type) = (Int(status.code), code, "/problems/\(code)")
        self.title = code.first.map { $0.uppercased() + code.dropFirst().replacing("-", with: " ") } ?? code
        (self.detail, self.message, self.advice, self.headers) = (detail, detail, advice, headers)
    }

    /// Says that transactions of the same work were written before the one that failed.
    func behind(_ transactionCount: Int) -> Problem {
        var problem = self
        problem.message = PeerdError.message(self.message, behind: transactionCount)
        problem.detail = PeerdError.message(self.detail, behind: transactionCount)
        return problem
    }

    package static func badRequest(_ detail: String) -> Problem {
        Problem(.badRequest, "bad-request", detail, advice: "Correct the request; /api/openapi.json describes it.")
    }

    package static func invalid(_ detail: String) -> Problem {
        Problem(.unprocessableEntity, "invalid", detail, advice: "Correct the request; /api/openapi.json describes it.")
    }

    package static func noSuchObject(_ detail: String) -> Problem {
        Problem(.notFound, "no-such-object", detail, advice: "It may have been deleted; read the list again.")
    }

    package static func versionChanged(_ detail: String) -> Problem {
        Problem(.preconditionFailed, "version-changed", detail, advice: "Read it again, then edit.")
    }

    static func tooLarge(byteCountMax: Int) -> Problem {
        Problem(
            .payloadTooLarge,
            "too-large",
            "The body has more than \(byteCountMax) bytes.",
            advice: "Divide it into several requests."
        )
    }

    /// The object at which a page of a tree ended has gone, and with it the place behind it.
    static var placeLost: Problem {
        Problem(
            .gone,
            "place-lost",
            "The object that “after” names has left the tree, so nobody knows what comes behind it.",
            advice: "Read the tree from its beginning."
        )
    }

    /// The problem that any error stands for.
    package init(_ error: any Error) {
        switch error {
        case let problem as Problem: self = problem
        case let error as PeerdError: self.init(error)
        case WriteRefusal.nameTaken(let name): self = .idOfAnotherWrite(name)
        case let error as StoreError: self.init(PeerdError(error))
        case let error as FileTreeError: self.init(error)
        case is CancellationError:
            self.init(.serviceUnavailable, "unavailable", "The server is ending.", advice: "Try again in a moment.")
        default: self.init(.internalServerError, "failed", "The server failed: \(error)", advice: "Run “peerd doctor”.")
        }
    }

    /// The problem that an error of the library stands for.
    package init(_ error: PeerdError) {
        let detail = "\(error.message) \(error.advice)"
        self.init(Self.status(of: error.code), Self.code(error.code.rawValue), detail, advice: error.advice)
        self.message = error.message
        self.decision = error.decision.map { AccessExplanationAnswer.Decision($0) }
    }

    private static func status(of code: PeerdError.Code) -> HTTPResponseStatus {
        switch code {
        case .noSuchObject, .noSuchMoment, .noSuchBranch, .noSuchPerson: .notFound
        case .conflictChanged, .wouldCloseCycle, .notASibling, .branchExists, .branchUnmerged, .shownOnBranch:
            .conflict
        case .tooLarge: .payloadTooLarge
        case .notPermitted: .forbidden
        case .invalidArgument, .tokenFromAnotherWorkspace, .tokenOfAnotherScope, .wrongType, .importInvalid,
            .inviteInvalid, .inviteSpent, .cannotInvite, .joinRefused:
            .unprocessableEntity
        case .diskFull: .insufficientStorage
        case .closed, .notSyncing, .unreachable, .alreadyOpen, .readOnly, .clockExhausted, .clockUnconfirmed:
            .serviceUnavailable
        case .noWorkspace, .workspaceExists, .keysMissing, .storageFailed, .damaged, .newerVersion, .notPrivate,
            .noRandomness, .outcomeUnknown:
            .internalServerError
        }
    }

    /// The name of a case as words with hyphens.
    private static func code(_ name: String) -> String {
        name.map { $0.isUppercase ? "-\($0.lowercased())" : String($0) }.joined()
    }

    /// The answer: a page for a browser that wants to show one, else JSON.
    func response(to head: RequestHead) -> Response {
        let isPage = head.method == .GET && head.headers["Accept"].contains { $0.contains("text/html") }
        var response =
            isPage ? Response(self.status, Array(self.page.utf8), type: "text/html; charset=utf-8") : self.response
        for (name, value) in self.headers { response.headers.replaceOrAdd(name: name, value: value) }
        return response
    }

    private var page: String {
        func escaped(_ text: String) -> String {
            text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        }
        let sentences = [self.detail, self.advice].compactMap { $0 }.map { "<p>\(escaped($0))</p>" }.joined(
            separator: "\n"
        )
        return """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <meta name="color-scheme" content="light dark"><title>peerd</title></head>
            <body><main><h1>\(escaped(self.title))</h1>
            \(sentences)
            </main></body></html>
            """
    }

    package var response: Response {
        var response = Response(self.status, self)
        response.headers.replaceOrAdd(name: "Content-Type", value: "application/problem+json")
        for (name, value) in self.headers { response.headers.replaceOrAdd(name: name, value: value) }
        return response
    }
}
