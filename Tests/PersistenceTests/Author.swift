import CRDTCore
import MergeModel
import Persistence

/// Writes runs of one replica, each behind the one before.
struct Author {
    let device: TestDevice
    let nonce: Bytes16
    let replica: ReplicaID
    /// The branch that its chain belongs to; nil for the main timeline.
    let branch: BranchID?
    private(set) var sequence: UInt64 = 0
    private(set) var previous = ChainHash.origin(TestDevice.workspace)
    var stamp: Stamp

    static let start = Stamp(milliseconds: 1_700_000_000_000)
    static let now = WallTime(milliseconds: 1_700_000_600_000)
    static var origin: Hash256 { ChainHash.origin(TestDevice.workspace) }

    init(number: UInt64, on branch: BranchID? = nil, stamp: Stamp = Author.start) {
        self.branch = branch
        self.device = TestDevice(number: number)
        self.nonce = Bytes16(high: number, low: 1)
        self.replica = self.device.replica(nonce: self.nonce)
        self.stamp = stamp
    }

    /// The hash of its last change.
    var head: Hash256 { self.previous }

    /// Names its last change.
    var point: Point { Point(replica: self.replica, sequence: self.sequence, name: ChangeName(self.previous)) }

    /// One run: each list of edits becomes a change.
    ///
    /// The first run begins with the introduction.
    mutating func run(_ changes: [[Edit]], context: [Point] = []) -> VerifiedRun {
        var builder = RunBuilder(replica: self.replica, firstSequence: self.sequence + 1)
        for (position, edits) in changes.enumerated() {
            self.sequence += 1
            self.stamp = self.stamp.successor ?? self.stamp
            let secret = Bytes16(high: self.sequence, low: self.stamp.rawValue).array
            builder.beginChange(stamp: self.stamp, context: position == 0 ? context : [], blinding: secret)
            if self.sequence == 1 {
                let introduction = self.device.introduction(nonce: self.nonce, branch: self.branch)
                builder.append(.introduce(introduction))
            }
            for edit in edits { builder.append(edit) }
        }
        return self.seal(builder)
    }

    mutating func seal(_ builder: RunBuilder) -> VerifiedRun {
        let device = self.device
        let sealed = VerifiedRun.sealUnchecked(builder, previous: self.previous, TestDevice.cryptography) {
            device.sign($0)
        }
        self.sequence = sealed.run.lastSequence
        self.previous = sealed.hashes.last ?? self.previous
        return sealed
    }

    /// A change of which some writes are redacted.
    mutating func run(_ edits: [Edit], redacting positions: Set<Int>) -> VerifiedRun {
        let whole = self.run([edits])
        guard let redacted = whole.run.erasing(positions, TestDevice.cryptography)?.run else { return whole }
        return whole.replacingRun(with: redacted)
    }
}

/// An object with a number.
func object(_ number: UInt64) -> ObjectID { ObjectID(bytes: Bytes16(high: 0x1122_3344_5566_4788, low: number)) }

extension SQLiteStoreHandle {
    /// Hands runs to the store in one transaction.
    @discardableResult
    func receive(_ runs: [VerifiedRun], now: WallTime = Author.now) throws -> [Merge.Reception] {
        try self.write { transaction throws(StoreError) in
            var merge = Merge(now: now, founder: TestDevice.user)
            var receptions: [Merge.Reception] = []
            for run in runs { receptions.append(try merge.receive(run, in: &transaction)) }
            try merge.finish(in: &transaction)
            return receptions
        }
    }

    /// Drops all that was replaced, in as many steps as it takes, or in some of them.
    func compact(now: WallTime, stepCountMax: Int = .max) throws {
        try self.write { transaction throws(StoreError) in
            var acknowledged = SeenSegments()
            for segment in transaction.segmentIndices {
                _ = acknowledged.raise(segment, to: max(1, transaction.progress(of: segment).appliedSequence))
            }
            let horizon = Stamp(milliseconds: now.milliseconds + 1)
            var compaction = try Compaction(
                horizon: horizon,
                acknowledged: acknowledged,
                isDryRun: false,
                in: &transaction
            )
            var merge = Merge(now: now, founder: TestDevice.user)
            var (next, stepCount): (SegmentPoint?, Int) = (Compaction.start, 0)
            while let place = next, stepCount < stepCountMax {
                next = try compaction.step(from: place, &merge, in: &transaction, TestDevice.cryptography)
                stepCount += 1
            }
        }
    }

    /// Everything stored of the first segment of a replica, run by run.
    func runs(of replica: ReplicaID, limits: RunLimits = RunLimits()) throws -> [Run] {
        let segment = try self.read { transaction in transaction.firstSegment(of: replica) }
        return try segment.map { try self.runs(of: $0, limits: limits) } ?? []
    }

    /// Everything stored of a segment, run by run.
    func runs(of segment: SegmentIndex, limits: RunLimits = RunLimits()) throws -> [Run] {
        try self.read { transaction throws(StoreError) in
            var runs: [Run] = []
            var next = transaction.segment(segment).firstSequence
            while let run = try transaction.loadRun(of: segment, from: next, limits: limits, signed: true) {
                runs.append(run)
                next = run.lastSequence + 1
            }
            return runs
        }
    }

    func export() throws -> String {
        try self.read { transaction throws(StoreError) in
            String(decoding: try StateExport.json(of: &transaction), as: UTF8.self)
        }
    }
}
