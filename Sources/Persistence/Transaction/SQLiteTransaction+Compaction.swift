package import CRDTCore

extension SQLiteTransaction {
    package func replaceChange(at point: SegmentPoint, by run: Run, indexes: RunIndexes) throws(StoreError) {
        guard run.changes.count == 1 else { throw .damaged("a change is replaced by another number of them") }
        let change = run.changes[0]
        let (first, isRedacted) = try self.operations(of: point, count: Int64(change.operationCount))
        guard !isRedacted else {
            throw .damaged("change \(point.sequence) of a replica in the log is not the one to be replaced")
        }
        if change.isRedacted {
            try self.deleteOperations(first..<first + Int64(change.operationCount))
        } else {
            for (index, operation) in run.operations.enumerated() where operation.kind == .redacted {
                let statement = try self.statements[.replaceOperation]
                statement.bind(1, first + Int64(index))
                statement.bind(2, Array(run.payload[operation.payloadRange]))
                try statement.run()
            }
        }
        let statement = try self.statements[.replaceChange]
        statement.bind(point)
        statement.bind(3, Redaction(change).rawValue)
        statement.bind(4, Array(run.blinding(of: change)))
        statement.bind(5, Int64(run.size(of: change).byteCount))
        statement.bind(6, Self.redactedProperties(of: change, in: run, indexes))
        try statement.run()
    }

    package func repairChange(at point: SegmentPoint, by run: Run, indexes: RunIndexes) throws(StoreError) {
        guard run.changes.count == 1 else { throw .damaged("a change is replaced by another number of them") }
        let change = run.changes[0]
        var (first, isRedacted) = try self.operations(of: point, count: Int64(change.operationCount))
        if isRedacted {
            // Their numbers may be those of operations that came later.
            first = self.identifiers.next.operation
            self.identifiers.next.operation += Int64(change.operationCount)
        } else {
            try self.deleteOperations(first..<first + Int64(change.operationCount))
        }
        try self.insertOperations(of: change, in: run, indexes, from: first)
        let statement = try self.statements[.repairChange]
        statement.bind(point)
        statement.bind(3, first)
        statement.bind(4, Redaction(change).rawValue)
        statement.bind(5, Array(run.blinding(of: change)))
        statement.bind(6, Int64(run.size(of: change).byteCount))
        try statement.run()
    }

    private func deleteOperations(_ numbers: Range<Int64>) throws(StoreError) {
        let statement = try self.statements[.deleteOperations]
        statement.bind(1, numbers.lowerBound)
        statement.bind(2, numbers.upperBound - 1)
        try statement.run()
    }

    /// The number of a change's first operation, and whether all are redacted, so that none has a row.
    private func operations(of point: SegmentPoint, count: Int64) throws(StoreError) -> (
        first: Int64, areRedacted: Bool
    ) {
        let statement = try self.statements[.changeOperations]
        defer { statement.reset() }
        statement.bind(point)
        guard try statement.step(), statement.int64(1) == count else {
            throw .damaged("change \(point.sequence) of a replica in the log is not the one to be replaced")
        }
        return (statement.int64(0), statement.int64(2) == Redaction.redacted.rawValue)
    }

    /// An object and a name for each operation of a redacted change, as its row has them; nil for any other change.
    static func redactedProperties(of change: Change, in run: Run, _ indexes: RunIndexes) -> [UInt8]? {
        guard change.isRedacted else { return nil }
        return StoredBytes.encode(
            run.operations[change.operationRange].flatMap { operation in
                [
                    UInt64(indexes.objects[Int(operation.object)].rawValue),
                    UInt64(indexes.names[Int(operation.operand)].rawValue),
                ]
            }
        )
    }

    // MARK: - What is counted of them

    package func redactedWrites(at key: RegisterKey) throws(StoreError) -> RedactedWrites? {
        guard try self.hasAnyRedacted() else { return nil }
        let statement = try self.statements[.redactedWrites]
        defer { statement.reset() }
        statement.bind(1, key.rowNumber)
        guard try statement.step() else { return nil }
        let count = statement.int64(0)
        guard (1...Self.writeCountMax).contains(count),
            let first = try? StoredBytes.seenSegments(statement.bytes(1)),
            let last = try? StoredBytes.seenSegments(statement.bytes(2)),
            max(first.endOfLines, last.endOfLines) <= self.segmentCount
        else { throw .damaged("a property in the database has dropped writes that there cannot be") }
        return RedactedWrites(count: count, first: first, last: last, lastStamp: Stamp(rawValue: statement.bits(3)))
    }

    package func setRedactedWrites(_ redacted: RedactedWrites?, at key: RegisterKey) throws(StoreError) {
        guard let redacted else {
            let statement = try self.statements[.deleteRedacted]
            statement.bind(1, key.rowNumber)
            return try statement.run()
        }
        let statement = try self.statements[.setRedacted]
        statement.bind(1, key.rowNumber)
        statement.bind(2, redacted.count)
        statement.bind(3, StoredBytes.encode(redacted.first))
        statement.bind(4, StoredBytes.encode(redacted.last))
        statement.bind(5, bits: redacted.lastStamp.rawValue)
        try statement.run()
        self.hasRedacted = true
    }

    package func propertiesWithRedactedWrites(
        after key: RegisterKey?,
        limit: Int
    ) throws(StoreError) -> [RegisterKey] {
        guard try self.hasAnyRedacted() else { return [] }
        let statement = try self.statements[.redactedFrom]
        defer { statement.reset() }
        statement.bind(1, key?.rowNumber ?? -1)
        statement.bind(2, Int64(limit))
        var found: [RegisterKey] = []
        while try statement.step() { found.append(RegisterKey(rowNumber: statement.int64(0))) }
        return found
    }

    private func hasAnyRedacted() throws(StoreError) -> Bool {
        if let known = self.hasRedacted { return known }
        let statement = try self.statements[.hasRedacted]
        defer { statement.reset() }
        let hasRedacted = try statement.step() && statement.bool(0)
        self.hasRedacted = hasRedacted
        return hasRedacted
    }
}
