internal import CRDTCore
internal import NIOConcurrencyHelpers
internal import NIOHTTP1

/// Answers of JSON values, one a line.
///
/// Long work sends lines `{"progress":"…"}` before its last one. An answer that breaks off ends with `{"problem":…}`.
enum LineStream {
    static let mediaType = "application/x-ndjson"
    /// One object may hold very many values.
    static let lineByteCountMax = 512 << 20
    static let progressBeginning = Array(#"{"progress":"#.utf8)
    static let problemBeginning = Array(#"{"problem":"#.utf8)

    /// So often progress is told, if there is any.
    private static let progressInterval = Duration.milliseconds(250)
    /// So often it is told again that the work goes on.
    private static let lifeInterval = Duration.seconds(10)

    /// Answers with the lines that `write` makes; each piece must consist of whole lines.
    static func response(_ write: @escaping @Sendable (any BodyWriter) async throws -> Void) -> Response {
        Response(
            .ok,
            headers: ["Content-Type": self.mediaType],
            body: .stream { writer in
                do {
                    try await write(writer)
                } catch let error as CancellationError {
                    throw error
                } catch {
                    try await writer.write(self.line(ProblemLine(problem: Problem(error))))
                }
            }
        )
    }

    /// Answers with the result of work that may take long, and its progress if the client wants lines.
    static func response<Result: Answer>(
        to request: Request,
        _ work: @escaping Work<Result>.Body
    ) async throws -> Response {
        guard request.wantsLines else { return Response(try await work { _ in }) }
        return self.response { writer in
            let progress = NIOLockedValueBox<String?>(nil)
            let result = try await withThrowingTaskGroup(of: Result?.self) { group in
                group.addTask { try await work { text in progress.withLockedValue { $0 = text } } }
                group.addTask {
                    try await self.tell(progress, to: writer)
                    return nil
                }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
            try await writer.write(self.line(result))
        }
    }

    private static func tell(_ progress: NIOLockedValueBox<String?>, to writer: any BodyWriter) async throws {
        var (told, last): (String?, ContinuousClock.Instant) = (nil, .now)
        while true {
            try await Task.sleep(for: self.progressInterval)
            let text = progress.withLockedValue { $0 }
            guard text != told || .now - last >= self.lifeInterval else { continue }
            try await writer.write(self.line(ProgressLine(progress: text ?? "")))
            (told, last) = (text, .now)
        }
    }

    /// The JSON of an answer, and the end of its line.
    static func line(_ answer: some Encodable) -> [UInt8] {
        var bytes = JSON(answer).bytes
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }
}

/// Work that may take long, and ends with an answer; it tells how far it is to clients that want lines.
struct Work<Result: Answer>: RouteResult {
    typealias Body = @Sendable (_ progress: @escaping @Sendable (String) -> Void) async throws -> Result

    static var answers: [any Answer.Type] { [Result.self] }
    let body: Body

    init(_ body: @escaping Body) { self.body = body }

    func response(to request: Request) async throws -> Response {
        try await LineStream.response(to: request, self.body)
    }
}

/// Gathers lines, and hands them on in pieces of some size.
struct LineBuffer: ~Copyable {
    private var bytes: [UInt8] = []
    private static let pieceByteCount = 64 << 10

    /// Adds a line; returns what is to be handed on.
    mutating func add(_ answer: some Encodable) -> [UInt8]? {
        self.bytes += LineStream.line(answer)
        return self.bytes.count >= Self.pieceByteCount ? self.rest() : nil
    }

    /// What has not been handed on.
    mutating func rest() -> [UInt8] {
        defer { self.bytes = [] }
        return self.bytes
    }
}

extension Request {
    /// Whether the client wants the answer as lines of JSON.
    var wantsLines: Bool {
        self.head.headers[canonicalForm: "Accept"].contains { $0.hasPrefix(LineStream.mediaType) }
    }

    /// Whether the client wants nothing of what it has written but the receipt (RFC 7240 §4.2).
    var wantsReceipt: Bool { self.head.headers[canonicalForm: "Prefer"].contains { $0 == "return=minimal" } }
}
