/// Writes that are in force, in conflict or on a branch that nobody gave up, and of whose content only a hash is here.
///
/// A write is dropped only where another one has seen it. A peer that comes later may get it before that one, or
/// without it: all who had it may be lost, or somebody lies. Until the other comes the write is needed, and counts in
/// every way; only what it says is missing.
extension StoreTransaction {
    /// Whether the content of a write that is in force or in conflict on a timeline is missing.
    ///
    /// - Complexity: O(1) in a store that misses nothing, except for what was given up.
    mutating func isMissing(_ write: WriteReference) throws(StoreError) -> Bool {
        // Nobody asks for what was given up, be its branch open again or not; it is not here all the same.
        guard try self.missingCount(in: write.point) > 0 || self.isGivenUp(write.point) else { return false }
        return try self.isRedacted(write)
    }

    /// Whether a write is in force or in conflict.
    mutating func isRecorded(
        _ ordinal: ChainOrdinal,
        on segment: SegmentIndex,
        at key: RegisterKey
    ) throws(StoreError) -> Bool {
        guard let register = try self.register(key) else { return false }
        if register.winner.segment == segment, register.winner.ordinal == ordinal { return true }
        guard register.conflictCount > 0 else { return false }
        return try self.firstConflicts(at: key, from: segment)
            .contains { $0.segment == segment && $0.ordinal == ordinal }
    }

    /// The names of the properties of an object whose value in force is missing, in ascending order.
    ///
    /// - Complexity: O(1) in a store that misses nothing; else O(*n* log *n*) in the properties of the object.
    package mutating func missingProperties(of object: ObjectIndex) throws(StoreError) -> [String] {
        guard try !self.isComplete() else { return [] }
        var names: [String] = []
        for (name, register) in try self.registers(of: object) where try self.isMissing(register.winner) {
            names.append(try self.name(name))
        }
        return names.sorted { ExactText($0) < ExactText($1) }
    }

    /// Whether a value of an object is missing that is in force or in conflict.
    mutating func missesContent(of object: ObjectIndex) throws(StoreError) -> Bool {
        for (name, register) in try self.registers(of: object) {
            if try self.isMissing(register.winner) { return true }
            guard register.conflictCount > 0 else { continue }
            for conflict in try self.conflicts(at: RegisterKey(object: object, name: name))
            where try self.isMissing(conflict) {
                return true
            }
        }
        return false
    }

    /// Whether nothing is missing.
    package mutating func isComplete() throws(StoreError) -> Bool {
        try self.changesMissingContent(after: nil, limit: 1).isEmpty
    }

    /// The properties of which something is missing, so many at most; each may come several times.
    package mutating func incompleteProperties(limit: Int) throws(StoreError) -> [RegisterKey] {
        var found: [RegisterKey] = []
        for place in try self.changesMissingContent(after: nil, limit: limit) where found.count < limit {
            let run = try self.change(at: place)
            for (index, position) in run.changes[0].operationRange.enumerated() {
                let operation = run.operations[position]
                guard operation.kind == .redacted else { continue }
                let key = RegisterKey(
                    object: try self.objectIndex(of: run.objects[Int(operation.object)], by: place.segment),
                    name: try self.nameIndex(of: run.name(of: operation))
                )
                let ordinal = ChainOrdinal(sequence: place.sequence, index: UInt32(index))
                if try self.isNeeded(ordinal, in: place, at: key) { found.append(key) }
            }
        }
        return Array(found.prefix(limit))
    }

    /// The places of the writes of a change whose content is missing, in ascending order.
    ///
    /// If it is much work to tell them from others that were dropped, all are named.
    /// - Complexity: O(*n* + *k* log *m*) for *n* operations, of which *k* ≤ 4,096 are told apart, of *m* in the log.
    package mutating func missingPlaces(in place: SegmentPoint) throws(StoreError) -> [UInt32] {
        let run = try self.change(at: place)
        var places: [UInt32] = []
        for (index, position) in run.changes[0].operationRange.enumerated()
        where run.operations[position].kind == .redacted {
            places.append(UInt32(index))
        }
        let count = try self.missingCount(in: place)
        // Of a change that is not what its hash says, all is (`Mending`).
        if count > places.count {
            return run.changes[0].operationRange.enumerated()
                .filter { run.operations[$0.element].kind.isWrite }.map { UInt32($0.offset) }
        }
        guard places.count > count, places.count <= Self.toldApartCountMax else { return places }
        var missing: [UInt32] = []
        for index in places {
            let operation = run.operations[Int(run.changes[0].operationStart + index)]
            let key = RegisterKey(
                object: try self.objectIndex(of: run.objects[Int(operation.object)], by: place.segment),
                name: try self.nameIndex(of: run.name(of: operation))
            )
            let ordinal = ChainOrdinal(sequence: place.sequence, index: index)
            if try self.isNeeded(ordinal, in: place, at: key) { missing.append(index) }
        }
        return missing
    }

    private static var toldApartCountMax: Int { 4_096 }

    /// Whether the content of a write that is applied is needed: it is on a branch that is not merged, and that nobody
    /// gave up who had seen it, or in force or in conflict.
    mutating func isNeeded(
        _ ordinal: ChainOrdinal,
        in change: SegmentPoint,
        at key: RegisterKey
    ) throws(StoreError) -> Bool {
        let progress = self.progress(of: change.segment)
        if change.sequence > progress.countedSequence {
            return change.sequence <= progress.appliedSequence && !self.isGivenUp(change)
        }
        return try self.isRecorded(ordinal, on: change.segment, at: key)
    }

    /// A stored change by itself.
    mutating func change(at place: SegmentPoint) throws(StoreError) -> Run {
        let one = RunLimits(changeCountMax: 1, operationCountMax: 0, byteCountMax: 0)
        let run = try self.loadRun(of: place.segment, from: place.sequence, limits: one, signed: false)
        guard let run, run.changes.count == 1 else { throw .damaged("a change is missing from the log") }
        return run
    }
}
