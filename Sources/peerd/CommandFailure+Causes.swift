internal import CRDTCore
internal import Engine
internal import Foundation
internal import LocalAPI
internal import PeerdKit

extension CommandFailure {
    /// Whatever a verb has thrown, if there is something to say about it.
    init?(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as PeerdError: self.init(error)
        case let error as StoreError: self.init(PeerdError(error))
        case let problem as Problem: self.init(problem)
        case let error as APIConnectionError: self.init(error)
        case let failure as SocketFailure:
            self.init(.busy, "The daemon's socket cannot be used: \(failure.reason).")
        default: return nil
        }
    }

    /// A store that failed.
    init(_ error: StoreError) { self.init(PeerdError(error)) }

    /// What the workspace says, with advice in the words of the command line.
    init(_ error: PeerdError) {
        self.init(ExitStatus(error.code), "\(error.message) \(Self.advice[error.code] ?? error.advice)")
    }

    /// What the API says, with advice in the words of the command line.
    init(_ problem: Problem) {
        let code = PeerdError.Code(apiCode: problem.code)
        switch problem.code {
        case "no-such-object", "no-such-property", "no-such-session", "ambiguous-id":
            self.init(.noSuchObject, problem.message)
        case "bad-request", "invalid": self.init(.failure, problem.message)
        case "not-found", "method-not-allowed": self.init(APIConnectionError.notUnderstood)
        case "unavailable", "too-many-requests": self.init(.busy, problem.message)
        default:
            let advice = code.flatMap { Self.advice[$0] } ?? problem.advice
            let status = code.map { ExitStatus($0) } ?? .failure
            self.init(status, [problem.message, advice].compactMap { $0 }.joined(separator: " "))
        }
    }

    /// A daemon that does not answer as it should.
    init(_ error: APIConnectionError) {
        switch error {
        case .silent(let seconds):
            self.init(
                .busy,
                """
                The daemon has shown no sign of life for \(seconds) seconds. See its log; if it was stopped, let it go \
                on, else end it and start it again. Then check in the workspace whether a write was stored.
                """
            )
        case .endedEarly, .notTaken:
            self.init(
                .busy,
                "The daemon stopped before it answered; check in the workspace whether a write was stored."
            )
        case .notUnderstood:
            self.init(
                .busy,
                "The daemon is another version of peerd, and its answer is not understood; stop it and start this one."
            )
        }
    }

    private static let advice: [PeerdError.Code: String] = [
        .noWorkspace: "Create one with \"peerd init\", or join one with \"peerd join\".",
        .workspaceExists: "Name another directory with --dir DIR for a second one.",
        .keysMissing: "Put the file \"keys\" back beside it, or name another directory with --dir DIR.",
        .readOnly: "Check the permissions of the directory, and how its disk is mounted.",
        .notPrivate: "Run \"chmod 700\" on it, or name another place with --dir DIR.",
        .importInvalid: "Nothing was imported; \"peerd help import\" describes the form.",
        .inviteSpent: "Print a new one there with \"peerd invite\".",
        .notSyncing: "Start \"peerd run\" first.",
        .unreachable: "Check that \"peerd run\" runs there and that the network is up.",
        .branchUnmerged: "Merge it first, or delete it with --discard.",
        .shownOnBranch:
            "Merge it, delete it, or bring it up to date with \"peerd branch merge main --into NAME\", and try again.",
        .clockExhausted: "Set the clock and run \"peerd doctor\".",
        .clockUnconfirmed: "Compare the clocks; if this one is right, run \"peerd restamp --clock-is-right\".",
    ]
}

extension PeerdError.Code {
    /// The code whose words the API has put hyphens between.
    fileprivate init?(apiCode text: String) {
        let words = text.split(separator: "-")
        self.init(rawValue: words.prefix(1).joined() + words.dropFirst().map(\.capitalized).joined())
    }
}

extension ExitStatus {
    init(_ code: PeerdError.Code) {
        self =
            switch code {
            case .noWorkspace, .workspaceExists: .workspace
            case .alreadyOpen, .notSyncing: .busy
            case .noSuchObject, .noSuchMoment, .noSuchBranch, .noSuchPerson: .noSuchObject
            case .unreachable: .syncIncomplete
            case .invalidArgument, .inviteInvalid, .tokenFromAnotherWorkspace, .tokenOfAnotherScope: .usage
            case .keysMissing, .diskFull, .storageFailed, .damaged, .newerVersion, .notPrivate, .outcomeUnknown,
                .closed, .readOnly:
                .storage
            case .wouldCloseCycle, .notASibling, .branchExists, .branchUnmerged, .shownOnBranch, .tooLarge, .wrongType,
                .notPermitted, .clockExhausted, .clockUnconfirmed, .inviteSpent, .cannotInvite, .joinRefused,
                .noRandomness, .conflictChanged, .importInvalid:
                .failure
            }
    }
}
