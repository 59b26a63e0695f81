package import CRDTCore

extension SQLiteTransaction {
    package func replaceChange(at point: SegmentPoint, by run: Run, indexes: RunIndexes) throws(StoreError) {
        guard run.changes.count == 1 else { throw .damaged("a change is replaced by another number of them") }
        let change = run.changes[0]
        let (first, isSpent) = try self.operations(of: point, count: Int64(change.operationCount))
        guard !isSpent else {
            throw .damaged("change \(point.sequence) of a replica in the log is not the one to be replaced")
        }
        if change.isSpent {
            try self.deleteOperations(first..<first + Int64(change.operationCount))
        } else {
            for (index, operation) in run.operations.enumerated() where operation.kind == .spent {
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
        statement.bind(6, Self.spentProperties(of: change, in: run, indexes))
        try statement.run()
    }

    package func refillChange(at point: SegmentPoint, by run: Run, indexes: RunIndexes) throws(StoreError) {
        guard run.changes.count == 1 else { throw .damaged("a change is replaced by another number of them") }
        let change = run.changes[0]
        var (first, isSpent) = try self.operations(of: point, count: Int64(change.operationCount))
        if isSpent {
            // Their numbers may be those of operations that came later.
            first = self.identifiers.next.operation
            self.identifiers.next.operation += Int64(change.operationCount)
        } else {
            try self.deleteOperations(first..<first + Int64(change.operationCount))
        }
        try self.insertOperations(of: change, in: run, indexes, from: first)
        let statement = try self.statements[.refillChange]
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

    /// The number of a change's first operation, and whether all are spent, so that none has a row.
    private func operations(of point: SegmentPoint, count: Int64) throws(StoreError) -> (first: Int64, areSpent: Bool) {
        let statement = try self.statements[.changeOperations]
        defer { statement.reset() }
        statement.bind(point)
        guard try statement.step(), statement.int64(1) == count else {
            throw .damaged("change \(point.sequence) of a replica in the log is not the one to be replaced")
        }
        return (statement.int64(0), statement.int64(2) == Redaction.spent.rawValue)
    }

    /// An object and a name for each operation of a spent change, as its row has them; nil for any other change.
    static func spentProperties(of change: Change, in run: Run, _ indexes: RunIndexes) -> [UInt8]? {
        guard change.isSpent else { return nil }
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

    package func spentWrites(at key: RegisterKey) throws(StoreError) -> SpentWrites? {
        guard try self.hasAnySpent() else { return nil }
        let statement = try self.statements[.spentWrites]
        defer { statement.reset() }
        statement.bind(1, key.rowNumber)
        guard try statement.step() else { return nil }
        let count = statement.int64(0)
        guard (1...Self.writeCountMax).contains(count),
            let first = try? StoredBytes.seenSegments(statement.bytes(1)),
            let last = try? StoredBytes.seenSegments(statement.bytes(2)),
            max(first.endOfLines, last.endOfLines) <= self.segmentCount
        else { throw .damaged("a property in the database has dropped writes that there cannot be") }
        return SpentWrites(count: count, first: first, last: last, lastStamp: Stamp(rawValue: statement.bits(3)))
    }

    package func setSpentWrites(_ spent: SpentWrites?, at key: RegisterKey) throws(StoreError) {
        guard let spent else {
            let statement = try self.statements[.deleteSpent]
            statement.bind(1, key.rowNumber)
            return try statement.run()
        }
        let statement = try self.statements[.setSpent]
        statement.bind(1, key.rowNumber)
        statement.bind(2, spent.count)
        statement.bind(3, StoredBytes.encode(spent.first))
        statement.bind(4, StoredBytes.encode(spent.last))
        statement.bind(5, bits: spent.lastStamp.rawValue)
        try statement.run()
        self.hasSpent = true
    }

    package func propertiesWithSpentWrites(
        after key: RegisterKey?,
        limit: Int
    ) throws(StoreError) -> [RegisterKey] {
        guard try self.hasAnySpent() else { return [] }
        let statement = try self.statements[.spentFrom]
        defer { statement.reset() }
        statement.bind(1, key?.rowNumber ?? -1)
        statement.bind(2, Int64(limit))
        var found: [RegisterKey] = []
        while try statement.step() { found.append(RegisterKey(rowNumber: statement.int64(0))) }
        return found
    }

    private func hasAnySpent() throws(StoreError) -> Bool {
        if let known = self.hasSpent { return known }
        let statement = try self.statements[.hasSpent]
        defer { statement.reset() }
        let hasSpent = try statement.step() && statement.bool(0)
        self.hasSpent = hasSpent
        return hasSpent
    }
}
