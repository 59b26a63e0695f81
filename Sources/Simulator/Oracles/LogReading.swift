internal import CRDTCore
internal import MergeTestSupport

/// The whole log of a store, in full words.
struct LogReading {
    private(set) var history: NaiveHistory
    /// Every edit whose change is not excluded.
    private(set) var effectiveEdits: Set<Edit> = []
    private(set) var objects: Set<ObjectID> = []
    private(set) var changeCount = 0

    init(of transaction: inout some StoreTransaction, now: WallTime) throws(StoreError) {
        self.history = NaiveHistory(chains: [:], now: now)
        for position in 0..<transaction.replicaCount {
            let index = ReplicaIndex(rawValue: UInt32(position))
            let record = transaction.replica(index)
            if let fork = record.forkSequence { self.history.forks[record.id] = fork > 0 ? fork - 1 : 0 }
            var next: UInt64 = 1
            while let run = try transaction.loadRun(of: index, from: next, limits: RunLimits(), signed: false) {
                for (place, change) in run.changes.enumerated() {
                    let dot = Dot(replica: record.id, sequence: run.firstSequence + UInt64(place))
                    try self.add(change, dot, in: run, isEffective: record.isEffective(dot.sequence))
                }
                next = run.lastSequence + 1
            }
        }
    }

    private mutating func add(_ change: Change, _ dot: Dot, in run: Run, isEffective: Bool) throws(StoreError) {
        let edits = try LogReading.edits(of: change, in: run)
        self.history.chains[dot.replica, default: []].append(
            NaiveChange(
                dot: dot,
                stamp: change.stamp,
                contextDifference: Array(run.contextEntries[change.contextRange]),
                edits: edits
            )
        )
        self.changeCount += 1
        for edit in edits {
            if isEffective { self.effectiveEdits.insert(edit) }
            if let object = edit.object { self.objects.insert(object) }
            if case .move(_, let place) = edit, let parent = place.parent { self.objects.insert(parent) }
        }
    }

    /// What a change says.
    static func edits(of change: Change, in run: Run) throws(StoreError) -> [Edit] {
        var edits: [Edit] = []
        do throws(WireError) {
            for position in change.operationRange { edits.append(try run.edit(run.operations[position])) }
        } catch {
            throw .damaged("an operation in the log cannot be read")
        }
        return edits
    }

    /// What the change with a dot says; nil if it is not stored.
    static func edits(at dot: Dot, in transaction: inout some StoreTransaction) throws(StoreError) -> [Edit]? {
        guard let index = transaction.existingReplicaIndex(of: dot.replica) else { return nil }
        let one = RunLimits(changeCountMax: 1)
        guard let run = try transaction.loadRun(of: index, from: dot.sequence, limits: one, signed: false),
            let change = run.changes.first
        else { return nil }
        return try self.edits(of: change, in: run)
    }
}
