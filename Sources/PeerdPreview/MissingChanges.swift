internal import CRDTCore
internal import PeerdKit

/// The changes that each device lacks, found in one pass over the log of a database that has everything.
struct MissingChanges {
    /// The changes that one device lacks.
    private struct Lack {
        var summary = Preview.Missing()
        var operationCounts: [ObjectID: Int] = [:]
    }

    private var lacks: [Lack]
    /// The objects that some device lacks an operation on.
    private(set) var objects: Set<ObjectID> = []
    /// The last deletion of each of those objects that some device lacks.
    private(set) var deletions: [ObjectID: WriteReference] = [:]
    /// The last other operation on each of those objects that some device lacks.
    private(set) var edits: [ObjectID: WriteReference] = [:]
    private(set) var blobReferenceCount = 0
    /// The part of each segment that each device has.
    private let extents: [SeenSegments]

    private static let mostChangedCountMax = 20

    /// The summaries are those of the devices, in their order.
    ///
    /// - Complexity: O(*n*) in the operations of the log.
    init(
        in transaction: inout some StoreTransaction,
        _ summaries: [StateSummary],
        _ progress: PreviewProgress
    ) throws {
        self.lacks = summaries.map { _ in Lack() }
        var extents: [SeenSegments] = []
        for summary in summaries { extents.append(try transaction.extent(of: summary.frontier)) }
        self.extents = extents
        for segment in transaction.segmentIndices {
            var next = transaction.segment(segment).firstSequence
            while let run = try transaction.loadRun(of: segment, from: next, limits: RunLimits(), signed: false) {
                try progress.checkCancellation()
                for (place, change) in run.changes.enumerated() {
                    let sequence = run.firstSequence + UInt64(place)
                    let write = WriteReference(stamp: change.stamp, segment: segment, sequence: sequence, index: 0)
                    self.add(change, write, of: run)
                }
                next = run.lastSequence + 1
            }
        }
    }

    /// Returns true if a change is in a device's log.
    func holds(_ place: SegmentPoint, device: Int) -> Bool {
        place.sequence <= self.extents[device][place.segment]
    }

    /// Returns true if some device knows all of these writes.
    func isKnown(_ writes: [WriteReference]) -> Bool {
        self.extents.indices.contains { device in
            writes.allSatisfy { self.holds($0.point, device: device) }
        }
    }

    /// Returns the changes that a device lacks.
    func missing(on device: Int) -> Preview.Missing {
        let lack = self.lacks[device]
        var summary = lack.summary
        let sorted = lack.operationCounts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        summary.objectCount = sorted.count
        summary.mostChanged = sorted.prefix(Self.mostChangedCountMax).map {
            Preview.ChangedObject(object: $0.key, operationCount: $0.value)
        }
        return summary
    }

    private mutating func add(_ change: Change, _ write: WriteReference, of run: Run) {
        let lacking = self.extents.indices.filter { !self.holds(write.point, device: $0) }
        for device in lacking { self.lacks[device].summary.changeCount += 1 }
        for (number, position) in change.operationRange.enumerated() {
            let operation = run.operations[position]
            if operation.kind == .set, case .set(_, _, .blob)? = try? run.edit(operation) {
                self.blobReferenceCount += 1
            }
            guard !lacking.isEmpty else { continue }
            for device in lacking { self.lacks[device].summary.count(operation, of: run) }
            guard operation.kind.isEdit else { continue }
            let object = run.objects[Int(operation.object)]
            for device in lacking { self.lacks[device].operationCounts[object, default: 0] += 1 }
            self.objects.insert(object)
            var reference = write
            reference.index = UInt32(number)
            if operation.kind == .delete {
                Self.keepLater(reference, of: object, in: &self.deletions)
            } else {
                Self.keepLater(reference, of: object, in: &self.edits)
            }
        }
    }

    private static func keepLater(
        _ write: WriteReference,
        of object: ObjectID,
        in table: inout [ObjectID: WriteReference]
    ) {
        if let kept = table[object], kept.stamp >= write.stamp { return }
        table[object] = write
    }
}

extension Preview.Missing {
    fileprivate mutating func count(_ operation: Operation, of run: Run) {
        self.operationCount += 1
        switch operation.kind {
        case .create: self.creationCount += 1
        case .move: self.moveCount += 1
        case .delete: self.deletionCount += 1
        default:
            guard operation.kind.isWrite else { return }
            self.writeCounts[run.names[Int(operation.operand)], default: 0] += 1
        }
    }
}
