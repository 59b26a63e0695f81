package import CRDTCore
package import SyncProtocol

/// Fetches blobs from peers and sends them to peers, over the sessions of a node.
///
/// It does no I/O: it is told what was wanted, what peers have said and what the disk has done, and says what to send
/// and what the disk is to do. A leaf is asked for if nobody else is asked, and is kept after its proof alone. What is
/// not here is asked of every peer, once in each session, and again when the peer says that it has come there.
package struct BlobExchange: Sendable {
    /// What is to be done.
    package enum Action: Hashable, Sendable {
        case send(ConnectionID, BlobMessage)
        case perform(BlobCommand)
        /// These are on the disk as a whole, and it may be noted that they are held.
        case arrived([BlobRoot])
        /// What this peer sends of a blob is not what its root says.
        case blame(ConnectionID, BlobRoot)
        /// The peer broke the protocol.
        case violation(ConnectionID, String)
        /// Blobs cannot be written for now; it is tried again.
        case stopped(BlobFailure)
    }

    /// A blob that is wanted here.
    package struct Wish: Hashable, Sendable {
        package var root: BlobRoot
        package var shape: BlobShape
        /// Leaves that somebody waits for, before all others; empty if nobody does.
        package var urgent: Range<Int>

        package init(root: BlobRoot, shape: BlobShape, urgent: Range<Int> = 0..<0) {
            (self.root, self.shape, self.urgent) = (root, shape, urgent)
        }
    }

    /// What is wanted, in the order in which it is fetched.
    var order: [BlobRoot] = []
    var fetches: [BlobRoot: BlobFetch] = [:]
    /// Blobs of which all leaves are here, and that wait for the disk together.
    var complete: [BlobRoot] = []
    var isCompleting = false
    var sources: [ConnectionID: BlobSource] = [:]
    var clients: [ConnectionID: BlobClient] = [:]
    /// When the disk is tried again after it failed, in monotonic milliseconds.
    var retry: UInt64?
    var retryWait = BlobExchangeLimits.retryWaitFirst
    var actions: [Action] = []
    /// In monotonic milliseconds.
    var now: UInt64 = 0

    package init() {}

    /// What is to be done since this was last asked.
    package mutating func takeActions() -> [Action] {
        defer { self.actions = [] }
        return self.actions
    }

    /// Whether no action waits to be taken.
    package var hasNothingToDo: Bool { self.actions.isEmpty }

    // MARK: - What is wanted

    /// Wants these blobs and no others, in this order.
    ///
    /// At most `BlobExchangeLimits.fetchCountMax` are looked at; whoever wants more says so when these have come.
    package mutating func want(_ wishes: [Wish], at now: UInt64) {
        self.now = now
        let wishes = wishes.prefix(BlobExchangeLimits.fetchCountMax)
        let roots = Set(wishes.map(\.root))
        for root in self.order where !roots.contains(root) { self.giveUp(root) }
        self.order = wishes.map(\.root)
        for wish in wishes {
            self.fetches[wish.root, default: BlobFetch(wish.root, wish.shape)].urgent = wish.urgent
        }
        self.fillAll()
    }

    /// Whether a blob is being fetched, or waits for a source.
    package func wants(_ root: BlobRoot) -> Bool { self.fetches[root] != nil }

    private mutating func giveUp(_ root: BlobRoot) {
        guard let fetch = self.fetches[root], !fetch.isComplete else { return }
        for connection in self.sources.keys.sorted() { self.cancel(root, of: connection) }
        self.fetches[root] = nil
        if fetch.hasTaken { self.actions.append(.perform(.pause(root))) }
    }

    // MARK: - Peers

    /// A session has begun, in which both sides may speak of blobs.
    package mutating func open(_ connection: ConnectionID, at now: UInt64) {
        self.now = now
        self.sources[connection] = BlobSource(now: now)
        self.clients[connection] = BlobClient()
        self.fill(connection)
    }

    package mutating func close(_ connection: ConnectionID, at now: UInt64) {
        self.now = now
        self.clients[connection] = nil
        guard let source = self.sources.removeValue(forKey: connection) else { return }
        for want in source.wants.values { self.release(want, of: connection) }
        self.fillAll()
    }

    /// Takes a message of a peer in.
    ///
    /// `permitted`: the shape of the blob if the peer may have it and it is here, or is on its way; asked for what the
    /// peer wants alone.
    package mutating func receive(
        _ message: BlobMessage,
        from connection: ConnectionID,
        at now: UInt64,
        permitted: (BlobRoot) -> BlobPermission
    ) {
        self.now = now
        guard self.sources[connection] != nil else { return }
        switch message {
        case .want(let want): self.serve(want, to: connection, permitted(want.root))
        case .cancel(let number): self.clients[connection]?.cancel(number)
        case .proof(let number, let proof): self.take(proof, number, from: connection)
        case .piece(let piece): self.take(piece, from: connection)
        case .lacking(let number, let leaves, let lack): self.note(lack, leaves, number, from: connection)
        case .here(let root):
            self.sources[connection]?.forgetLack(of: root)
            self.fill(connection)
        }
    }

    /// Takes a result of the disk in.
    package mutating func receive(_ result: BlobResult, at now: UInt64) {
        self.now = now
        switch result {
        case .looked(let root, let group, let leaves, let hasProof):
            self.fetches[root]?.open(group, here: leaves, hasProof: hasProof)
            self.finishIfWhole(root)
            self.fillAll()
        case .tookProof(let root, let group, _):
            self.fetches[root]?.groups[group]?.proof = .here
            self.fillAll()
        case .tookLeaf(let root, let leaf, let connection): self.tookLeaf(leaf, of: root, from: connection)
        case .completed(let roots): self.completed(roots)
        case .proof(let root, let group, let proof, let receiver): self.send(proof, group, of: root, to: receiver)
        case .leaf(let root, let leaf, let content, let receiver): self.send(content, leaf, of: root, to: receiver)
        case .paused: break
        case .failed(let command, let failure): self.failed(command, failure)
        }
    }

    // MARK: - Time

    /// When something is to be done without an event, in monotonic milliseconds.
    package var deadline: UInt64? {
        let stalls = self.sources.values.compactMap(\.stallDeadline)
        return (stalls + [self.retry].compactMap { $0 }).min()
    }

    package mutating func tick(at now: UInt64) {
        self.now = now
        if let retry = self.retry, retry <= now {
            self.retry = nil
            self.completeNext()
            self.fillAll()
        }
        for connection in self.sources.keys.sorted() {
            guard let deadline = self.sources[connection]?.stallDeadline, deadline <= now else { continue }
            self.stalled(connection)
        }
    }
}

/// What a peer may have of a blob.
package enum BlobPermission: Hashable, Sendable {
    /// All that is here.
    case granted(BlobShape)
    case refused(BlobLack)
}

/// The sizes, counts and times of exchanges of blobs.
package enum BlobExchangeLimits {
    /// Blobs that are fetched at once.
    package static let fetchCountMax = 256
    /// Groups of a blob that are fetched at once.
    package static let groupCountMax = 8
    /// Bytes that one peer is asked for ahead: at first, at least, and at most.
    package static let budgetFirst = 8 * BlobShape.leafByteCount
    package static let budgetMin = BlobShape.leafByteCount
    package static let budgetMax = 16 << 20
    /// A peer is asked for what it sends in so many milliseconds.
    package static let budgetMilliseconds: UInt64 = 2_000
    /// Without anything that was asked for in so many milliseconds, others are asked for it.
    package static let stallAfter: UInt64 = 10_000
    /// Leaves, at the end of a blob, that a second peer is asked for.
    package static let repeatedLeafCountMax = 16
    /// Questions of a peer that wait for an answer: as many as a peer of this version asks at once.
    package static let openWantCountMax = budgetMax / BlobShape.leafByteCount
    /// Blobs that a peer asked for in vain, and hears of when they come.
    package static let hopefulCountMax = 1_024
    /// Messages of pieces that lie ready for one peer: those of a leaf, and a proof.
    package static let readyCountMax = BlobShape.leafByteCount / BlobPiece.byteCountMax + 1
    /// Blobs for which the disk is waited together.
    package static let completeCountMax = 64
    /// After the disk failed, in milliseconds, doubled each time.
    package static let retryWaitFirst: UInt64 = 1_000
    package static let retryWaitMax: UInt64 = 60_000
}

extension ConnectionID: Comparable {
    package static func < (left: ConnectionID, right: ConnectionID) -> Bool { left.rawValue < right.rawValue }
}
