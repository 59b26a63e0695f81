internal import CRDTCore
internal import SyncProtocol

/// The own state beside those of peers: the net under all other rules.
///
/// Equal frontiers mean equal states. That is looked at whenever two devices are in sync: each keeps up a digest of
/// what its rows say, in the background, and tells it. What differs is named to the user on both sides, and each puts
/// its own rows right by its own log (`Mending`).
///
/// The frontiers are those of what is applied, and content may be missing: a change that waits for ever, or whose
/// content nobody gives, must not keep states from being compared.
struct OwnState {
    fileprivate var digest = SettledDigest()
    /// What is settled, at an age of the replica's state; nil if something is deferred.
    fileprivate var claim: (value: StateClaim?, age: Int)?
    fileprivate(set) var mending: Mending?
    /// When objects may be mended again, in monotonic milliseconds.
    fileprivate var nextMending: UInt64 = 0
    /// The age of the state at the last step, and at the last event.
    fileprivate var steppedAge = 0
    fileprivate var seenAge = 0
    /// What each device has otherwise, and since when.
    fileprivate(set) var differences: [PeerKeys: StateDifference] = [:]

    /// Objects and properties that are looked at in one step.
    static let stepCostMax = 1000
    /// From one step to the next where nothing else goes on, in milliseconds.
    static let quietInterval: UInt64 = 20
    /// The same while changes come or are written: a hundredth of the time.
    static let busyInterval: UInt64 = 200
    /// From one mending to the next: whoever says that states differ has the whole log read.
    static let mendingInterval: UInt64 = 600_000

    /// Whatever is known of the rows may not be so any more.
    mutating func restart() { (self.digest, self.claim) = (SettledDigest(), nil) }
}

extension Node where Store: ~Copyable {
    /// When to go on; nil if all is told.
    var comparisonDeadline: UInt64? {
        if self.own.mending != nil { return self.timers.comparison }
        guard let claim = self.own.claim, claim.age == self.state.age else { return self.timers.comparison }
        guard let value = claim.value else { return nil }
        return self.settledConnections.compactMap { $0.comparison.time(toTell: value) }.min()
    }

    /// Puts off what a transaction makes due: whoever writes now, or sends, does not wait for it.
    mutating func putOffComparison() {
        guard self.own.seenAge != self.state.age else { return }
        self.own.seenAge = self.state.age
        let now = self.now.monotonicMilliseconds
        if self.timers.comparison <= now { self.timers.comparison = now + OwnState.busyInterval }
    }

    /// The sums of the digest of the state; nil as long as they are not known.
    package var settledSums: [UInt64]? {
        self.own.claim.flatMap { $0.age == self.state.age && $0.value != nil ? self.own.digest.sums : nil }
    }

    private var settledConnections: [PeerConnection] {
        // Who does not read all has another state.
        self.readyConnections.filter { $0.keys != nil && $0.session.isSettled && $0.readsAll }
    }

    mutating func goOnComparing() {
        let now = self.now.monotonicMilliseconds
        do throws(StoreError) {
            if self.own.mending != nil {
                try self.goOnMending()
            } else if self.own.claim.map({ $0.age != self.state.age }) ?? true {
                try self.goOnDigesting()
            }
            guard let claim = self.own.claim, claim.age == self.state.age, let value = claim.value else { return }
            for connection in self.settledConnections {
                if let time = connection.comparison.time(toTell: value), time <= now {
                    self.send(connection.comparison.tell(value, at: now), on: connection)
                }
                // What was heard before the state was known is looked at now.
                self.compare(value, on: connection)
            }
        } catch {
            self.note(error)
            self.own.mending = nil
            self.timers.comparison = now + ConnectionTimes.backoffMax
        }
    }

    /// Takes in some of what has changed; once that is all, finds what the state comes to.
    private mutating func goOnDigesting() throws(StoreError) {
        let isBusy = self.own.steppedAge != self.state.age
        self.own.steppedAge = self.state.age
        let interval = isBusy ? OwnState.busyInterval : OwnState.quietInterval
        self.timers.comparison = self.now.monotonicMilliseconds + interval
        // Apart meanwhile, so that it is not copied.
        var digest = SettledDigest()
        swap(&digest, &self.own.digest)
        defer { swap(&digest, &self.own.digest) }
        let cryptography = self.cryptography
        let state = self.state
        let isDeferred = state.deferred.hasRestamps || !state.deferred.changes.isEmpty
        let found = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) -> StateClaim?? in
            _ = try digest.step(upTo: OwnState.stepCostMax, in: &transaction, cryptography)
            guard digest.isCurrent(in: transaction) else { return nil }
            guard !isDeferred else { return .some(nil) }
            let frontier = Frontier.fingerprint(try Frontier(appliedIn: &transaction).entries, cryptography)
            return StateClaim(frontier: frontier, root: digest.root(cryptography))
        }
        if let found { self.own.claim = (found, state.age) }
    }

    private mutating func compare(_ claim: StateClaim, on connection: PeerConnection) {
        let now = self.now.monotonicMilliseconds
        if let message = connection.comparison.compare(claim, self.own.digest.sums, at: now) {
            self.send(message, on: connection)
        }
        self.noteDifference(on: connection)
    }

    /// A peer tells something of its state.
    mutating func compare(_ message: Message, on connection: PeerConnection) {
        guard connection.readsAll else { return }
        if case .state(let claim) = message { connection.comparison.hear(claim) }
        guard let claim = self.own.claim, claim.age == self.state.age, let value = claim.value else { return }
        do throws(StoreError) {
            switch message {
            case .state: self.compare(value, on: connection)
            case .sums(let sums):
                let groups = connection.comparison.groups(differingFrom: sums, value, self.own.digest)
                guard !groups.isEmpty else { return }
                let objects = try self.objects(of: groups)
                let told = StateObjects(frontier: value.frontier, groups: groups, objects: objects)
                self.send(.objects(told), on: connection)
            case .objects(let objects):
                guard connection.comparison.awaits(objects.groups) else { return }
                let own = try self.objects(of: objects.groups)
                connection.comparison.note(objects, value, own, at: self.now.monotonicMilliseconds)
                self.noteDifference(on: connection)
            default: return
            }
        } catch {
            self.note(error)
        }
    }

    /// The objects of some groups, by their ids; no more than are told.
    private mutating func objects(of groups: [Int]) throws(StoreError) -> [ObjectDigest] {
        let digest = self.own.digest
        return try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
            try digest.objects(of: groups, upTo: MessageLimits.listedObjectCountMax, in: &transaction)
        }
    }

    /// Remembers what differs from a peer's state, tells the user, and has it mended.
    private mutating func noteDifference(on connection: PeerConnection) {
        guard let keys = connection.keys else { return }
        let name = self.book[keys]?.shownName ?? "unknown"
        if connection.comparison.areEqual, self.own.differences.removeValue(forKey: keys) != nil {
            self.effects.append(.notice(.stateAgrees(device: name)))
        }
        guard let differing = connection.comparison.differing, !differing.isEmpty else { return }
        if self.own.differences[keys] == nil {
            self.own.differences[keys] = StateDifference(since: self.now.wall, objects: [])
            self.effects.append(.notice(.stateDiffers(device: name, objects: differing.sorted())))
        }
        self.own.differences[keys]?.objects = differing.sorted()
        guard self.own.mending == nil, self.own.nextMending <= self.now.monotonicMilliseconds else { return }
        self.own.nextMending = self.now.monotonicMilliseconds + OwnState.mendingInterval
        // All that is known to differ from anybody, so that whoever always comes first keeps nobody else out.
        let objects = self.own.differences.values.reduce(into: Set<ObjectID>()) { $0.formUnion($1.objects) }
        self.own.mending = Mending(objects, origin: ChainHash.origin(self.replica.author.membership.workspace))
    }

    private mutating func goOnMending() throws(StoreError) {
        guard var mending = self.own.mending else { return }
        self.own.mending = nil
        self.timers.comparison = self.now.monotonicMilliseconds + OwnState.quietInterval
        try self.replica.transaction {
            (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) in
            var merge = author.merge()
            try mending.step(&merge, in: &transaction, author.cryptography)
            try author.finish(&merge, in: &transaction)
        }
        // That was nobody's write, and puts nothing off.
        (self.own.seenAge, self.own.steppedAge) = (self.state.age, self.state.age)
        if !mending.isDone { self.own.mending = mending }
    }
}
