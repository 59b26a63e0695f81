internal import CRDTCore
package import Engine

/// A device that wants to join: the production pairing session on a connection that anything may happen to.
///
/// A class, since a session cannot be copied.
package final class Newcomer {
    /// Tells it from others; it has no machine yet.
    package let number: Int
    let inviter: Machine
    let trouble: PairingTrouble
    package var session: JoinSession?
    /// What it has said, for replays.
    private(set) var spoken: [[UInt8]] = []
    var heardCount = 0
    /// Who came with the same invite after it.
    var partner: Int?
    /// Its end of the connection.
    package let end: WireEnd

    init(number: Int, inviter: Machine, trouble: PairingTrouble, session: consuming JoinSession, end: WireEnd) {
        self.number = number
        self.inviter = inviter
        self.trouble = trouble
        self.session = consume session
        self.end = end
    }

    package func note(_ bytes: [UInt8]) { self.spoken.append(bytes) }

    /// The name it asks to be known by.
    package static func name(_ number: Int, _ trouble: PairingTrouble) -> String {
        switch trouble {
        case .wrongSecret: self.intruderPrefix + "\(number)"
        case .expired: self.latePrefix + "\(number)"
        default: "guest\(number)"
        }
    }

    /// Whoever holds no invite is called so; nobody may ever know one by that name.
    static let intruderPrefix = "intruder"
    /// Whoever comes with an invite that was too old; a clock that is set back may make it good again.
    static let latePrefix = "latecomer"
}

/// What goes wrong in a pairing.
package enum PairingTrouble: Hashable, Sendable {
    case none
    /// The connection ends after so many bytes from one side.
    case cut(fromNewcomer: Bool, afterByteCount: Int)
    /// The inviter's process is killed when the newcomer has heard so many of its messages.
    case inviterKilled(afterMessageCount: Int)
    /// The inviter's process ends at a store call from the beginning of the pairing.
    case inviterEnds(atStoreCall: Int)
    /// The newcomer is gone when it has heard so many messages.
    case newcomerGone(afterMessageCount: Int)
    /// All that the newcomer said is said again afterwards.
    case replayed
    case wrongSecret
    case expired
    /// Two come with one invite at the same moment.
    case usedTwice
}
