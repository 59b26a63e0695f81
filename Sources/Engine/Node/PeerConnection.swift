internal import CRDTCore
internal import SyncProtocol

/// One connection as the node sees it: the link, who is at the other end, and what was said so far.
///
/// A class only because a link cannot be copied and a dictionary wants its values to be; the node alone holds it.
final class PeerConnection {
    /// Transactions in which the runs are taken in that arrived together, and one more for all that is left.
    ///
    /// Where more messages stand between them, the runs come after these: what a late move has done again is done once
    /// for all that is in a transaction, and a member could have it done for each message.
    static let intakeCountMax = 4

    let id: ConnectionID
    /// Whether we dialled.
    let isDialled: Bool
    let address: NetworkAddress
    /// How often everyone had been to be dialled when the connection began.
    let dialAllCount: UInt64
    var link: PeerLink
    var phase: Phase
    /// Bytes handed to the transport that have not left yet.
    var unsentByteCount = 0
    /// Whether a dialled connection stands, and its handshake has begun.
    var hasBegun = false
    /// The invites that were open when the other side first spoke.
    var offeredInvites: [OpenInvite]?
    /// Whom a dialler expects; nil if it does not know whose the address is.
    var expected: PeerKeys?
    /// The run of the other side's program, as its hello names it.
    var instance: UInt32 = 0
    /// Whether we say hello only once the other side's has shown that it is not one we have a session with.
    var letsOtherSpeakFirst = false
    /// Whom the other side has shown to be by its certificates, before its hello.
    var introduction: Introduction?
    /// The invite with which the other side came.
    var invite: OpenInvite?
    /// Why we ended it, if the address that we dialled is to blame.
    var failure: AddressFailure?
    /// When a whole record of the other side last came, in monotonic milliseconds.
    private(set) var lastHeard: UInt64
    /// When it was accepted or dialled, in monotonic milliseconds.
    private let openedAt: UInt64
    /// Since when the other side is known, in monotonic milliseconds.
    var readySince: UInt64?
    /// When it ends unless the other side is heard, since that has opened another one; in monotonic milliseconds.
    private(set) var doubtedUntil: UInt64?
    var pingSent = false
    /// Pings that were sent and not answered.
    var openPingCount = 0
    /// So many pongs will come before the peer has answered what it was asked when everyone was to be met.
    var awaitedPongCount = 0
    /// Whether what the peer has said lets more be sent to it.
    var mayHaveMore = false
    /// The static key proved in the handshake; whose it is, only a hello shows.
    var staticKey: StaticKey?
    var session: SyncSession
    /// Whose device the other side is, and who vouches for it; nil until that is known.
    var author: ChainAuthor?
    /// Whether the other side is of somebody in the workspace, as far as is known.
    private var isMember = true
    /// Whether the other side may read all that is here.
    private(set) var readsAll = false
    /// What the scope of the session was found from.
    private var scopeAge: RightsAge?
    /// How far what we lack was looked for, to ask this peer for it.
    var search = ContentSearch()
    /// What the peer's state comes to beside ours.
    var comparison = StateComparison()
    /// What the peer's clock shows; nil if it does not know the time, or has not said.
    var clock: PeerClock?
    var traffic = Traffic()

    enum Phase: Hashable {
        /// Until the handshake is done and the first message has come.
        case opening(deadline: UInt64)
        /// Welcomed by invite; only the goodbye is awaited.
        case pairing(deadline: UInt64)
        case ready(PeerKeys)
    }

    /// The circles of our user that the peer's does not read any more; nil where nothing is to be said of that.
    private(set) var ended: [EndedCircle]?
    /// What it was told of them: nothing, as long as there are none.
    var toldEnded: [EndedCircle] = []
    var toldEndedCount = 0
    /// Those of its own that it told us of last, and how often it has.
    var endedCircles: [EndedCircle] = []
    var endedMessageCount = 0
    /// The parcel that the other side has not confirmed.
    var parcel: ParcelExchange.UnderWay?
    /// When the next one may be left with it, in monotonic milliseconds.
    var nextParcel: UInt64 = 0

    init(
        id: ConnectionID,
        isDialled: Bool,
        address: NetworkAddress,
        dialAllCount: UInt64,
        link: consuming PeerLink,
        session: SyncSession,
        deadline: UInt64,
        now: UInt64
    ) {
        self.id = id
        self.isDialled = isDialled
        self.address = address
        self.dialAllCount = dialAllCount
        self.link = link
        self.session = session
        self.phase = .opening(deadline: deadline)
        self.openedAt = now
        self.lastHeard = now
    }

    /// Has the session tell the other side no more than what it may read by now.
    ///
    /// Returns false if it may read nothing any more.
    func refreshScope(for judge: Standpoint, in transaction: some StoreTransaction) -> Bool {
        let age = RightsAge(of: transaction)
        guard let author, age != self.scopeAge else { return self.isMember }
        self.scopeAge = age
        let scope = transaction.scope(of: author, for: judge)
        self.session.scope = scope ?? .nothing
        self.isMember = scope != nil
        self.readsAll = scope?.contains(allOf: transaction.circles) ?? false
        if author.user != judge.user || scope == nil {
            self.ended = transaction.circlesEnded(for: author, by: judge)
        }
        return self.isMember
    }

    /// Gives the other side a moment to be heard, which is longer on a slow network.
    func doubt(at now: UInt64) {
        let opening = (self.readySince ?? now) - self.openedAt
        self.doubtedUntil = now + ConnectionTimes.doubtFirst + 2 * opening
    }

    /// Gives the other side as long to be heard as a peer may be silent, since another machine has its keys as well.
    func doubtBesideCopy(at now: UInt64) {
        self.doubtedUntil = self.doubtedUntil ?? (now + ConnectionTimes.pingAfter)
    }

    /// Takes note of a sign of life, at a moment in monotonic milliseconds.
    func noteLife(at now: UInt64) {
        self.doubtedUntil = nil
        self.lastHeard = now
        self.pingSent = false
    }

    /// When it is to be looked at next, in monotonic milliseconds.
    var deadline: UInt64 {
        switch self.phase {
        case .opening(let deadline), .pairing(let deadline): return deadline
        case .ready:
            let silence = self.pingSent ? ConnectionTimes.idleTimeout : ConnectionTimes.pingAfter
            let others = [self.doubtedUntil, self.session.graftDeadline].compactMap { $0 }
            return others.reduce(self.lastHeard + silence, min)
        }
    }

    /// Whether it stood for a while or brought either side something, so that another is worth having soon.
    ///
    /// A device that keeps ending its connections would be dialled twice a second for ever.
    func wasOfUse(at now: UInt64) -> Bool {
        let stood = self.readySince.map { now - $0 } ?? 0
        return stood >= ConnectionTimes.usefulAfter || self.traffic.pulledChangeCount > 0
            || self.session.window.hasCarried
    }

    /// The keys of the device at the other end, once it has proved to have both.
    var keys: PeerKeys? {
        if case .ready(let keys) = self.phase { return keys }
        return nil
    }

    var device: DeviceID? { self.keys?.device }

    /// Whether the other side has proved, by a signature of this very handshake, to have the key of a device.
    func isProved(_ device: DeviceID, by proof: Signature, _ cryptography: SodiumCryptography) -> Bool {
        let message = HandshakeProof.message(handshakeHash: self.link.handshakeHash, isDialler: !self.isDialled)
        return cryptography.isValid(proof, of: message, by: device.bytes)
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
    package static let idleTimeout: UInt64 = 45_000
    /// The first wait before dialling again, doubled each time.
    package static let backoffFirst: UInt64 = 500
    /// The longest wait before dialling again.
    package static let backoffMax: UInt64 = 30_000
    /// The first wait after a session that carried nothing and stood for less than `usefulAfter`.
    package static let backoffAfterUseless: UInt64 = 4_000
    /// Longer than that wait: a session that stood for so long was worth having.
    package static let usefulAfter: UInt64 = 10_000
    /// From refusing a session of a peer in favour of an older one until that ends if it is silent, at least.
    package static let doubtFirst: UInt64 = 500
    /// Between two beacons.
    package static let beaconInterval: UInt64 = 10_000
    /// For so long a device's beacon is believed only if it is later than its last one.
    package static let beaconMemory: UInt64 = 60_000
}

/// The numbers of connections.
package enum ConnectionLimits {
    /// Connections that have not proved who they are, in all and from one host.
    package static let halfOpenCountMax = 32
    package static let halfOpenCountMaxByHost = 4
    /// Connections in all.
    package static let countMax = 256
    /// Devices that one device vouches for, directly or through others: in sessions at once, and remembered without
    /// being in the log.
    ///
    /// The first device of a user vouches for all, and is not counted.
    package static let deviceCountMaxByCertifier = 64
    /// Sessions with one device at once: one with each of the machines that were copied from each other.
    package static let instanceCountMax = 4
    /// Dials of one device at once: where it was, and where its beacon says that it is.
    package static let dialCountMaxByDevice = 2
    /// Addresses kept that only beacons of unknown members named.
    package static let heardAddressCountMax = 32
}
