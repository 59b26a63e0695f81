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
        // Messages may name what a file, or another machine, says.
        let message = PlainText.printable(error.message)
        self.init(ExitStatus(error.code), "\(message) \(Self.advice[error.code] ?? error.advice)")
    }

    private static let advice: [PeerdError.Code: String] = [
        .noWorkspace: "Make one with \"peerd init\", or join one with \"peerd join LINE\".",
        .workspaceExists: "Name another directory with --dir DIR for a second one.",
        .keysMissing: "Put the file \"keys\" back beside it, or name another directory with --dir DIR.",
        .notPrivate: "Make it yours alone with \"chmod 700\", or name another place with --dir DIR.",
        .damaged: "Run \"peerd doctor\".",
        .importInvalid: "Nothing was imported; \"peerd help import\" has the form.",
        .inviteSpent: "Print a new one there with \"peerd invite\".",
        .unreachable: "Check that \"peerd run\" runs there and that the network is up.",
        .clockExhausted: "Set it right and run \"peerd doctor\".",
        .clockUnconfirmed: "See \"peerd status\"; if the clock is right: peerd restamp --clock-is-right",
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
