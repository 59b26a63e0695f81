/// Putting right what another device has otherwise, though both have the same changes: the log is read once from its
/// beginning, each change is held against its hash, and the objects are computed anew from what touches them.
///
/// Somebody's word that objects differ costs a look at the log. What the log says is what counts after it: nothing of
/// what he says is taken over. A change that is not what its hash says is asked for as one whose content is missing is.
package struct Mending: Sendable {
    /// Operations that are looked at in one step.
    package static let operationCountMax = 4096
    /// An object that more operations touch is not computed anew: that is left to a rebuild of everything.
    package static let touchCountMax = 1 << 16

    /// The objects to be put right.
    package let objects: Set<ObjectID>
    private let origin: Hash256
    private var next = SegmentPoint(segment: SegmentIndex(rawValue: 0), sequence: 0)
    /// Changes that are not what their hashes say.
    package private(set) var damaged: Set<SegmentPoint> = []
    private var writes: [ObjectIndex: [WriteReference]] = [:]
    package private(set) var isDone = false

    /// `origin`: the hash before every chain's first change.
    package init(_ objects: Set<ObjectID>, origin: Hash256) { (self.objects, self.origin) = (objects, origin) }

    /// Looks at some more of the log; once all was looked at, computes the objects anew.
    ///
    /// - Complexity: O(*n*) in the operations of a step; in the last one O(*m* log *m*) for *m* operations that touch
    ///   the objects, and the hierarchy as for as many late moves.
    package mutating func step(
        _ merge: inout Merge,
        in transaction: inout some StoreTransaction,
        _ cryptography: some ChangeCryptography
    ) throws(StoreError) {
        let limits = RunLimits(operationCountMax: Self.operationCountMax, byteCountMax: 1 << 20)
        while Int(self.next.segment.rawValue) < transaction.segmentCount {
            let progress = transaction.progress(of: self.next.segment)
            let first = max(self.next.sequence, progress.firstSequence)
            let run = try transaction.loadRun(of: self.next.segment, from: first, limits: limits, signed: false)
            guard let run, !run.changes.isEmpty else {
                self.next = SegmentPoint(segment: SegmentIndex(rawValue: self.next.segment.rawValue + 1), sequence: 0)
                continue
            }
            try self.look(at: run, on: self.next.segment, &merge, in: &transaction, cryptography)
            self.next.sequence = run.lastSequence + 1
            return
        }
        for (object, writes) in self.writes.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where writes.count <= Self.touchCountMax {
            try merge.recompute(object, from: writes, damaged: self.damaged, in: &transaction)
        }
        self.isDone = true
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
            guard place.sequence <= transaction.progress(of: segment).countedSequence else { continue }
            for (index, operation) in run.operations[change.operationRange].enumerated()
            where operation.kind.isEdit && wanted[Int(operation.object)] {
                let object = try transaction.objectIndex(of: run.objects[Int(operation.object)])
                guard self.writes[object, default: []].count <= Self.touchCountMax else { continue }
                let stamp = try transaction.effectiveStamp(at: place)
                let (sequence, index) = (place.sequence, UInt32(index))
                self.writes[object, default: []]
                    .append(WriteReference(stamp: stamp, segment: segment, sequence: sequence, index: index))
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
    /// Computes an object anew from all operations of the log that touch it and count, whatever its rows say.
    fileprivate mutating func recompute(
        _ object: ObjectIndex,
        from writes: [WriteReference],
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
