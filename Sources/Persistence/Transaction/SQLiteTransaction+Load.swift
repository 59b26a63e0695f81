package import CRDTCore

extension SQLiteTransaction {
    package func header(at point: SegmentPoint) throws(StoreError) -> ChangeHeader? {
        try self.statements[.changeHeader].first(point) { row throws(StoreError) in
            ChangeHeader(stamp: Stamp(rawValue: row.bits(0)), hash: try row.hash(1))
        }
    }

    package func contexts(
        of segment: SegmentIndex,
        after sequence: UInt64,
        through last: UInt64
    ) throws(StoreError) -> [Point] {
        try self.statements[.contexts].rows(segment, sequence, last) { row throws(StoreError) in
            try self.points(row, at: 0)
        }.flatMap { $0 }
    }

    package func isRedacted(_ write: WriteReference) throws(StoreError) -> Bool {
        let found = try self.statements[.operationNumbers].first(write.point) { row in
            (first: row.int64(0), count: row.int64(1), hasRows: row.int64(2) == 1)
        }
        guard let found, Int64(write.index) < found.count else { return false }
        guard found.hasRows else { return true }
        var reader = OperationReader(statement: try self.statements[.operationsFrom])
        defer { reader.finish() }
        return try reader.read(found.first.addingReportingOverflow(Int64(write.index)).partialValue).kind == .redacted
    }

    package func edit(_ write: WriteReference) throws(StoreError) -> Edit? {
        let statement = try self.statements[.changeOperations]
        defer { statement.reset() }
        statement.bind(1, write.point)
        guard try statement.step(), Int64(write.index) < statement.int64(1) else { return nil }
        if let properties = try self.redactedProperties(statement, at: 2) {
            guard Int(write.index) < properties.count else { throw Self.damaged(change: write.sequence) }
            let (object, name) = properties[Int(write.index)]
            return .redacted(try self.objectID(object), name: try self.name(name), leaf: nil)
        }
        let number = statement.int64(0).addingReportingOverflow(Int64(write.index)).partialValue
        var assembly = RunAssembly(self, of: write.segment, firstSequence: write.sequence)
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
        of segment: SegmentIndex,
        from sequence: UInt64,
        limits: RunLimits,
        signed: Bool
    ) throws(StoreError) -> Run? {
        var changes = try self.changes(of: segment, from: sequence, through: nil, limits)
        guard !changes.rows.isEmpty else { return nil }
        var signature: Signature?
        if signed {
            let limit = sequence + UInt64(changes.rows.count) - 1
            if let end = try self.signedEnd(of: segment, from: sequence, limit: limit) {
                if end > limit {
                    changes = try self.changes(of: segment, from: sequence, through: end, limits)
                } else {
                    changes.rows.removeLast(Int(limit - end))
                }
            } else {
                changes = try self.changes(of: segment, from: sequence, through: .max, limits)
            }
        }
        signature = try self.signature(of: segment, sequence: sequence + UInt64(changes.rows.count) - 1)
        let previous = try self.name(before: SegmentPoint(segment: segment, sequence: sequence))
        var assembly = RunAssembly(self, of: segment, firstSequence: sequence, previous: previous)
        var reader = OperationReader(statement: try self.statements[.operationsFrom])
        defer { reader.finish() }
        for row in changes.rows {
            assembly.builder.beginChange(
                stamp: row.stamp,
                context: changes.contexts[row.context],
                blinding: changes.blinding[row.blinding],
                redaction: row.redaction
            )
            guard let redacted = row.redacted else {
                for number in row.operations { try self.append(number, from: &reader, to: &assembly) }
                continue
            }
            for (object, name) in redacted {
                let (position, operand) = (try assembly.index(of: object), try assembly.index(of: name))
                assembly.builder.append(kind: .redacted, object: position, operand: operand, payload: [])
            }
        }
        for (position, change) in assembly.builder.run.changes.enumerated() where change.redaction != .none {
            let run = assembly.builder.run
            guard Int(change.blindingByteCount) == run.requiredBlindingByteCount(of: change),
                run.isRedactedInOneWay(change)
            else {
                throw SQLiteTransaction.damaged(change: sequence + UInt64(position))
            }
        }
        return assembly.builder.signed(signature)
    }

    /// The name of the change before another, if more than one segment of the replica is here: whoever has one fork
    /// alone need not know that there is another.
    private func name(before point: SegmentPoint) throws(StoreError) -> ChangeName? {
        guard point.sequence > 0, self.segments.isForked(point.segment) else { return nil }
        var before = SegmentPoint(segment: point.segment, sequence: point.sequence - 1)
        if let parent = self.origin(of: point.segment)?.parent, parent.sequence == before.sequence { before = parent }
        guard before.sequence > 0 else { return nil }
        guard let header = try self.header(at: before) else { throw .damaged("a change is missing from the log") }
        return ChangeName(header.hash)
    }

    // MARK: - Changes

    /// Consecutive changes without their operations.
    private struct LoadedChanges {
        struct Row {
            var stamp: Stamp
            var operations: Range<Int64>
            var context: Range<Int>
            var blinding: Range<Int>
            var redaction: Redaction
            /// The properties that were written to, if nothing else is left of the change.
            var redacted: [(ObjectIndex, NameIndex)]?
        }

        var rows: [Row] = []
        var contexts: [Point] = []
        var blinding: [UInt8] = []
    }

    /// Reads changes from a sequence on: up to an end, or as many as the limits allow, and one at least.
    private func changes(
        of segment: SegmentIndex,
        from sequence: UInt64,
        through end: UInt64?,
        _ limits: RunLimits
    ) throws(StoreError) -> LoadedChanges {
        let statement = try self.statements[.changesFrom]
        defer { statement.reset() }
        statement.bindAll(segment, sequence)
        var loaded = LoadedChanges()
        var size = ChangeSize.zero
        var next = sequence
        while try statement.step(), statement.bits(0) == next {
            guard (0...Int64(Limits.changeOperationCountMax)).contains(statement.int64(3)),
                (0...Int64(Limits.loadedByteCountMax)).contains(statement.int64(4)), next <= Limits.sequenceMax
            else { throw SQLiteTransaction.damaged(change: next) }
            size += ChangeSize(
                changeCount: 1,
                operationCount: Int(statement.int64(3)),
                byteCount: Int(statement.int64(4))
            )
            if let end {
                if next > end { break }
            } else if !limits.allow(size) {
                break
            }
            try self.append(statement, to: &loaded)
            next += 1
        }
        return loaded
    }

    private func append(_ statement: Statement, to loaded: inout LoadedChanges) throws(StoreError) {
        let contextStart = loaded.contexts.count
        loaded.contexts += try self.points(statement, at: 5)
        let blindingStart = loaded.blinding.count
        loaded.blinding.append(contentsOf: statement.borrowedBytes(7))
        let (first, count) = (statement.int64(2), statement.int64(3))
        let end = first.addingReportingOverflow(count)
        let redacted = try self.redactedProperties(statement, at: 8)
        let blindingCount = loaded.blinding.count - blindingStart
        guard let redaction = UInt8(exactly: statement.int64(6)).flatMap({ Redaction(rawValue: $0) }), !end.overflow,
            redaction != .none || blindingCount == Bytes16.byteCount,
            redacted.map({ $0.count == Int(count) && redaction == .whole }) ?? true
        else { throw SQLiteTransaction.damaged(change: statement.bits(0)) }
        loaded.rows.append(
            LoadedChanges.Row(
                stamp: Stamp(rawValue: statement.bits(1)),
                operations: first..<end.partialValue,
                context: contextStart..<loaded.contexts.count,
                blinding: blindingStart..<loaded.blinding.count,
                redaction: redaction,
                redacted: redacted
            )
        )
    }

    /// The properties that the operations of a change had written to, if nothing else is left of it.
    private func redactedProperties(
        _ statement: Statement,
        at column: Int32
    ) throws(StoreError) -> [(ObjectIndex, NameIndex)]? {
        guard !statement.isNull(column) else { return nil }
        let numbers: [UInt64]
        do throws(WireError) {
            numbers = try StoredBytes.numbers(statement.bytes(column))
        } catch {
            throw .damaged("what was dropped of a change in the log cannot be read")
        }
        guard numbers.count.isMultiple(of: 2), numbers.allSatisfy({ $0 < UInt64(IdentifierCache.numberMax) }) else {
            throw .damaged("what was dropped of a change in the log cannot be read")
        }
        return stride(from: 0, to: numbers.count, by: 2).map { place in
            (ObjectIndex(rawValue: UInt32(numbers[place])), NameIndex(rawValue: UInt32(numbers[place + 1])))
        }
    }

    private static func damaged(change sequence: UInt64) -> StoreError {
        .damaged("change \(sequence) of a replica in the log cannot be read")
    }

    /// What a change adds to its context.
    private func points(_ statement: Statement, at column: Int32) throws(StoreError) -> [Point] {
        let bytes = statement.bytes(column)
        if bytes.isEmpty { return [] }
        do throws(WireError) {
            return try StoredBytes.points(bytes, segmentCount: self.segmentCount) { self.replicaID($0) }
        } catch {
            throw .damaged("the context of a change in the log cannot be read")
        }
    }

    // MARK: - Signatures

    /// The last signature up to the limit, or else the first behind it.
    private func signedEnd(
        of segment: SegmentIndex,
        from sequence: UInt64,
        limit: UInt64
    ) throws(StoreError) -> UInt64? {
        let last = try self.statements[.signatureUpTo].first(segment, limit) { $0.bits(0) }
        if let last, last >= sequence { return last }
        let next = try self.statements[.signatureFrom].first(segment, limit) { $0.bits(0) }
        guard next ?? .max >= limit else { throw .damaged("a signature in the log cannot be where it is") }
        return next
    }

    private func signature(of segment: SegmentIndex, sequence: UInt64) throws(StoreError) -> Signature? {
        try self.statements[.signatureAt].first(segment, sequence) { row throws(StoreError) in
            guard let signature = Signature(row.bytes(0)) else {
                throw .damaged("a signature in the log has the wrong length")
            }
            return signature
        }
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
            operand = try assembly.index(of: NameIndex(rawValue: UInt32(truncatingIfNeeded: name)))
        } else if row.kind == .move, let parent = row.operand {
            operand = try assembly.index(of: ObjectIndex(rawValue: UInt32(truncatingIfNeeded: parent))) + 1
        }
        let object = row.kind.hasObject ? try assembly.index(of: row.object) : 0
        var payload = reader.payload
        if let creation = row.creation {
            payload.appendPrefixed(Array(try self.name(creation.type).utf8))
            payload.appendPrefixed(Array(try self.name(creation.kind).utf8))
        }
        assembly.builder.append(kind: row.kind, object: object, operand: operand, payload: payload)
    }
}

/// A run being put together from the log: the store's numbers become the run's.
private struct RunAssembly {
    var builder: RunBuilder
    private let transaction: SQLiteTransaction
    private var objects: [ObjectIndex: UInt32] = [:]
    private var names: [NameIndex: UInt32] = [:]
    // Operations on one object follow each other.
    private var lastObject: (index: ObjectIndex, position: UInt32)?

    init(
        _ transaction: SQLiteTransaction,
        of segment: SegmentIndex,
        firstSequence: UInt64,
        previous: ChangeName? = nil
    ) {
        let replica = transaction.replicaID(segment)
        self.builder = RunBuilder(replica: replica, firstSequence: firstSequence, previous: previous)
        self.transaction = transaction
    }

    mutating func index(of object: ObjectIndex) throws(StoreError) -> UInt32 {
        if let lastObject, lastObject.index == object { return lastObject.position }
        let position: UInt32
        if let known = self.objects[object] {
            position = known
        } else {
            position = self.builder.index(of: try self.transaction.objectID(object))
            self.objects[object] = position
        }
        self.lastObject = (object, position)
        return position
    }

    mutating func index(of name: NameIndex) throws(StoreError) -> UInt32 {
        if let known = self.names[name] { return known }
        let position = self.builder.index(ofName: try self.transaction.name(name))
        self.names[name] = position
        return position
    }
}
