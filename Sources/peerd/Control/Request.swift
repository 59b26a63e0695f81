internal import CRDTCore
internal import PeerdKit

/// What a command line wants done in a workspace: by the daemon, over its socket, or by this very process.
///
/// Objects are named as people typed them, and values are the text they typed; the store's side understands them.
enum Request: Hashable, Codable, Sendable {
    case status
    case peers
    case invite
    /// Looks for machines of this workspace at the addresses of an invite.
    case meet(hosts: [String], port: UInt16)
    case sync(SyncScope, timeoutMilliseconds: UInt64)
    case create(Creation)
    case set(object: String, assignments: [Assignment])
    case unset(object: String, name: String)
    case get(object: String, name: String?)
    /// No parent is the root.
    case move(object: String, parent: String?, before: String?)
    case remove(object: String)
    case restamp(isClockRight: Bool)
    case list(object: String?)
    case tree(object: String?)
    case conflicts
    case log(object: String?)
    case importObjects([ImportedObject])
    case export(object: String?)
    case doctor

    struct Creation: Hashable, Codable, Sendable {
        var type: String
        var kind: String
        var parent: String?
        var key: String?
        var assignments: [Assignment]
    }

    /// NAME=VALUE, the value as it was typed.
    struct Assignment: Hashable, Codable, Sendable {
        var name: String
        var value: String
    }

    /// Whether carrying it out may write a change.
    var mayWrite: Bool {
        switch self {
        case .status, .peers, .invite, .get, .list, .tree, .conflicts, .log, .export, .doctor: false
        case .sync, .meet, .create, .set, .unset, .move, .remove, .restamp, .importObjects: true
        }
    }
}

/// A request on its way, with what the answer depends on besides.
struct RequestEnvelope: Hashable, Codable, Sendable {
    /// Raised when either side would misunderstand the other.
    static let currentVersion = 2

    var version = Self.currentVersion
    var format: OutputFormat
    var request: Request
}

/// A piece of the answer.
///
/// The last one is `finished` or `failed`.
enum Reply: Hashable, Codable, Sendable {
    /// Bytes of standard output, in base64 where they are no text by themselves.
    case text(String)
    case bytes(String)
    case qrCode(String)
    case progress(String)
    case note(String)
    case finished(Completion)
    case failed(CommandFailure)
}

/// What a request that was carried out came to, beside its output.
struct Completion: Hashable, Codable, Sendable {
    /// Objects taken in.
    var objectCount = 0
    /// The exit code of a command that has printed what is the matter itself.
    var status = ExitStatus.success
}
