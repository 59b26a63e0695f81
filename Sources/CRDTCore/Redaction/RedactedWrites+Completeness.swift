/// Whether a dropped write is needed still.
///
/// The state of a property follows from those of its writes that no other had seen: the last of them in order is in
/// force, and the rest are conflicts. A write is dropped only where another one has seen it. If that one never comes,
/// since all who had it are lost, the dropped write is needed: other machines may show it.
extension StoreTransaction {
    /// Whether each dropped write to a property was seen by a write that is here.
    ///
    /// - Complexity: O(*n* *m* log *k*) for *n* segments with dropped writes and *m* writes that are in force or in
    ///   conflict, of *k* changes.
    package mutating func isComplete(_ key: RegisterKey) throws(StoreError) -> Bool {
        guard let redacted = try self.redactedWrites(at: key) else { return true }
        let contexts = try self.contextsInForce(at: key)
        for (segment, last) in redacted.last.all {
            let end = min(last, self.progress(of: segment).countedSequence)
            guard end >= redacted.first[segment] else { continue }
            let place = SegmentPoint(segment: segment, sequence: end)
            guard try self.isCovered(place, at: key, by: contexts) else { return false }
        }
        return true
    }

    /// The properties of which a dropped write is needed, among some; see `propertiesWithRedactedWrites`.
    ///
    /// - Returns: them, and the last property that was looked at; nil if there is none behind those.
    package mutating func incompleteProperties(
        after key: RegisterKey?,
        limit: Int
    ) throws(StoreError) -> (found: [RegisterKey], last: RegisterKey?) {
        let keys = try self.propertiesWithRedactedWrites(after: key, limit: limit)
        var found: [RegisterKey] = []
        for key in keys where try !self.isComplete(key) { found.append(key) }
        return (found, keys.count < limit ? nil : keys.last)
    }

    /// All of them.
    package mutating func incompleteProperties() throws(StoreError) -> [RegisterKey] {
        try self.incompleteProperties(after: nil, limit: .max).found
    }

    /// The write to a property that is in force, and those in conflict with it.
    package mutating func writesInForce(at key: RegisterKey) throws(StoreError) -> [WriteReference] {
        guard let register = try self.register(key) else { return [] }
        return [register.winner] + (register.conflictCount > 0 ? try self.conflicts(at: key) : [])
    }

    /// What those had seen.
    mutating func contextsInForce(at key: RegisterKey) throws(StoreError) -> [CausalContext] {
        var contexts: [CausalContext] = []
        for write in try self.writesInForce(at: key) {
            let seen = try self.context(at: write.point)
            contexts.append(CausalContext(seen: seen, author: write.segment, ordinal: write.ordinal))
        }
        return contexts
    }

    /// Whether one of some writes had seen all dropped writes of a change to a property.
    mutating func isCovered(
        _ place: SegmentPoint,
        at key: RegisterKey,
        by contexts: [CausalContext]
    ) throws(StoreError) -> Bool {
        let first = ChainOrdinal(sequence: place.sequence, index: 0)
        for context in contexts where context.covers(place.segment, first) {
            // One of the same change has seen what stands before it there.
            guard context.author == place.segment, context.ordinal.sequence == place.sequence else { return true }
            if try self.lastRedactedIndex(in: place, at: key).map({ $0 < context.ordinal.index }) ?? true {
                return true
            }
        }
        return false
    }

    private mutating func lastRedactedIndex(in place: SegmentPoint, at key: RegisterKey) throws(StoreError) -> UInt32? {
        let one = RunLimits(changeCountMax: 1, operationCountMax: 0, byteCountMax: 0)
        let loaded = try self.loadRun(of: place.segment, from: place.sequence, limits: one, signed: false)
        guard let run = loaded, run.changes.count == 1 else { throw .damaged("a change is missing from the log") }
        var last: UInt32?
        for (index, position) in run.changes[0].operationRange.enumerated() {
            let operation = run.operations[position]
            guard operation.kind == .redacted,
                try self.objectIndex(of: run.objects[Int(operation.object)]) == key.object,
                try self.nameIndex(of: run.names[Int(operation.operand)]) == key.name
            else { continue }
            last = UInt32(index)
        }
        return last
    }
}
