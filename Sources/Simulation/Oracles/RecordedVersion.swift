internal import CRDTCore
internal import Engine

/// P20: a state that a machine had during the run, as it is to be read again in the end.
struct RecordedVersion {
    var machine: Int
    /// What was applied, which was all that was stored.
    var frontier: Frontier
    /// The effective stamps that are not the authors' own: whoever restamps later changes the order, and so the state.
    var raised: [Hash256: Stamp]
    /// What the clock showed.
    var wall: WallTime
    var export: [UInt8]

    /// More effective stamps of others than this are not compared.
    private static let raisedCountMax = 200

    /// The present state; nil if something waits, or is missing.
    init?(of transaction: inout some StoreTransaction, on machine: Machine, at wall: WallTime) throws(StoreError) {
        guard try !StateChecks.isWaiting(of: machine.founder, in: &transaction), try transaction.isComplete() else {
            return nil
        }
        (self.machine, self.wall) = (machine.number, wall)
        self.frontier = try RecordedVersion.frontier(of: &transaction)
        guard let seen = try RecordedVersion.seen(self.frontier, in: &transaction),
            let raised = try RecordedVersion.raised(in: seen, &transaction)
        else { return nil }
        self.raised = raised
        self.export = try StateExport.json(of: &transaction)
    }

    /// All that counts on the main timeline: what is on branches may be merged later.
    static func frontier(of transaction: inout some StoreTransaction) throws(StoreError) -> Frontier {
        let hasBranches = transaction.segmentIndices.contains { transaction.progress(of: $0).branch != nil }
        guard hasBranches else { return try Frontier(of: &transaction) }
        var entries: [FrontierEntry] = []
        for (segment, sequence) in try transaction.closure(of: transaction.heads()).all {
            let place = SegmentPoint(segment: segment, sequence: sequence)
            guard sequence >= transaction.progress(of: segment).firstSequence,
                let hash = try transaction.hash(at: place)
            else { continue }
            entries.append(FrontierEntry(replica: transaction.replicaID(segment), sequence: sequence, hash: hash))
        }
        return Frontier(entries)
    }

    /// How far each segment counts at a frontier; nil if something of it is not applied.
    static func seen(
        _ frontier: Frontier,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> SeenSegments? {
        var places: [SegmentPoint] = []
        for entry in frontier.entries {
            let place = try transaction.place(of: entry.replica, sequence: entry.sequence, hash: entry.hash)
            guard let place, place.sequence <= transaction.progress(of: place.segment).appliedSequence else {
                return nil
            }
            places.append(place)
        }
        return try transaction.closure(of: places)
    }

    /// The effective stamps of changes where they are not the authors'; nil if they are very many.
    static func raised(
        in seen: SeenSegments,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) -> [Hash256: Stamp]? {
        var found: [Hash256: Stamp] = [:]
        for (segment, last) in seen.all {
            guard let first = transaction.progress(of: segment).firstRaised, first <= last else { continue }
            guard last - first < UInt64(Self.raisedCountMax) else { return nil }
            for sequence in first...last {
                let place = SegmentPoint(segment: segment, sequence: sequence)
                guard let raised = try transaction.raisedStamp(at: place),
                    let hash = try transaction.hash(at: place)
                else { continue }
                found[hash] = raised.stamp
            }
        }
        return found
    }

    /// The same state as a machine reads it now.
    struct Reading {
        var export: [UInt8]
        /// Whether something in it has another effective stamp than it had.
        var isReordered: Bool
    }

    /// Reads the state again; nil if not all of it is applied.
    func read(in transaction: inout some StoreTransaction) throws(StoreError) -> Reading? {
        guard let seen = try RecordedVersion.seen(self.frontier, in: &transaction),
            let raised = try RecordedVersion.raised(in: seen, &transaction)
        else { return nil }
        var past = HistoryState(HistoryView(seen: seen), of: transaction)
        return Reading(export: try StateExport.json(of: &past), isReordered: raised != self.raised)
    }
}

/// The states that are kept of one run: a few, spread over all of it.
struct RecordedVersions {
    private(set) var all: [RecordedVersion] = []
    private var stride = 1
    private var passed = 0

    static let countMax = 6
    /// States with longer exports are not read again.
    static let exportByteCountMax = 30_000

    /// Whether the next state is one to keep.
    mutating func isNextDue() -> Bool {
        self.passed += 1
        return self.passed % self.stride == 0
    }

    mutating func add(_ version: RecordedVersion) {
        guard version.export.count <= Self.exportByteCountMax else { return }
        self.all.append(version)
        guard self.all.count > Self.countMax else { return }
        // Every second goes, and from now on every second that comes.
        self.all = self.all.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        self.stride *= 2
    }
}
