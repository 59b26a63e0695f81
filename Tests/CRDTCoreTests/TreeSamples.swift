import CRDTCore
import MergeModel

/// Forked chains to look at, with their changes by name.
struct TreeSample {
    private(set) var history = GeneratedHistory()
    /// By a name of the test's own.
    private(set) var changes: [String: NaiveChange] = [:]
    private var hasOthers = false

    static let object = ObjectID(bytes: Bytes16(high: 8, low: 8))
    static let now = WallTime(milliseconds: 1_000_000)

    /// Opens a device's chain, or opens it a second time.
    mutating func open(
        _ name: String,
        device number: UInt64,
        user: UserID = TestDevice.user,
        at stamp: UInt64 = 1,
        _ edits: [Edit] = []
    ) {
        if user != TestDevice.user { self.hasOthers = true }
        let device = TestDevice(number: number, user: user)
        let nonce = Bytes16(high: 6, low: number)
        let replica = device.replica(nonce: nonce)
        self.history.devices[replica] = device
        self.changes[name] = self.history.append(
            replica,
            stamp: Stamp(rawValue: stamp),
            salt: UInt64(self.changes.count),
            [.introduce(device.introduction(nonce: nonce))] + edits
        )
    }

    /// Writes a change behind another; without edits it sets a property to its name.
    mutating func write(
        _ name: String,
        after previous: String,
        at stamp: UInt64 = 1,
        saw seen: [String] = [],
        _ edits: [Edit]? = nil
    ) {
        let before = self[previous]
        let write = Edit.set(TreeSample.object, name: "title", value: .string(name))
        self.changes[name] = self.history.append(
            before.replica,
            after: before.hash,
            stamp: Stamp(rawValue: stamp),
            context: seen.map { self[$0].point }.sorted(),
            salt: UInt64(self.changes.count),
            edits ?? [write]
        )
    }

    subscript(name: String) -> NaiveChange { self.changes[name]! }

    /// Changes that follow each other as one run.
    func run(_ names: String...) -> VerifiedRun { self.history.sealed(names.map { self[$0] }) }

    /// What orders a restamp of a stretch, for the edits of a change.
    func restamp(from first: UInt64 = 1, to last: String) -> Edit {
        let change = self[last]
        return .restamp(
            Restamp(
                replica: change.replica,
                firstSequence: first,
                lastSequence: change.sequence,
                lastHash: change.hash
            )
        )
    }

    /// A store in memory into which changes came one by one.
    func store(_ names: [String], at now: WallTime = TreeSample.now) throws -> SampleStore {
        let store = try SampleStore(hasCharter: self.hasOthers)
        for name in names { try store.receive([self.run(name)], at: now) }
        return store
    }

    /// An order in which each comes after the one that it extends.
    func order(of names: [String], _ random: inout SplitMix64) -> [String] {
        var order: [String] = []
        while order.count < names.count {
            let ready = names.filter { name in
                let previous = self[name].previous
                return !order.contains(name)
                    && (previous == nil || order.contains { self[$0].hash == previous })
            }
            order.append(random.pick(ready))
        }
        return order
    }

    /// Every order in which some of the changes can come so that each comes after the one that it extends.
    func orders(of names: [String]) -> [[String]] {
        var orders: [[String]] = []
        func extend(_ order: [String]) {
            if order.count == names.count { orders.append(order) }
            for name in names where !order.contains(name) {
                let previous = self[name].previous
                if previous == nil || order.contains(where: { self[$0].hash == previous }) { extend(order + [name]) }
            }
        }
        extend([])
        return orders
    }
}

/// A store in memory with the founder of the test workspace.
final class SampleStore {
    private var store: MemoryStore

    /// `hasCharter`: whether the other user may write.
    init(hasCharter: Bool = false) throws {
        self.store = hasCharter ? try MemoryStore.ofChartedWorkspace : MemoryStore.ofTestWorkspace
    }

    @discardableResult
    func receive(
        _ runs: [VerifiedRun],
        at now: WallTime = TreeSample.now,
        deferring: Bool = false,
        ignoring ignored: Set<StampedRestamp>? = nil
    ) throws -> ([Merge.Reception], Merge.Summary) {
        try self.store.write { transaction throws(StoreError) in
            var policy = MergePolicy.ofTestNode(0, at: now)
            policy.defersRestamps = deferring
            policy.ignoredRestamps = ignored ?? []
            var merge = Merge(policy, deferred: DeferredWork(hasRestamps: ignored != nil))
            var receptions: [Merge.Reception] = []
            for run in runs { receptions.append(try merge.receive(run, in: &transaction)) }
            try merge.finish(in: &transaction)
            return (receptions, merge.summary)
        }
    }

    func dueRestamps() throws -> Set<StampedRestamp> {
        try self.read { transaction throws(StoreError) in
            try Merge(now: TreeSample.now, founder: TestDevice.user).dueRestamps(in: &transaction)
        }
    }

    func waits(at now: WallTime = TreeSample.now) throws -> [SegmentIndex: Merge.Wait] {
        try self.store.read { transaction throws(StoreError) in
            var merge = Merge(now: now, founder: TestDevice.user)
            return try merge.waits(in: &transaction)
        }
    }

    func read<Result>(_ body: (inout MemoryTransaction) throws(StoreError) -> Result) throws -> Result {
        try self.store.read(body)
    }

    /// Where a change is stored.
    func place(_ change: NaiveChange) throws -> SegmentPoint? {
        try self.read { transaction throws(StoreError) in
            try transaction.place(of: change.replica, sequence: change.sequence, hash: change.hash)
        }
    }

    func state() throws -> PlainState {
        try self.read { transaction throws(StoreError) in
            try StateReader.state(of: &transaction, objects: [TreeSample.object])
        }
    }

    /// The value of the sample object's title that is in force.
    func title() throws -> String? {
        guard let property = try self.state().objects.first?.properties.first,
            case .set(_, _, .string(let text)) = property.winner.edit
        else { return nil }
        return text
    }
}
