internal import CRDTCore
internal import Engine
internal import PeerCrypto
internal import SyncProtocol

/// One connection of a hostile member: a real handshake and real sealed records, and then whatever it wants.
///
/// A class, since a link cannot be copied.
final class HostileSession {
    let connection: ConnectionID
    /// The machine at the other end.
    let victim: Int
    let isDialled: Bool
    var link: PeerLink
    /// What a dialler says first.
    let firstBytes: [UInt8]
    let errand: Errand
    var comparison = FrontierComparison()
    /// What it pretends to hold.
    var pretence = Frontier()
    var isGreeted = false
    /// How many false probes it has answered.
    var probeCount = 0
    /// The last record it sealed.
    var lastRecord: [UInt8] = []

    enum Errand: Hashable {
        case perform(HostileAction)
        case deliver([Run])
    }

    init(
        _ connection: ConnectionID,
        with victim: Int,
        isDialled: Bool,
        link: consuming PeerLink,
        firstBytes: [UInt8],
        errand: Errand
    ) {
        self.connection = connection
        self.victim = victim
        self.isDialled = isDialled
        self.link = link
        self.firstBytes = firstBytes
        self.errand = errand
    }

    var action: HostileAction? {
        if case .perform(let action) = self.errand { return action }
        return nil
    }
}

/// Whoever comes is let in.
struct Anyone: LinkAuthority, ~Copyable {
    let membershipKey: SecretBytes

    func admits(_ key: StaticKey) -> Bool { true }
    func inviteSecrets() -> PresharedKeys { PresharedKeys() }
    func membershipSecrets() -> PresharedKeys { PresharedKeys(self.membershipKey) }
}
