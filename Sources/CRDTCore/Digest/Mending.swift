/// Putting right what other devices have otherwise, though they have the same changes: the log is read once from its
/// beginning, each change is held against its hash, and the objects are computed anew from what touches them.
///
/// Somebody's word that objects differ costs a look at the log. What the log says is what counts after it: nothing of
/// what he says is taken over. A change that is not what its hash says is asked for as one whose content is missing is.
///
/// The log grows meanwhile, and what counts changes: so an object is computed only in a step that finds all read, and
/// from what counts then.
package struct Mending: Sendable {
    /// Changes and operations, of the log and of objects, after which a step looks at no more.
    package static let operationCountMax = 4096
    /// About how many bytes a step reads of what was written.
    private static let byteCountMax = 1 << 20
    /// An object that more operations touch is not computed anew: that is left to a rebuild of everything.
    package static let touchCountMax = 1 << 16

    /// The objects to be put right.
    package let objects: Set<ObjectID>
    private let origin: Hash256
    /// How far each chain was read.
    private var readSequences: [SegmentIndex: UInt64] = [:]
    /// Changes that are not what their hashes say.
    package private(set) var damaged: Set<SegmentPoint> = []
    /// What touches the objects that are not computed yet, whether it counts or not; the stamps are not known.
    private var touches: [ObjectIndex: [WriteReference]] = [:]
    package private(set) var isDone = false

    /// `origin`: the hash before every chain's first change.
    package init(_ objects: Set<ObjectID>, origin: Hash256) { (self.objects, self.origin) = (objects, origin) }

    /// Looks at some more of the log, and once all was looked at, computes some of the objects anew.
    ///
    /// - Complexity: O(*n*) in the operations of a step; for objects O(*m* log *m*) for *m* operations that touch them,
    ///   and the hierarchy as for as many late moves.
    package mutating func step(
        _ merge: inout Merge,
        in transaction: inout some StoreTransaction,
        _ cryptography: some ChangeCryptography
    ) throws(StoreError) {
        let limits = RunLimits(operationCountMax: Self.operationCountMax, byteCountMax: Self.byteCountMax)
        var (count, byteCount) = (0, 0)
        // A step takes many short chains: there may be tens of thousands.
        for segment in transaction.segmentIndices {
            let progress = transaction.progress(of: segment)
            var read = self.readSequences[segment] ?? progress.firstSequence - 1
            while read < progress.storedSequence {
                guard count < Self.operationCountMax, byteCount < Self.byteCountMax else { return }
                let run = try transaction.loadRun(of: segment, from: read + 1, limits: limits, signed: false)
                guard let run, !run.changes.isEmpty else { throw .damaged("a change is missing from the log") }
                try self.look(at: run, on: segment, &merge, in: &transaction, cryptography)
                read = run.lastSequence
                self.readSequences[segment] = read
                count += run.changes.count + run.operations.count
                byteCount += run.payload.count
            }
        }
        for object in self.touches.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard count < Self.operationCountMax else { break }
            let touches = self.touches.removeValue(forKey: object) ?? []
            count += 1 + touches.count
            guard touches.count <= Self.touchCountMax else { continue }
            try merge.recompute(object, from: touches, damaged: self.damaged, in: &transaction)
        }
        self.isDone = self.touches.isEmpty
    }

    private mutating func look(
        at run: Run,
        on segment: SegmentIndex,
        _ merge: inout Merge,
        in transaction: inout some StoreTransaction,
        _ cryptography: some ChangeCryptography
    ) throws(StoreError) {
        let wanted = run.objects.map { self.objects.contains($0) }
        for (position, change) in run.changes.enumerated() {
            let place = SegmentPoint(segment: segment, sequence: run.firstSequence + UInt64(position))
            let before = try transaction.hash(before: place) ?? self.origin
            let hashes = ChainHash.hashes(of: run.alone(change, at: place.sequence), previous: before, cryptography)
            if hashes.first != (try transaction.hash(at: place)), self.damaged.count < Self.touchCountMax {
                self.damaged.insert(place)
                if try transaction.missingCount(in: place) == 0 {
                    try merge.note(missing: 1, in: place, in: &transaction)
                }
            }
            for (index, operation) in run.operations[change.operationRange].enumerated()
            where operation.kind.isEdit && wanted[Int(operation.object)] {
                let object = try transaction.objectIndex(of: run.objects[Int(operation.object)], by: segment)
                guard self.touches[object, default: []].count <= Self.touchCountMax else { continue }
                let (sequence, index) = (place.sequence, UInt32(index))
                self.touches[object, default: []]
                    .append(WriteReference(stamp: .zero, segment: segment, sequence: sequence, index: index))
            }
        }
    }
}

extension StoreTransaction {
    /// The hash that a stored change continues; nil for the beginning of a chain.
    fileprivate mutating func hash(before place: SegmentPoint) throws(StoreError) -> Hash256? {
        if place.sequence > self.progress(of: place.segment).firstSequence {
            return try self.hash(at: SegmentPoint(segment: place.segment, sequence: place.sequence - 1))
        }
        guard let parent = self.origin(of: place.segment)?.parent, parent.sequence > 0 else { return nil }
        return try self.hash(at: parent)
    }
}

extension Merge {
    /// Computes an object anew from those operations of the log that touch it and count, whatever its rows say.
    fileprivate mutating func recompute(
        _ object: ObjectIndex,
        from touches: [WriteReference],
        damaged: Set<SegmentPoint>,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        for move in try transaction.moves(of: object) {
            try self.withdrawMove(move.write, of: object, in: &transaction)
        }
        for name in try transaction.namesWithRedactedWrites(of: object) {
            let key = RegisterKey(object: object, name: name)
            for redacted in try transaction.redactedWrites(at: key) {
                try transaction.setRedactedWrites(nil, at: key, on: redacted.segment)
            }
        }
        var writes: [WriteReference] = []
        for var write in touches
        where write.sequence <= transaction.progress(of: write.segment).countedSequence {
            write.stamp = try transaction.effectiveStamp(at: write.point)
            writes.append(write)
        }
        let places = Set(writes.map(\.point)).sorted()
        var damaged = damaged
        for place in places {
            // What was found damaged may have come meanwhile.
            if try transaction.missingCount(in: place) == 0 { damaged.remove(place) }
            try transaction.setMissingCount(0, in: place)
        }
        try self.compute(object, from: writes, in: &transaction) { _ in true }
        for place in places {
            let count = try transaction.missingPlaces(in: place).count + (damaged.contains(place) ? 1 : 0)
            try transaction.setMissingCount(count, in: place)
        }
    }
}
