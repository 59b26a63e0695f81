internal import CRDTCore
internal import SyncProtocol

/// How far a node has asked one peer for what it misses.
struct ContentSearch {
    /// The age of the content (`ReplicaState.contentAge`) that the search is of; nil if none has begun.
    fileprivate var age: Int?
    /// The last change that was looked at.
    fileprivate var last: SegmentPoint?
    fileprivate var isDone = false
    /// What the peer was asked for: it gives unasked what it gets later.
    fileprivate var asked: Set<SegmentPoint> = []

    /// The time from one step to the next, in milliseconds.
    static let stepInterval: UInt64 = 20
    /// Changes that one peer is asked for in one session.
    static let askedCountMax = 1 << 16
    /// Missing writes that one step looks at, and those of one more change.
    static let stepWriteCountMax = 1 << 12
}

/// Getting the content of writes that were dropped, and are needed (`MissingContent`).
///
/// When a session has nothing more to send either way, each side asks the other for the changes of which it misses
/// something. What comes is a run that is stored already; `Merge.repair` takes from it what is needed, and whoever has
/// repaired something sends it to its other peers too: they may have asked in vain.
extension Node where Store: ~Copyable {
    /// When to go on; nil if nothing is missing, or nobody is there to ask.
    var completionDeadline: UInt64? {
        guard self.state.missesContent else { return nil }
        let age = self.state.contentAge
        return self.connections.values.contains { $0.isToBeAsked(for: age) } ? self.timers.completion : nil
    }

    /// Asks each peer that can be asked for some changes.
    mutating func goOnCompleting() {
        let now = self.now.monotonicMilliseconds
        self.timers.completion = now + ContentSearch.stepInterval
        for connection in self.readyConnections where connection.isToBeAsked(for: self.state.contentAge) {
            do throws(StoreError) {
                try self.ask(connection)
            } catch {
                self.note(error)
                self.timers.completion = now + ConnectionTimes.backoffMax
                return
            }
        }
    }

    private mutating func ask(_ connection: PeerConnection) throws(StoreError) {
        var search = connection.search
        // What came meanwhile may stand before what was looked at; a search that is under way ends first.
        if search.isDone || search.age == nil { (search.age, search.last) = (self.state.contentAge, nil) }
        let wanted = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
            try search.step(within: connection.session.scope, in: &transaction)
        }
        connection.search = search
        if !wanted.isEmpty { self.send(connection.session.want(wanted), on: connection) }
    }
}

extension PeerConnection {
    /// Whether the peer is asked for what is missing, or is going to be.
    func isToBeCompleted(for age: Int) -> Bool { self.session.awaitsGiven || self.isToBeAsked(for: age) }

    /// Whether there may be more to ask the peer for.
    fileprivate func isToBeAsked(for age: Int) -> Bool {
        guard self.device != nil, self.session.isSettled, !self.session.awaitsGiven else { return false }
        return !self.search.isDone || self.search.age != age
    }
}

extension ContentSearch {
    /// Goes on to the next changes of which something is missing.
    ///
    /// `scope`: the circles that the peer reads.
    fileprivate mutating func step(
        within scope: CircleScope,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [WantedContent] {
        let limit = MessageLimits.wantedChangeCountMax
        let places = try transaction.changesMissingContent(after: self.last, limit: limit)
        var (wanted, writeCount): ([WantedContent], Int) = ([], 0)
        for place in places {
            guard writeCount < Self.stepWriteCountMax else { return wanted }
            self.last = place
            guard scope.contains(transaction.progress(of: place.segment).circle) else { continue }
            guard self.asked.count < Self.askedCountMax, self.asked.insert(place).inserted else { continue }
            guard let hash = try transaction.hash(at: place) else { continue }
            let missing = try transaction.missingPlaces(in: place)
            writeCount += missing.count
            guard !missing.isEmpty else { continue }
            let replica = transaction.replicaID(place.segment)
            let change = FrontierEntry(replica: replica, sequence: place.sequence, hash: hash)
            wanted.append(WantedContent(change: change, places: OperationRanges(missing)))
        }
        self.isDone = places.count < limit
        return wanted
    }
}
