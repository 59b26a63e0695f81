package import CRDTCore

extension SQLiteTransaction {
    package func replaceChange(at point: SegmentPoint, by run: Run, indexes: RunIndexes) throws(StoreError) {
        guard run.changes.count == 1 else { throw .damaged("a change is replaced by another number of them") }
        let change = run.changes[0]
        let (first, hasRows) = try self.operations(of: point, count: Int64(change.operationCount))
        guard hasRows else {
            throw .damaged("change \(point.sequence) of a replica in the log is not the one to be replaced")
        }
        if run.hasOnlyRedacted(change) {
            try self.deleteOperations(first..<first + Int64(change.operationCount))
        } else {
            for (index, operation) in run.operations.enumerated() where operation.kind == .redacted {
                let payload = Array(run.payload[operation.payloadRange])
                try self.statements[.replaceOperation].run(first + Int64(index), payload)
            }
        }
        try self.statements[.replaceChange].run(
            point,
            change.redaction,
            Array(run.blinding(of: change)),
            run.size(of: change).byteCount,
            Self.redactedProperties(of: change, in: run, indexes)
        )
    }

    package func repairChange(
        at point: SegmentPoint,
        by run: Run,
        indexes: RunIndexes,
        places: [UInt32]
    ) throws(StoreError) {
        guard run.changes.count == 1 else { throw .damaged("a change is replaced by another number of them") }
        let change = run.changes[0]
        var (first, hasRows) = try self.operations(of: point, count: Int64(change.operationCount))
        if hasRows {
            // What stays as it is may be large.
            for place in places { try self.deleteOperations(first + Int64(place)..<first + Int64(place) + 1) }
            let positions = places.map { change.operationRange.lowerBound + Int($0) }
            try self.insertOperations(of: change, at: positions, in: run, indexes, from: first)
        } else {
            // Their numbers may be those of operations that came later.
            first = self.identifiers.next.operation
            self.identifiers.next.operation += Int64(change.operationCount)
            try self.insertOperations(of: change, at: change.operationRange, in: run, indexes, from: first)
        }
        try self.statements[.repairChange].run(
            point,
            first,
            change.redaction,
            Array(run.blinding(of: change)),
            run.size(of: change).byteCount
        )
    }

    private func deleteOperations(_ numbers: Range<Int64>) throws(StoreError) {
        try self.statements[.deleteOperations].run(numbers.lowerBound, numbers.upperBound - 1)
    }

    /// The number of a change's first operation, and whether they have rows.
    private func operations(of point: SegmentPoint, count: Int64) throws(StoreError) -> (first: Int64, haveRows: Bool) {
        let statement = try self.statements[.operationNumbers]
        defer { statement.reset() }
        statement.bind(1, point)
        guard try statement.step(), statement.int64(1) == count else {
            throw .damaged("change \(point.sequence) of a replica in the log is not the one to be replaced")
        }
        return (statement.int64(0), statement.int64(2) == 1)
    }

    /// An object and a name for each operation of a change of which nothing else is left, as its row has them; nil for
    /// any other change.
    static func redactedProperties(of change: Change, in run: Run, _ indexes: RunIndexes) -> [UInt8]? {
        guard run.hasOnlyRedacted(change) else { return nil }
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

    package func redactedWrites(at key: RegisterKey) throws(StoreError) -> [RedactedWrites] {
        guard try self.hasAnyRedacted() else { return [] }
        return try self.statements[.redactedWrites].rows(key) { row throws(StoreError) in try self.redacted(row) }
    }

    package func redactedWrites(
        at key: RegisterKey,
        on segment: SegmentIndex
    ) throws(StoreError) -> RedactedWrites? {
        guard try self.hasAnyRedacted() else { return nil }
        return try self.statements[.redactedWritesOnSegment].first(key, segment) { row throws(StoreError) in
            try self.redacted(row)
        }
    }

    private func redacted(_ row: Statement) throws(StoreError) -> RedactedWrites {
        let (count, first, last) = (row.int64(1), row.bits(2), row.bits(3))
        guard let segment = UInt32(exactly: row.int64(0)), segment < self.segmentCount,
            (1...Self.writeCountMax).contains(count), (1...Limits.sequenceMax).contains(first),
            (first...Limits.sequenceMax).contains(last)
        else { throw .damaged("a property in the database has dropped writes that there cannot be") }
        return RedactedWrites(
            segment: SegmentIndex(rawValue: segment),
            count: count,
            first: first,
            last: last,
            lastStamp: Stamp(rawValue: row.bits(4))
        )
    }

    package func setRedactedWrites(
        _ redacted: RedactedWrites?,
        at key: RegisterKey,
        on segment: SegmentIndex
    ) throws(StoreError) {
        guard let redacted else { return try self.statements[.deleteRedacted].run(key, segment) }
        try self.statements[.setRedacted].run(
            key,
            segment,
            redacted.count,
            redacted.first,
            redacted.last,
            redacted.lastStamp
        )
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

    // MARK: - What is missing

    package func missingCount(in change: SegmentPoint) throws(StoreError) -> Int {
        guard try self.hasAnyMissing(),
            let found = try self.statements[.missingCount].first(change, read: { $0.int64(0) })
        else { return 0 }
        guard let count = Int(exactly: found), (1...Limits.changeOperationCountMax).contains(count) else {
            throw .damaged("a change in the database misses a number of writes that there cannot be")
        }
        return count
    }

    package func setMissingCount(_ count: Int, in change: SegmentPoint) throws(StoreError) {
        self.hasMissing = count > 0 ? true : nil
        if count > 0 {
            try self.statements[.setMissing].run(change, count)
        } else {
            try self.statements[.deleteMissing].run(change)
        }
    }

    package func changesMissingContent(
        after change: SegmentPoint?,
        limit: Int
    ) throws(StoreError) -> [SegmentPoint] {
        guard try self.hasAnyMissing() else { return [] }
        return try self.missing(after: change, limit: limit)
    }

    private func missing(after change: SegmentPoint?, limit: Int) throws(StoreError) -> [SegmentPoint] {
        let segment = change.map { Int64($0.segment.rawValue) } ?? -1
        let statement = try self.statements[.missingFrom]
        return try statement.rows(segment, change?.sequence ?? 0, limit) { row throws(StoreError) in
            let place = SegmentPoint(segment: SegmentIndex(rawValue: row.uint32(0)), sequence: row.bits(1))
            guard Int(place.segment.rawValue) < self.segmentCount else {
                throw .damaged("a change in the database that misses something is on no segment")
            }
            return place
        }
    }

    private func hasAnyMissing() throws(StoreError) -> Bool {
        if let known = self.hasMissing { return known }
        let hasMissing = try !self.missing(after: nil, limit: 1).isEmpty
        self.hasMissing = hasMissing
        return hasMissing
    }

    private func hasAnyRedacted() throws(StoreError) -> Bool {
        if let known = self.hasRedacted { return known }
        let hasRedacted = try self.statements[.hasRedacted].first { $0.bool(0) } ?? false
        self.hasRedacted = hasRedacted
        return hasRedacted
    }
}
