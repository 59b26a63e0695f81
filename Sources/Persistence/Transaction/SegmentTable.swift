import CRDTCore

/// All segments and restamps, in memory, and which of them the transaction has changed.
struct SegmentTable {
    private(set) var records: [SegmentRecord] = []
    /// Apart, since merging and sending ask for those of all segments, and to copy a record costs ten times as much.
    private var progresses: [SegmentProgress] = []
    private var chains: [ReplicaID: Chain] = [:]
    /// The records that the database holds, by the numbers of those that differ here.
    private var originals: [Int: SegmentRecord] = [:]
    private var storedCount = 0
    /// The circles of the segments.
    var circles = CircleTable()
    private var storedCircleCount = 1
    private var storedClosed: Set<CircleIndex> = []
    /// Until a segment changes.
    var frontier: Frontier?
    /// Contexts at the checkpoints of some segments.
    var keptContexts: [SegmentIndex: [KeptContext]] = [:]
    private(set) var restamps = RestampTable()
    /// Those that this transaction has added.
    private var addedRestamps: [RestampRecord] = []
    /// Those that it has settled, with their places.
    private var settledRestamps: [(record: RestampRecord, place: Int)] = []
    private(set) var branches = BranchTable()
    /// What they were before this transaction added to them.
    private var formerBranches: BranchTable?
    private(set) var rights = RightsTable()
    /// What they were before this transaction changed them.
    private var formerRights: RightsTable?
    /// What is restamped by right in some replicas' chains, and which of them the transaction has looked at.
    private var restampedChains: [ReplicaID: RestampedChain] = [:]
    private var changedChains: Set<ReplicaID> = []

    /// The first and last segment of a replica.
    private struct Chain {
        var first: SegmentIndex
        var last: SegmentIndex
    }

    subscript(index: SegmentIndex) -> SegmentRecord { self.records[Int(index.rawValue)] }

    /// The replica of a segment, without copying its record.
    func replica(_ index: SegmentIndex) -> ReplicaID { self.records[Int(index.rawValue)].id }

    /// Where a segment hangs, without copying its record.
    func origin(_ index: SegmentIndex) -> SegmentOrigin? { self.records[Int(index.rawValue)].origin }

    /// How far a segment has come, without copying its record.
    func progress(of index: SegmentIndex) -> SegmentProgress { self.progresses[Int(index.rawValue)] }

    func first(of id: ReplicaID) -> SegmentIndex? { self.chains[id]?.first }

    /// The hash of a segment's last stored change, without copying its record.
    func storedHash(of index: SegmentIndex) -> Hash256 { self.records[Int(index.rawValue)].storedHash }

    /// Whether the replica of a segment has others here.
    func isForked(_ index: SegmentIndex) -> Bool {
        self.origin(index) != nil || self.records[Int(index.rawValue)].next != nil
    }

    /// Adds a record as the database holds it.
    mutating func restore(_ record: SegmentRecord) {
        _ = self.append(record)
        self.commit()
    }

    mutating func append(_ record: consuming SegmentRecord) -> SegmentIndex {
        self.frontier = nil
        record.circle = self.circles.take(record.introduction)
        let index = SegmentIndex(rawValue: UInt32(self.records.count))
        let chain = self.chains[record.id]
        if let last = chain?.last {
            self.keepOriginal(at: Int(last.rawValue))
            self.records[Int(last.rawValue)].next = index
            self.progresses[Int(last.rawValue)].next = index
        }
        self.progresses.append(record.progress)
        self.chains[record.id] = Chain(first: chain?.first ?? index, last: index)
        self.records.append(record)
        return index
    }

    mutating func set(_ record: SegmentRecord, at index: SegmentIndex) {
        self.frontier = nil
        self.keepOriginal(at: Int(index.rawValue))
        self.records[Int(index.rawValue)] = record
        self.progresses[Int(index.rawValue)] = record.progress
    }

    /// Adds to a record what was seen, which other records are needed for.
    mutating func restore(_ context: SeenSegments, inherited: SeenSegments, at index: SegmentIndex) {
        self.records[Int(index.rawValue)].trail.inherited = inherited
        self.records[Int(index.rawValue)].context = context
    }

    private mutating func keepOriginal(at position: Int) {
        if position < self.storedCount, self.originals[position] == nil {
            self.originals[position] = self.records[position]
        }
    }

    /// Adds a restamp as the database holds it.
    mutating func restore(_ record: RestampRecord, isSettled: Bool) {
        self.restamps.add(record, isSettled: isSettled)
    }

    mutating func add(_ record: RestampRecord) {
        self.restamps.add(record)
        self.addedRestamps.append(record)
    }

    /// Adds a statement about a branch as the database holds it.
    mutating func restore(_ record: BranchRecord) { self.branches.add(record) }

    mutating func add(_ record: BranchRecord) {
        if self.formerBranches == nil { self.formerBranches = self.branches }
        self.branches.add(record)
    }

    /// Adds a statement about rights as the database holds it.
    mutating func restore(_ place: StatementPlace) {
        self.rights.add(place, in: self.progress(of: place.change.segment).circle)
    }

    mutating func setRights(_ rights: RightsTable) {
        if self.formerRights == nil { self.formerRights = self.rights }
        self.rights = rights
    }

    /// Returns how many restamps were added before.
    mutating func settle(_ record: RestampRecord) -> Int? {
        guard let place = self.restamps.place(of: record) else { return nil }
        self.restamps.settle(record)
        self.settledRestamps.append((record, place))
        return place
    }

    func restampedChain(of replica: ReplicaID) -> RestampedChain? { self.restampedChains[replica] }

    mutating func setRestampedChain(_ chain: RestampedChain?, of replica: ReplicaID) {
        self.restampedChains[replica] = chain
        self.changedChains.insert(replica)
    }

    /// What the database does not hold yet: each record with its number and what the database holds instead.
    func changes() -> [(index: Int64, record: SegmentRecord, original: SegmentRecord?)] {
        let changed = self.originals.keys.sorted().map { position in
            (index: Int64(position), record: self.records[position], original: self.originals[position])
        }
        let added = (self.storedCount..<self.records.count).map { position in
            (index: Int64(position), record: self.records[position], original: SegmentRecord?.none)
        }
        return changed + added
    }

    mutating func commit() {
        self.originals.removeAll(keepingCapacity: true)
        self.storedCount = self.records.count
        self.storedCircleCount = self.circles.count
        self.storedClosed = self.circles.closed
        self.addedRestamps.removeAll(keepingCapacity: true)
        self.settledRestamps.removeAll(keepingCapacity: true)
        self.changedChains.removeAll(keepingCapacity: true)
        (self.formerBranches, self.formerRights) = (nil, nil)
    }

    /// Goes back to what the database holds.
    mutating func rollback() {
        if !self.originals.isEmpty || self.records.count > self.storedCount { self.frontier = nil }
        self.keptContexts = [:]
        for (position, record) in self.originals {
            self.records[position] = record
            self.progresses[position] = record.progress
        }
        self.originals.removeAll(keepingCapacity: true)
        let added = Set(self.records[self.storedCount...].map(\.id))
        self.records.removeSubrange(self.storedCount...)
        self.progresses.removeSubrange(self.storedCount...)
        self.circles.truncate(to: self.storedCircleCount)
        self.circles.closed = self.storedClosed
        for id in added {
            guard var last = self.chains[id]?.first, Int(last.rawValue) < self.storedCount else {
                self.chains[id] = nil
                continue
            }
            while let next = self[last].next { last = next }
            self.chains[id]?.last = last
        }
        for (record, place) in self.settledRestamps { self.restamps.unsettle(record, at: place) }
        self.settledRestamps.removeAll(keepingCapacity: true)
        for record in self.addedRestamps.reversed() { self.restamps.removeLast(record) }
        self.addedRestamps.removeAll(keepingCapacity: true)
        if let former = self.formerBranches { self.branches = former }
        if let former = self.formerRights { self.rights = former }
        (self.formerBranches, self.formerRights) = (nil, nil)
        // Put together anew where they are asked for.
        for replica in self.changedChains { self.restampedChains[replica] = nil }
        self.changedChains.removeAll(keepingCapacity: true)
    }
}
