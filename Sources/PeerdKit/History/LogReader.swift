internal import CRDTCore

/// A stretch of a replica's chain without a fork, as far as a listing goes.
struct ChainEnd: Hashable, Sendable {
    var id: ReplicaID
    var index: SegmentIndex
    var firstSequence: UInt64
    var sequence: UInt64
    var appliedSequence: UInt64
    /// Whether what is not applied waits for its time, and not for other changes.
    var isHeld = false
    /// How far it counts; nil if all of it does.
    var limits: RightEnds?

    init(of index: SegmentIndex, in transaction: borrowing some StoreTransaction) {
        let record = transaction.segment(index)
        self.id = record.id
        self.index = index
        self.firstSequence = record.firstSequence
        self.sequence = record.storedSequence
        self.appliedSequence = record.appliedSequence
    }
}

/// Reads one stretch of a chain piece by piece.
struct LogReader: Sendable {
    private let chain: ChainEnd
    /// Only operations on this object.
    private let object: ObjectID?
    private let device: DeviceID
    private var nextSequence: UInt64
    /// The hash of the change before.
    private var previous: Hash256?
    private var seen = SeenPoints()

    /// How much is read at once.
    private static let limits = RunLimits(changeCountMax: 256, operationCountMax: 4096, byteCountMax: 1 << 20)

    init(chain: ChainEnd, object: ObjectID?, device: DeviceID) {
        self.chain = chain
        self.object = object
        self.device = device
        self.nextSequence = chain.firstSequence
    }

    var isAtEnd: Bool { self.nextSequence > self.chain.sequence }

    /// The operations of the next changes.
    mutating func nextEntries(in transaction: inout some StoreTransaction) throws -> [LogEntry] {
        let run = try transaction.loadRun(
            of: self.chain.index,
            from: self.nextSequence,
            limits: Self.limits,
            signed: false
        )
        guard let run, !run.changes.isEmpty else {
            throw StoreError.damaged("change \(self.nextSequence) of replica \(self.chain.id) is missing from the log")
        }
        let record = transaction.segment(self.chain.index)
        if self.nextSequence == self.chain.firstSequence { try self.begin(record, in: &transaction) }
        let verdicts = LogVerdicts(
            appliedSequence: record.appliedSequence,
            isHeld: self.chain.isHeld,
            limits: self.chain.limits
        )
        var entries: [LogEntry] = []
        for change in run.changes where !self.isAtEnd {
            let place = SegmentPoint(segment: self.chain.index, sequence: self.nextSequence)
            guard let header = try transaction.header(at: place) else {
                throw StoreError.damaged("change \(self.nextSequence) of replica \(self.chain.id) has no hash")
            }
            let isApplied = self.nextSequence <= record.appliedSequence
            let stamp = isApplied ? try transaction.effectiveStamp(at: place) : header.stamp
            for point in run.contextEntries[change.contextRange] { try self.seen.add(point, in: &transaction) }
            let operations = try verdicts.operations(of: change, in: run, at: place, stamp, in: &transaction) {
                self.object == nil || run.subject(of: $0) == self.object
            }
            for (write, edit, status) in operations {
                let source = LogEntry.Source(
                    replica: self.chain.id,
                    introduction: record.introduction,
                    write: write,
                    header: header,
                    previous: self.previous,
                    context: self.seen.all,
                    edit: edit,
                    status: status
                )
                entries.append(LogEntry(source, readBy: self.device))
            }
            self.previous = header.hash
            let name = ChangeName(header.hash)
            self.seen.add(place, Point(replica: self.chain.id, sequence: self.nextSequence, name: name))
            self.nextSequence += 1
        }
        return entries
    }

    /// A segment goes on with what the change had seen on which it hangs.
    private mutating func begin(_ record: SegmentRecord, in transaction: inout some StoreTransaction) throws {
        guard let before = record.origin?.parent, before.sequence > 0 else { return }
        self.previous = try transaction.hash(at: before)
        var context = try transaction.context(at: before)
        transaction.cover(before, in: &context)
        for (segment, sequence) in context.all {
            let place = SegmentPoint(segment: segment, sequence: sequence)
            guard let hash = try transaction.hash(at: place) else { continue }
            let replica = transaction.replicaID(place.segment)
            self.seen.add(place, Point(replica: replica, sequence: sequence, name: ChangeName(hash)))
        }
    }
}

extension Run {
    /// The object that an operation is about; nil if it is about none.
    fileprivate func subject(of operation: Operation) -> ObjectID? {
        operation.kind.hasObject ? self.objects[Int(operation.object)] : nil
    }
}

/// What the author of a change had seen, filled up change by change.
private struct SeenPoints: Sendable {
    private var stored: [SegmentIndex: Point] = [:]
    private var missing: Set<Point> = []

    /// The last changes; some may come before others in their chains.
    var all: Set<Point> { self.missing.union(self.stored.values) }

    mutating func add(_ point: Point, in transaction: inout some StoreTransaction) throws {
        if let place = try transaction.place(of: point) {
            self.add(place, point)
        } else {
            self.missing.insert(point)
        }
    }

    mutating func add(_ place: SegmentPoint, _ point: Point) {
        if self.stored[place.segment]?.sequence ?? 0 < place.sequence { self.stored[place.segment] = point }
    }
}
