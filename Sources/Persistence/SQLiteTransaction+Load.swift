package import CRDTCore

extension SQLiteTransaction {
    package func stamp(of replica: ReplicaIndex, sequence: UInt64) throws(StoreError) -> Stamp? {
        let statement = try self.statements[.changeStamp]
        defer { statement.reset() }
        statement.bind(1, replica.rawValue)
        statement.bind(2, bits: sequence)
        return try statement.step() ? Stamp(rawValue: statement.bits(0)) : nil
    }

    package func hash(of replica: ReplicaIndex, sequence: UInt64) throws(StoreError) -> Hash256? {
        let statement = try self.statements[.changeHash]
        defer { statement.reset() }
        statement.bind(1, replica.rawValue)
        statement.bind(2, bits: sequence)
        guard try statement.step() else { return nil }
        guard let bytes = Bytes32(statement.bytes(0)) else { throw .damaged("a hash in the log has the wrong length") }
        return Hash256(bytes: bytes)
    }

    package func edit(_ write: WriteReference) throws(StoreError) -> Edit? {
        let statement = try self.statements[.changeOperations]
        defer { statement.reset() }
        statement.bind(1, write.replica.rawValue)
        statement.bind(2, bits: write.sequence)
        guard try statement.step(), Int64(write.index) < statement.int64(1) else { return nil }
        let number = statement.int64(0).addingReportingOverflow(Int64(write.index)).partialValue
        var assembly = RunAssembly(replica: self.replicas.id(write.replica), firstSequence: write.sequence)
        assembly.builder.beginChange(stamp: write.stamp, context: [], blinding: [])
        var reader = OperationReader(statement: try self.statements[.operationsFrom])
        defer { reader.finish() }
        try self.append(number, from: &reader, to: &assembly)
        let run = assembly.builder.run
        do throws(WireError) {
            return try run.edit(run.operations[0])
        } catch {
            throw .damaged("operation \(number) in the log cannot be read")
        }
    }

    package func loadRun(
        of replica: ReplicaIndex,
        from sequence: UInt64,
        limits: RunLimits,
        signed: Bool
    ) throws(StoreError) -> Run? {
        var changes = try self.changes(of: replica, from: sequence, through: nil, limits)
        guard !changes.rows.isEmpty else { return nil }
        var signature: Signature?
        if signed {
            let limit = sequence + UInt64(changes.rows.count) - 1
            if let end = try self.signedEnd(of: replica, from: sequence, limit: limit) {
                if end > limit {
                    changes = try self.changes(of: replica, from: sequence, through: end, limits)
                } else {
                    changes.rows.removeLast(Int(limit - end))
                }
            } else {
                changes = try self.changes(of: replica, from: sequence, through: .max, limits)
            }
        }
        signature = try self.signature(of: replica, sequence: sequence + UInt64(changes.rows.count) - 1)
        var assembly = RunAssembly(replica: self.replicas.id(replica), firstSequence: sequence)
        var reader = OperationReader(statement: try self.statements[.operationsFrom])
        defer { reader.finish() }
        for row in changes.rows {
            assembly.builder.beginChange(
                stamp: row.stamp,
                context: changes.contexts[row.context],
                blinding: changes.blinding[row.blinding],
                hasLeftOut: row.hasLeftOut
            )
            for number in row.operations { try self.append(number, from: &reader, to: &assembly) }
        }
        return assembly.builder.signed(signature)
    }

    // MARK: - Changes

    /// Consecutive changes without their operations.
    private struct LoadedChanges {
        struct Row {
            var stamp: Stamp
            var operations: Range<Int64>
            var context: Range<Int>
            var blinding: Range<Int>
            var hasLeftOut: Bool
        }

        var rows: [Row] = []
        var contexts: [Dot] = []
        var blinding: [UInt8] = []
    }

    /// Reads changes from a sequence on: up to an end, or as many as the limits allow, and one at least.
    private func changes(
        of replica: ReplicaIndex,
        from sequence: UInt64,
        through end: UInt64?,
        _ limits: RunLimits
    ) throws(StoreError) -> LoadedChanges {
        let statement = try self.statements[.changesFrom]
        defer { statement.reset() }
        statement.bind(1, replica.rawValue)
        statement.bind(2, bits: sequence)
        var loaded = LoadedChanges()
        var operationCount: Int64 = 0
        var byteCount: Int64 = 0
        var next = sequence
        while try statement.step(), statement.bits(0) == next {
            guard (0...Int64(Limits.changeOperationCountMax)).contains(statement.int64(3)),
                (0...Int64(Limits.changeByteCountMax)).contains(statement.int64(4)), next <= Limits.sequenceMax
            else { throw SQLiteTransaction.damaged(change: next) }
            operationCount += statement.int64(3)
            byteCount += statement.int64(4)
            if let end {
                if next > end { break }
            } else if next > sequence {
                let isFull = loaded.rows.count >= limits.changeCountMax
                if isFull || operationCount > limits.operationCountMax || byteCount > limits.byteCountMax { break }
            }
            try self.append(statement, to: &loaded)
            next += 1
        }
        return loaded
    }

    private func append(_ statement: Statement, to loaded: inout LoadedChanges) throws(StoreError) {
        let contextStart = loaded.contexts.count
        let context = statement.borrowedBytes(5)
        if !context.isEmpty { try self.appendContext(Array(context), to: &loaded.contexts) }
        let blindingStart = loaded.blinding.count
        loaded.blinding.append(contentsOf: statement.borrowedBytes(7))
        let (first, count) = (statement.int64(2), statement.int64(3))
        let end = first.addingReportingOverflow(count)
        let hasLeftOut = statement.bool(6)
        let blindingCount = (hasLeftOut ? Int(count) : 1) * Bytes16.byteCount
        guard !end.overflow, loaded.blinding.count - blindingStart == blindingCount else {
            throw SQLiteTransaction.damaged(change: statement.bits(0))
        }
        loaded.rows.append(
            LoadedChanges.Row(
                stamp: Stamp(rawValue: statement.bits(1)),
                operations: first..<end.partialValue,
                context: contextStart..<loaded.contexts.count,
                blinding: blindingStart..<loaded.blinding.count,
                hasLeftOut: hasLeftOut
            )
        )
    }

    private static func damaged(change sequence: UInt64) -> StoreError {
        .damaged("change \(sequence) of a replica in the log cannot be read")
    }

    private func appendContext(_ bytes: [UInt8], to contexts: inout [Dot]) throws(StoreError) {
        guard let numbers = try? StoredBytes.numbers(bytes), numbers.count.isMultiple(of: 2) else {
            throw .damaged("the context of a change in the log cannot be read")
        }
        for position in stride(from: 0, to: numbers.count, by: 2) {
            guard let index = UInt32(exactly: numbers[position]), index < self.replicaCount,
                numbers[position + 1] <= Limits.sequenceMax
            else {
                throw .damaged("the context of a change in the log names a replica that is not there")
            }
            let replica = self.replicas.id(ReplicaIndex(rawValue: index))
            contexts.append(Dot(replica: replica, sequence: numbers[position + 1]))
        }
    }

    // MARK: - Signatures

    /// The last signature up to the limit, or else the first behind it.
    private func signedEnd(
        of replica: ReplicaIndex,
        from sequence: UInt64,
        limit: UInt64
    ) throws(StoreError) -> UInt64? {
        if let end = try self.signedSequence(.signatureUpTo, replica, limit), end >= sequence { return end }
        guard let end = try self.signedSequence(.signatureFrom, replica, limit) else { return nil }
        guard end >= limit else { throw .damaged("a signature in the log cannot be where it is") }
        return end
    }

    private func signedSequence(
        _ query: StoreQuery,
        _ replica: ReplicaIndex,
        _ sequence: UInt64
    ) throws(StoreError) -> UInt64? {
        let statement = try self.statements[query]
        defer { statement.reset() }
        statement.bind(1, replica.rawValue)
        statement.bind(2, bits: sequence)
        return try statement.step() ? statement.bits(0) : nil
    }

    private func signature(of replica: ReplicaIndex, sequence: UInt64) throws(StoreError) -> Signature? {
        let statement = try self.statements[.signatureAt]
        defer { statement.reset() }
        statement.bind(1, replica.rawValue)
        statement.bind(2, bits: sequence)
        guard try statement.step() else { return nil }
        guard let signature = Signature(statement.bytes(0)) else {
            throw .damaged("a signature in the log has the wrong length")
        }
        return signature
    }

    // MARK: - Operations

    /// Reads one operation and appends it to a run.
    private func append(
        _ number: Int64,
        from reader: inout OperationReader,
        to assembly: inout RunAssembly
    ) throws(StoreError) {
        let row = try reader.read(number)
        var operand: UInt32 = 0
        if row.kind.hasName {
            guard let name = row.operand else { throw .damaged("operation \(number) in the log has no name") }
            let index = NameIndex(rawValue: UInt32(truncatingIfNeeded: name))
            operand = try assembly.index(of: index) { index throws(StoreError) in try self.name(index) }
        } else if row.kind == .move, let parent = row.operand {
            let index = ObjectIndex(rawValue: UInt32(truncatingIfNeeded: parent))
            operand = try assembly.index(of: index) { index throws(StoreError) in try self.objectID(index) } + 1
        }
        var object: UInt32 = 0
        if row.kind.hasObject {
            object = try assembly.index(of: row.object) { index throws(StoreError) in try self.objectID(index) }
        }
        var grant: UInt32 = 0
        if let number = row.grant { grant = assembly.builder.index(of: try self.grant(number)) + 1 }
        if let creation = row.creation {
            var payload: [UInt8] = []
            payload.appendPrefixed(Array(try self.name(creation.type).utf8))
            payload.appendPrefixed(Array(try self.name(creation.kind).utf8))
            assembly.builder.append(kind: row.kind, grant: grant, object: object, operand: operand, payload: payload)
        } else {
            assembly.builder.append(
                kind: row.kind,
                grant: grant,
                object: object,
                operand: operand,
                payload: reader.payload
            )
        }
    }

    private func grant(_ number: Int64) throws(StoreError) -> GrantID {
        let statement = try self.statements[.grantByNumber]
        defer { statement.reset() }
        statement.bind(1, number)
        guard try statement.step(), statement.uint32(0) < self.replicaCount else {
            throw .damaged("grant \(number) is missing from the database")
        }
        let replica = self.replicas.id(ReplicaIndex(rawValue: statement.uint32(0)))
        return GrantID(dot: Dot(replica: replica, sequence: statement.bits(1)), index: statement.uint32(2))
    }
}

/// A run being put together from the log: the store's numbers become the run's.
private struct RunAssembly {
    var builder: RunBuilder
    private var objects: [ObjectIndex: UInt32] = [:]
    private var names: [NameIndex: UInt32] = [:]
    // Operations on one object follow each other.
    private var lastObject: (index: ObjectIndex, position: UInt32)?

    init(replica: ReplicaID, firstSequence: UInt64) {
        self.builder = RunBuilder(replica: replica, firstSequence: firstSequence)
    }

    mutating func index(
        of object: ObjectIndex,
        id: (ObjectIndex) throws(StoreError) -> ObjectID
    ) throws(StoreError) -> UInt32 {
        if let lastObject, lastObject.index == object { return lastObject.position }
        let position: UInt32
        if let known = self.objects[object] {
            position = known
        } else {
            position = self.builder.index(of: try id(object))
            self.objects[object] = position
        }
        self.lastObject = (object, position)
        return position
    }

    mutating func index(
        of name: NameIndex,
        text: (NameIndex) throws(StoreError) -> String
    ) throws(StoreError) -> UInt32 {
        if let known = self.names[name] { return known }
        let position = self.builder.index(ofName: try text(name))
        self.names[name] = position
        return position
    }
}
