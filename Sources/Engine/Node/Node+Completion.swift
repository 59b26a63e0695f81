internal import CRDTCore
internal import SyncProtocol

/// How far a node has looked for what it needs of dropped writes, to ask one peer for it.
struct ContentSearch {
    /// The age of the content (`ReplicaState.contentAge`) that the search is of; nil if none has begun.
    fileprivate var age: Int?
    /// The last property that was looked at.
    fileprivate var last: RegisterKey?
    fileprivate var hasFound = false
    fileprivate var isDone = false
    /// How often it has begun again, and when it goes on, in monotonic milliseconds.
    fileprivate var repeatCount = 0
    fileprivate var next: UInt64 = 0

    /// Properties that one step looks at.
    static let stepPropertyCountMax = 1_024
    /// The time from one step to the next, in milliseconds.
    static let stepInterval: UInt64 = 20
    /// The milliseconds after which a search that has found something begins again, twice as many each time.
    ///
    /// The peer may have what is needed and not show it yet: a change that restamps it may be under way.
    static let repeatInterval: UInt64 = 1_000
    static let repeatCountMax = 5
}

/// Getting the content of writes that were dropped, and are needed.
///
/// A write is dropped because another has seen it. If that one is lost with all who had it, machines that have the
/// dropped write only by its hash would differ for ever from those that have all of it. So when a session has nothing
/// more to send either way, each side looks which of its properties are incomplete, and asks for the writes that are in
/// force with the other. What comes is a run that is stored already; `Merge.repair` takes from it what is needed, and
/// whoever has repaired something sends it to its other peers too.
extension Node where Store: ~Copyable {
    /// When to go on; nil if there is nothing to look for, or nobody to ask.
    var completionDeadline: UInt64? {
        guard self.state.mayLackContent else { return nil }
        let (age, next) = (self.state.contentAge, self.timers.completion)
        return self.connections.values.filter { $0.isToBeAsked(for: age) }
            .map { max(next, $0.search.start(for: age)) }.min()
    }

    /// Looks at some properties for each peer that can be asked.
    mutating func goOnCompleting() {
        let now = self.now.monotonicMilliseconds
        self.timers.completion = now + ContentSearch.stepInterval
        for connection in self.readyConnections where connection.isToBeAsked(for: self.state.contentAge) {
            guard connection.search.start(for: self.state.contentAge) <= now else { continue }
            do throws(StoreError) {
                try self.search(for: connection)
            } catch {
                self.note(error)
                self.timers.completion = now + ConnectionTimes.backoffMax
                return
            }
        }
    }

    private mutating func search(for connection: PeerConnection) throws(StoreError) {
        var search = connection.search
        if search.age != self.state.contentAge {
            search = ContentSearch()
            search.age = self.state.contentAge
        }
        let wanted = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
            try search.step(in: &transaction)
        }
        search.repeatIfNeeded(at: self.now.monotonicMilliseconds)
        connection.search = search
        if !wanted.isEmpty { return self.send(connection.session.want(wanted), on: connection) }
        guard search.isDone, !search.hasFound else { return }
        try self.replica.transaction {
            (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) in
            try transaction.setFact(NodeFact.mayLackContent, nil)
            author.state.mayLackContent = false
        }
    }
}

extension PeerConnection {
    /// Whether there may be more to ask the peer for.
    fileprivate func isToBeAsked(for age: Int) -> Bool {
        guard self.device != nil, self.session.isSettled, !self.session.awaitsGiven else { return false }
        return !self.search.isDone || self.search.age != age
    }
}

extension ContentSearch {
    /// When it begins or goes on if the content is of an age.
    fileprivate func start(for age: Int) -> UInt64 { self.age == age ? self.next : 0 }

    /// Begins again some time later if something was found incomplete.
    fileprivate mutating func repeatIfNeeded(at now: UInt64) {
        guard self.isDone, self.hasFound, self.repeatCount < Self.repeatCountMax else { return }
        self.next = now + Self.repeatInterval << UInt64(self.repeatCount)
        self.repeatCount += 1
        (self.last, self.hasFound, self.isDone) = (nil, false, false)
    }

    /// Goes on to the next properties that are incomplete.
    fileprivate mutating func step(
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [WantedProperty] {
        let limit = Self.stepPropertyCountMax
        var wanted: [WantedProperty] = []
        let keys = try transaction.propertiesWithRedactedWrites(after: self.last, limit: limit)
        for key in keys {
            self.last = key
            guard try !transaction.isComplete(key) else { continue }
            self.hasFound = true
            let object = try transaction.look(at: key.object) { $0.id }
            let sum = try transaction.sumInForce(at: key)
            wanted.append(WantedProperty(object: object, name: try transaction.name(key.name), sum: sum))
            if wanted.count >= MessageLimits.wantedPropertyCountMax { return wanted }
        }
        self.isDone = keys.count < limit
        return wanted
    }
}
