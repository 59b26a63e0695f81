/// What a store can fail with.
///
/// Nothing of the transaction that failed is kept.
package enum StoreError: Error, Hashable, Sendable {
    /// There is no room for the write. Reading goes on.
    case diskFull
    /// The disk refused a read or write.
    case inputOutput(String)
    /// The file is not what was written.
    case damaged(String)
    /// The file may not be written, or is not the right one.
    case unavailable(String)
    /// The directory of this path, or its database, was moved or deleted while it is open.
    case moved(String)
    /// Another process holds the directory, or the right to write; it gives it free sooner or later.
    case locked(String)
    /// The file was written by a newer program.
    case newerSchema(String)
    /// The file was written by an earlier program, whose tables this one does not read.
    case earlierSchema(String)
    /// A value that was in force at some moment was dropped by compaction. Nothing has failed.
    case compacted
}

/// Where a workspace's changes and state live.
///
/// Synchronous; what `write` returned from is durable.
package protocol ReplicaStore: ~Copyable {
    associatedtype Transaction: StoreTransaction

    /// Runs a transaction and makes it durable, or throws and keeps nothing of it.
    mutating func write<Result>(
        _ body: (inout Transaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result

    /// Runs a transaction that changes nothing, on one consistent state.
    mutating func read<Result>(
        _ body: (inout Transaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result
}

/// The numbers that one run's tables have in a store, and the segment that it belongs to.
package struct RunIndexes: Sendable {
    package var segment: SegmentIndex
    package var objects: [ObjectIndex]
    package var names: [NameIndex]
}

/// One transaction's view of a store: rows by key.
///
/// It knows no rule of merging; `Merge` calls it, row by row.
///
/// Writes are seen by later reads of the same transaction. Every lookup by key is O(log *n*) or better.
package protocol StoreTransaction:
    CircleReading, LogRows, OrderRows, BranchRows, RightsRows, RegisterRows, HierarchyRows, RedactionRows, ActionRows,
    UndoRows
{
    /// Empties everything that follows from the log: registers, versions, objects' state, moves, raised stamps and
    /// checkpoints. Numbers of ids stay.
    mutating func clearDerivedState() throws(StoreError)
}

extension StoreTransaction {
    package mutating func objectIndex(of id: ObjectID) throws(StoreError) -> ObjectIndex {
        try self.objectIndex(of: id, in: .home)
    }

    /// The number of an object that a chain names.
    package mutating func objectIndex(of id: ObjectID, by segment: SegmentIndex) throws(StoreError) -> ObjectIndex {
        try self.objectIndex(of: id, in: self.progress(of: segment).circle)
    }

    package mutating func noteTaken(_ segment: SegmentIndex, through sequence: UInt64, by change: SegmentPoint) {}

    package mutating func firstConflicts(
        at key: RegisterKey,
        from segment: SegmentIndex
    ) throws(StoreError) -> [WriteReference] {
        let conflicts = try self.conflicts(at: key).filter { $0.segment.rawValue >= segment.rawValue }
        let first = conflicts.map(\.segment.rawValue).min()
        return conflicts.filter { $0.segment.rawValue == first }
    }

    package mutating func visibleObjectCount() throws(StoreError) -> Int { try self.visibleObjects().count }

    /// All segments of a replica, in the order in which they were found.
    package func segments(of id: ReplicaID) -> [SegmentIndex] {
        var segments: [SegmentIndex] = []
        var next = self.firstSegment(of: id)
        while let segment = next {
            segments.append(segment)
            next = self.progress(of: segment).next
        }
        return segments
    }

    /// The hash of a stored change; nil if it is not stored, as of sequence 0.
    package mutating func hash(at point: SegmentPoint) throws(StoreError) -> Hash256? {
        if self.progress(of: point.segment).storedSequence == point.sequence {
            return self.storedHash(of: point.segment)
        }
        return try self.header(at: point)?.hash
    }

    package mutating func parent(of index: ObjectIndex) throws(StoreError) -> ObjectIndex? {
        try self.look(at: index) { $0.parent }
    }

    package mutating func value(of name: NameIndex, on object: ObjectIndex) throws(StoreError) -> Value? {
        guard let register = try self.register(RegisterKey(object: object, name: name)), !register.isRemoval,
            case .set(_, _, let value) = try self.edit(register.winner)
        else { return nil }
        return value
    }

    package mutating func properties(
        of object: ObjectIndex
    ) throws(StoreError) -> [(name: String, value: Value)] {
        var properties: [(name: String, value: Value)] = []
        for (_, register) in try self.registers(of: object) where !register.isRemoval {
            guard case .set(_, let name, let value) = try self.edit(register.winner) else { continue }
            properties.append((name, value))
        }
        return properties
    }
}

/// How much of a replica's chain to load at once: never more than a peer accepts as one run.
package struct RunLimits: Hashable, Sendable {
    package var changeCountMax: Int
    package var operationCountMax: Int
    package var byteCountMax: Int

    package init(
        changeCountMax: Int = Limits.runChangeCountMax,
        operationCountMax: Int = Limits.runOperationCountMax,
        byteCountMax: Int = Limits.runByteCountMax
    ) {
        self.changeCountMax = min(changeCountMax, Limits.runChangeCountMax)
        self.operationCountMax = min(operationCountMax, Limits.runOperationCountMax)
        self.byteCountMax = min(byteCountMax, Limits.runByteCountMax)
    }

    /// Whether changes of a size are within the limits; one change always is.
    package func allow(_ size: ChangeSize) -> Bool {
        size.changeCount == 1
            || size.changeCount <= self.changeCountMax && size.operationCount <= self.operationCountMax
                && size.byteCount <= self.byteCountMax
    }
}
