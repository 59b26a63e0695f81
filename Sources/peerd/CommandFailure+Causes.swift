internal import CRDTCore
internal import Engine
internal import PeerdKit

extension CommandFailure {
    /// Whatever a verb has thrown, if there is something to say about it.
    init?(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as PeerdError: self.init(error)
        case let error as StoreError: self.init(PeerdError(error))
        default: return nil
        }
    }

    /// A store that failed.
    init(_ error: StoreError) { self.init(PeerdError(error)) }

    /// A write that was refused.
    init(_ refusal: WriteRefusal) { self.init(PeerdError(refusal)) }

    /// What the workspace says, with advice in the words of the command line.
    init(_ error: PeerdError) {
        self.init(ExitStatus(error.code), "\(error.message) \(Self.advice[error.code] ?? error.advice)")
    }

    private static let advice: [PeerdError.Code: String] = [
        .noWorkspace: "Create one with \"peerd init\", or join one with \"peerd join LINE\".",
        .workspaceExists: "Name another directory with --dir DIR for a second one.",
        .keysMissing: "Put the file \"keys\" back beside it, or name another directory with --dir DIR.",
        .notPrivate: "Run \"chmod 700\" on it, or name another place with --dir DIR.",
        .damaged: "Run \"peerd doctor\".",
        .importInvalid: "Nothing was imported; \"peerd help import\" describes the form.",
        .inviteSpent: "Print a new one there with \"peerd invite\".",
        .unreachable: "Check that \"peerd run\" runs there and that the network is up.",
        .clockExhausted: "Set the clock and run \"peerd doctor\".",
        .clockUnconfirmed: "Compare the clocks; if this one is right, run \"peerd restamp --clock-is-right\".",
    ]
}

extension ExitStatus {
    init(_ code: PeerdError.Code) {
        self =
            switch code {
            case .noWorkspace, .workspaceExists, .keysMissing: .workspace
            case .alreadyOpen, .notSyncing: .busy
            case .noSuchObject: .noSuchObject
            case .unreachable: .syncIncomplete
            case .invalidArgument, .inviteInvalid, .tokenFromAnotherWorkspace, .tokenOfAnotherScope: .usage
            case .diskFull, .storageFailed, .damaged, .newerVersion, .notPrivate, .outcomeUnknown, .closed: .storage
            case .readOnly, .wouldCloseCycle, .notASibling, .tooLarge, .wrongType, .clockExhausted, .clockUnconfirmed,
                .inviteSpent, .joinRefused, .noRandomness, .conflictChanged, .importInvalid:
                .failure
            }
    }
}
