internal import CRDTCore
internal import SyncProtocol

/// One connection as the node sees it: the link, who is at the other end, and what was said so far.
///
/// A class only because a link cannot be copied and a dictionary wants its values to be; the node alone holds it.
final class PeerConnection {
    let id: ConnectionID
    /// Whether we dialled.
    let isDialled: Bool
    let address: NetworkAddress
    var link: PeerLink
    var phase: Phase
    /// Bytes handed to the transport that have not left yet.
    var unsentByteCount = 0
    /// Whether a dialled connection stands, and its handshake has begun.
    var hasBegun = false
    /// The invites that were open when the other side first spoke.
    var offeredInvites: [OpenInvite]?
    /// Whose key a dialler expects.
    var expectedKey: StaticKey?
    /// When a whole record of the other side last came, in monotonic milliseconds.
    var lastHeard: UInt64
    /// Since when the other side is known, in monotonic milliseconds.
    var readySince: UInt64?
    var pingSent = false
    var conversation = Conversation()
    var traffic = Traffic()

    enum Phase: Hashable {
        /// Until the handshake is done and the first message has come.
        case opening(deadline: UInt64)
        /// Welcomed by invite; only the goodbye is awaited.
        case pairing(deadline: UInt64)
        case ready(device: DeviceID)
    }

    init(
        id: ConnectionID,
        isDialled: Bool,
        address: NetworkAddress,
        link: consuming PeerLink,
        deadline: UInt64,
        now: UInt64
    ) {
        self.id = id
        self.isDialled = isDialled
        self.address = address
        self.link = link
        self.phase = .opening(deadline: deadline)
        self.lastHeard = now
    }

    /// Whether it stood for a while or brought either side something, so that another is worth having soon.
    ///
    /// Of two copies of one device each ends the other's connection with its own; and a device that keeps ending its
    /// connections would be dialled twice a second for ever.
    func wasOfUse(at now: UInt64) -> Bool {
        let stood = self.readySince.map { now - $0 } ?? 0
        return stood >= ConnectionTimes.usefulAfter || self.traffic.pulledChangeCount > 0
            || self.conversation.window.hasCarried
    }

    /// The device at the other end, once it has said so.
    var device: DeviceID? {
        if case .ready(let device) = self.phase { return device }
        return nil
    }
}

/// What went over a connection.
package struct Traffic: Hashable, Sendable {
    package var pushedChangeCount = 0
    package var pushedOperationCount = 0
    package var pulledChangeCount = 0
    package var pulledOperationCount = 0
    /// Changes that arrived although they were known.
    package var duplicateChangeCount = 0
    package var sentByteCount = 0
    package var receivedByteCount = 0

    package init() {}
}

/// Where the exchange of changes with one peer stands.
struct Conversation {
    /// The static key proved in the handshake.
    var staticKey: StaticKey?
    /// The fingerprint our hello carried, and the frontier it was of.
    var sentFingerprint: Hash256?
    var helloFrontier = Frontier()
    var comparison = FrontierComparison()
    /// How far the peer's chains are known to reach durably.
    var peerSequences: [ReplicaID: UInt64] = [:]
    /// How far we have sent, or know the peer to hold.
    var sentSequences: [ReplicaID: UInt64] = [:]
    /// How far the peer said it has what we lack, of chains we may have to ask for.
    var announcedSequences: [ReplicaID: UInt64] = [:]
    /// When to ask the peer to push what it announced.
    var graftDeadline: UInt64?
    /// The peer wants other devices' changes announced, not pushed.
    var isPeerLazy = false
    /// We asked the peer to announce only.
    var askedForLazy = false
    var window = SendWindow()
    /// Bytes of runs received and not credited back.
    var uncreditedByteCount = 0
    var saidCaughtUp = false
    var peerIsCaughtUp = false
    /// How far the peer said it holds chains that reached us another way.
    ///
    /// That they are the same chains, no hash has shown yet. Kept by the side that dialled.
    var unproven: [ReplicaID: UInt64] = [:]
    /// When to show the peer our hashes of those.
    var proofDeadline: UInt64?
    /// Chains that differ from the peer's: nothing of them is sent until it is known where they part.
    var disputed: Set<ReplicaID> = []
    /// Proofs of forks the peer is known to hold: the disputed sequence by replica.
    var sharedForks: [ReplicaID: UInt64] = [:]
    /// How often a fork was probed for, to bound what a liar can make us do.
    var probeCount = 0
    /// Forked chains whose branches were asked for: the disputed sequence as it was known then.
    var askedForks: [ReplicaID: UInt64] = [:]
    /// Ends of parts of branches that the peer has sent and that were known.
    var knownBranchEnds: [ReplicaID: [ChainPoint]] = [:]
    /// What the peer has asked of branches that are not here.
    var openBranchRequests: [ReplicaID: BranchRequest] = [:]
    /// The last held notice sent, by replica, so that it is said once.
    var heldNotices: [ReplicaID: UInt64] = [:]

    /// Whether something may be noted of a chain: of one more only up to a limit, since a peer can name any number.
    func hasRoom(for replica: ReplicaID) -> Bool {
        self.peerSequences[replica] != nil || self.peerSequences.count < TransferLimits.announcedReplicaCountMax
    }
}

/// How many bytes of runs may be under way to a peer.
///
/// What is under way when a link breaks is sent again over the next one. So a connection starts with a small window
/// that grows with what the peer has acknowledged as durable: a link that breaks after every 100 kB still makes
/// progress, and repeats little more than `windowByteCountFirst` and a sixteenth of what it carried.
struct SendWindow: Hashable {
    private(set) var underWay = 0
    private var acknowledged = 0

    var byteCount: Int {
        let grown = TransferLimits.windowByteCountFirst + self.acknowledged / TransferLimits.windowGrowthDivisor
        return min(grown, TransferLimits.windowByteCountMax)
    }

    /// Whether the peer has acknowledged anything.
    var hasCarried: Bool { self.acknowledged > 0 }

    /// Negative after a change larger than the window.
    var free: Int { self.byteCount - self.underWay }

    mutating func sent(_ byteCount: Int) { self.underWay += byteCount }

    /// False if the peer acknowledges more than is under way.
    mutating func acknowledge(_ byteCount: UInt64) -> Bool {
        guard byteCount <= UInt64(self.underWay) else { return false }
        self.underWay -= Int(byteCount)
        // More than this no longer widens the window.
        let enough = TransferLimits.windowByteCountMax * TransferLimits.windowGrowthDivisor
        self.acknowledged = min(self.acknowledged + Int(byteCount), enough)
        return true
    }
}

/// The sizes of the exchange of changes.
enum TransferLimits {
    /// Bytes of runs that may be under way to a peer before it gives credit: at the start, and ever.
    static let windowByteCountFirst = 8 << 10
    static let windowByteCountMax = 4 << 20
    /// The window grows by one byte for so many that are acknowledged as durable.
    static let windowGrowthDivisor = 16
    /// No more runs are handed to a connection while this many bytes wait in it.
    static let unsentByteCountMax = 1 << 20
    /// Bytes of several messages that are handed to the transport as one.
    static let joinedByteCountMax = 16 << 10
    /// How much of a forked chain's other branch is sent at once.
    static let branch = RunLimits(changeCountMax: 4096, operationCountMax: 1 << 14, byteCountMax: 512 << 10)
    /// How much one run carries when streaming: never more than fits the window, and a share of a large one.
    ///
    /// So the receiver stores one run while the next are under way.
    static func streamed(_ window: SendWindow) -> RunLimits {
        let share = min(max(window.byteCount / 4, self.windowByteCountFirst), 512 << 10)
        return RunLimits(
            changeCountMax: 4096,
            operationCountMax: 1 << 14,
            byteCountMax: max(1, min(share, window.free))
        )
    }
    /// Probes answered in one session that showed a difference.
    static let probeCountMax = 256
    /// Chains of which a hash is shown at once.
    static let proofCountMax = 64
    /// A peer that lets more bytes than this wait for it is dropped: it asks and does not take the answers.
    static let unsentByteCountLimit = 16 << 20
    /// Parts of one comparison of frontiers that may be open: many more than honest peers come to.
    static let openSpanCountMax = 4096
    /// Chains that a peer may announce before we know them.
    static let announcedReplicaCountMax = 1 << 16
}

/// The times of connections, in milliseconds.
package enum ConnectionTimes {
    /// From accepting a stranger until his first valid message.
    package static let openingDeadline: UInt64 = 5_000
    /// From dialling until the peer's first valid message.
    package static let dialDeadline: UInt64 = 10_000
    /// Without a word for so long, a peer is pinged.
    package static let pingAfter: UInt64 = 15_000
    /// Without a whole record for so long, the connection is dropped: a link must carry one, of at most 64 KiB, in this
    /// time.
    package static let silenceMax: UInt64 = 45_000
    /// The first wait before dialling again, doubled each time.
    package static let backoffFirst: UInt64 = 500
    /// The longest wait before dialling again.
    package static let backoffMax: UInt64 = 30_000
    /// The first wait after a session that carried nothing and stood for less than `usefulAfter`.
    package static let backoffAfterUseless: UInt64 = 4_000
    /// Longer than that wait: of two copies of a device that end each other's sessions, none stands so long.
    package static let usefulAfter: UInt64 = 10_000
    /// Between two beacons.
    package static let beaconInterval: UInt64 = 10_000
    /// Between two attempts to write again what peers hold of ours, unless the clock was set back.
    package static let clockRepairInterval: UInt64 = 60_000
    /// How long chains that came on different ways may go without their hashes being compared.
    package static let proofDelay: UInt64 = 2_000
    /// How long an announced change may take to come by another way before we ask for it.
    package static let graftDelay: UInt64 = 300
}

/// The numbers of connections.
package enum ConnectionLimits {
    /// Connections that have not proved who they are, in all and from one host.
    package static let halfOpenCountMax = 32
    package static let halfOpenCountMaxByHost = 4
    /// Connections in all.
    package static let countMax = 256
}
