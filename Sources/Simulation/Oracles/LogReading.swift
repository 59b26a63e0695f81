internal import CRDTCore
internal import MergeModel

/// A store's whole log, as the naive model takes it.
struct LogReading {
    private(set) var history: NaiveHistory
    private(set) var objects: Set<ObjectID> = []

    var changeCount: Int { self.history.changes.count }

    /// `circle`: the only one that is read; nil for all.
    init(
        of transaction: inout some StoreTransaction,
        founder: UserID,
        now: WallTime,
        in circle: CircleIndex? = nil
    ) throws(StoreError) {
        self.history = NaiveHistory([], founder: founder, now: now)
        for index in transaction.segmentIndices {
            let record = transaction.segment(index)
            if let circle, record.circle != circle { continue }
            var previous: Hash256?
            if let parent = record.origin?.parent, parent.sequence > 0 { previous = try transaction.hash(at: parent) }
            var next = record.firstSequence
            while let run = try transaction.loadRun(of: index, from: next, limits: RunLimits(), signed: false) {
                for change in run.changes {
                    let place = SegmentPoint(segment: index, sequence: next)
                    guard let hash = try transaction.hash(at: place) else { throw .damaged("a change has no hash") }
                    try self.add(change, at: next, hash, after: previous, in: run)
                    previous = hash
                    next += 1
                }
            }
        }
    }

    private mutating func add(
        _ change: Change,
        at sequence: UInt64,
        _ hash: Hash256,
        after previous: Hash256?,
        in run: Run
    ) throws(StoreError) {
        var edits: [Edit] = []
        do throws(WireError) {
            for position in change.operationRange { edits.append(try run.edit(run.operations[position])) }
        } catch {
            throw .damaged("an operation in the log cannot be read")
        }
        self.history.add(
            NaiveChange(
                replica: run.replica,
                sequence: sequence,
                hash: hash,
                previous: previous,
                stamp: change.stamp,
                context: Array(run.contextEntries[change.contextRange]),
                edits: edits
            )
        )
        for edit in edits {
            if let object = edit.object { self.objects.insert(object) }
            if case .move(_, let place) = edit, let parent = place.parent { self.objects.insert(parent) }
        }
    }
}
