package import CRDTCore

extension SQLiteTransaction {
    package var branches: BranchTable { self.segments.branches }

    package func addBranch(_ record: BranchRecord) throws(StoreError) {
        var bytes: [UInt8] = []
        record.statement.encode(to: &bytes)
        try self.statements[.insertBranch].run(record.author, bytes)
        self.segments.add(record)
    }

    /// Reads what opens, closes and merges branches.
    func loadBranches() throws(StoreError) {
        let records = try self.statements[.allBranches].rows { row throws(StoreError) in
            let author = try self.point(row, at: 0)
            guard let content = try? BranchStatement(decoding: row.bytes(2)[...]) else {
                throw .damaged("a branch in the database cannot be read")
            }
            return BranchRecord(statement: content, author: author)
        }
        for record in records { self.segments.restore(record) }
    }

    // MARK: - Operations of branches

    package func addUnmerged(_ operation: UnmergedOperation) throws(StoreError) {
        try self.statements[.insertUnmerged].run(
            operation.key.object,
            operation.key.name,
            operation.segment,
            operation.sequence,
            operation.index,
            operation.kind,
            operation.parent
        )
    }

    package func noteTaken(
        _ segment: SegmentIndex,
        through sequence: UInt64,
        by change: SegmentPoint
    ) throws(StoreError) {
        try self.statements[.insertTaken].run(segment, sequence, change)
    }

    package func removeUnmerged(_ point: SegmentPoint, of object: ObjectIndex) throws(StoreError) {
        try self.statements[.deleteUnmerged].run(point, object)
    }

    package func unmergedOperations(at key: RegisterKey) throws(StoreError) -> [UnmergedOperation] {
        try self.statements[.unmergedAtKey].rows(key.object, key.name) { row throws(StoreError) in
            try self.unmerged(row, of: key.object)
        }
    }

    package func unmergedOperations(on object: ObjectIndex) throws(StoreError) -> [UnmergedOperation] {
        try self.statements[.unmergedOfObject].rows(object) { row throws(StoreError) in
            try self.unmerged(row, of: object)
        }
    }

    package func lastUnmerged(
        at key: RegisterKey,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> UnmergedOperation? {
        try self.statements[.lastUnmerged].first(key.object, key.name, segment, sequence) { row throws(StoreError) in
            try self.unmerged(row, of: key.object)
        }
    }

    package func objectsUnmerged(below parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex] {
        try self.statements[.unmergedBelow].rows(parent) { $0.object(0) }
    }

    private func unmerged(_ row: Statement, of object: ObjectIndex) throws(StoreError) -> UnmergedOperation {
        let point = try self.point(row, at: 1)
        guard let index = UInt32(exactly: row.int64(3)), let kind = UInt8(exactly: row.int64(4)) else {
            throw .damaged("an operation of a branch in the database cannot be")
        }
        return UnmergedOperation(
            key: RegisterKey(object: object, name: row.name(0)),
            write: WriteReference(stamp: .zero, segment: point.segment, sequence: point.sequence, index: index),
            kind: OperationKind(rawValue: kind),
            parent: row.isNull(5) ? nil : row.object(5)
        )
    }
}
