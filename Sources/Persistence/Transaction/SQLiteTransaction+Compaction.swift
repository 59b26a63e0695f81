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
                let payload = Array(run.payload[operation.payloadRange])
                try self.statements[.replaceOperation].run(first + Int64(index), payload)
            }
        }
        try self.statements[.replaceChange].run(
            point,
            Redaction(change),
            Array(run.blinding(of: change)),
            run.size(of: change).byteCount,
            Self.redactedProperties(of: change, in: run, indexes)
        )
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
        try self.statements[.repairChange].run(
            point,
            first,
            Redaction(change),
            Array(run.blinding(of: change)),
            run.size(of: change).byteCount
        )
    }

    private func deleteOperations(_ numbers: Range<Int64>) throws(StoreError) {
        try self.statements[.deleteOperations].run(numbers.lowerBound, numbers.upperBound - 1)
    }

    /// The number of a change's first operation, and whether all are redacted, so that none has a row.
    private func operations(of point: SegmentPoint, count: Int64) throws(StoreError) -> (
        first: Int64, areRedacted: Bool
    ) {
        let statement = try self.statements[.changeOperations]
        defer { statement.reset() }
        statement.bind(1, point)
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
        return try self.statements[.redactedWrites].first(key) { row throws(StoreError) in
            let count = row.int64(0)
            guard (1...Self.writeCountMax).contains(count),
                let first = try? StoredBytes.seenSegments(row.bytes(1)),
                let last = try? StoredBytes.seenSegments(row.bytes(2)),
                max(first.endOfLines, last.endOfLines) <= self.segmentCount
            else { throw .damaged("a property in the database has dropped writes that there cannot be") }
            return RedactedWrites(count: count, first: first, last: last, lastStamp: Stamp(rawValue: row.bits(3)))
        }
    }

    package func setRedactedWrites(_ redacted: RedactedWrites?, at key: RegisterKey) throws(StoreError) {
        guard let redacted else { return try self.statements[.deleteRedacted].run(key) }
        let (first, last) = (StoredBytes.encode(redacted.first), StoredBytes.encode(redacted.last))
        try self.statements[.setRedacted].run(key, redacted.count, first, last, redacted.lastStamp)
        self.hasRedacted = true
    }

    package func propertiesWithRedactedWrites(
        after key: RegisterKey?,
        limit: Int
    ) throws(StoreError) -> [RegisterKey] {
        guard try self.hasAnyRedacted() else { return [] }
        return try self.statements[.redactedFrom].rows(key?.rowNumber ?? -1, limit) { row in
            RegisterKey(rowNumber: row.int64(0))
        }
    }

    private func hasAnyRedacted() throws(StoreError) -> Bool {
        if let known = self.hasRedacted { return known }
        let hasRedacted = try self.statements[.hasRedacted].first { $0.bool(0) } ?? false
        self.hasRedacted = hasRedacted
        return hasRedacted
    }
}
