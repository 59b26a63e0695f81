internal import CRDTCore

/// One pass over the whole log of a database that has everything: what each device lacks of it.
struct LogScan {
    /// What a device lacks.
    struct Lack {
        var changeCount = 0
        var operationCount = 0
        /// By name; creations, moves and deletions have names of their own.
        var operationsByProperty: [String: Int] = [:]
        var operationsByObject: [ObjectID: Int] = [:]
    }

    /// Where operations other than writes of properties are counted.
    static let creations = "(made)"
    static let moves = "(moved)"
    static let deletions = "(deleted)"

    /// By the number of the device.
    private(set) var lacks: [Lack]
    /// Objects that some device lacks an operation on.
    private(set) var objects: Set<ObjectID> = []
    /// Of those, the last deletion and the last other operation that some device lacks.
    private(set) var deletions: [ObjectID: WriteReference] = [:]
    private(set) var touches: [ObjectID: WriteReference] = [:]
    private(set) var blobReferenceCount = 0
    /// How far along each line each device has come.
    private let extents: [SeenLines]

    init(of transaction: inout some StoreTransaction, for surveys: [DeviceSurvey]) throws(StoreError) {
        self.lacks = surveys.map { _ in Lack() }
        var extents: [SeenLines] = []
        for survey in surveys { extents.append(try transaction.extent(of: survey.frontier)) }
        self.extents = extents
        for position in 0..<transaction.lineCount {
            let index = LineIndex(rawValue: UInt32(position))
            var next = transaction.line(index).firstSequence
            while let run = try transaction.loadRun(of: index, from: next, limits: RunLimits(), signed: false) {
                for (place, change) in run.changes.enumerated() {
                    let point = LinePoint(line: index, sequence: run.firstSequence + UInt64(place))
                    let lacking = extents.indices.filter { !self.holds(point, device: $0) }
                    let write = WriteReference(
                        stamp: change.stamp,
                        line: index,
                        sequence: point.sequence,
                        index: 0
                    )
                    self.add(change, write, of: run, lacking: lacking)
                }
                next = run.lastSequence + 1
            }
        }
    }

    /// Whether a change is in a device's log.
    func holds(_ place: LinePoint, device: Int) -> Bool {
        place.sequence <= self.extents[device][place.line]
    }

    /// Whether some device knows of both of two writes.
    func isKnown(_ left: WriteReference, beside right: WriteReference) -> Bool {
        self.extents.indices.contains { self.holds(left.point, device: $0) && self.holds(right.point, device: $0) }
    }

    private mutating func add(_ change: Change, _ write: WriteReference, of run: Run, lacking: [Int]) {
        for device in lacking { self.lacks[device].changeCount += 1 }
        for (number, position) in change.operationRange.enumerated() {
            let operation = run.operations[position]
            if operation.kind == .set, case .set(_, _, .blob)? = try? run.edit(operation) {
                self.blobReferenceCount += 1
            }
            guard !lacking.isEmpty else { continue }
            for device in lacking { self.lacks[device].operationCount += 1 }
            guard operation.kind.hasObject else { continue }
            let object = run.objects[Int(operation.object)]
            let name = LogScan.name(of: operation, in: run)
            for device in lacking {
                self.lacks[device].operationsByProperty[name, default: 0] += 1
                self.lacks[device].operationsByObject[object, default: 0] += 1
            }
            self.objects.insert(object)
            var reference = write
            reference.index = UInt32(number)
            if operation.kind == .delete {
                LogScan.keepLater(reference, of: object, in: &self.deletions)
            } else {
                LogScan.keepLater(reference, of: object, in: &self.touches)
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

    private static func name(of operation: Operation, in run: Run) -> String {
        switch operation.kind {
        case .create: self.creations
        case .move: self.moves
        case .delete: self.deletions
        default: operation.kind.hasName ? run.names[Int(operation.operand)] : "(other)"
        }
    }
}

extension StoreTransaction {
    /// Whether whoever made the second operation had seen the first.
    mutating func had(_ first: WriteReference, seenBy second: WriteReference) throws(StoreError) -> Bool {
        let seen = try self.context(at: second.point)
        return CausalContext(seen: seen, author: second.line, ordinal: second.ordinal).covers(first)
    }
}
