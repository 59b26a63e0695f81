package import CRDTCore

extension SQLiteTransaction {
    package var branches: BranchTable { self.segments.branches }

    package func addBranch(_ record: BranchRecord) throws(StoreError) {
        var bytes: [UInt8] = []
        record.statement.encode(to: &bytes)
        let statement = try self.statements[.insertBranch]
        statement.bind(record.author)
        statement.bind(3, bytes)
        try statement.run()
        self.segments.add(record)
    }

    /// Reads what opens and closes branches.
    func loadBranches() throws(StoreError) {
        let statement = try self.statements[.allBranches]
        defer { statement.reset() }
        while try statement.step() {
            let author = try self.point(statement, at: 0)
            guard let content = try? BranchStatement(decoding: statement.bytes(2)[...]) else {
                throw .damaged("a branch in the database cannot be read")
            }
            self.segments.restore(BranchRecord(statement: content, author: author))
        }
    }

    // MARK: - Operations of branches

    package func addUnmerged(_ operation: UnmergedOperation) throws(StoreError) {
        let statement = try self.statements[.insertUnmerged]
        statement.bind(1, operation.key.object.rawValue)
        statement.bind(2, operation.key.name.rawValue)
        statement.bind(3, operation.segment.rawValue)
        statement.bind(4, bits: operation.sequence)
        statement.bind(5, operation.index)
        statement.bind(6, Int64(operation.kind.rawValue))
        statement.bind(7, operation.parent.map { Int64($0.rawValue) })
        try statement.run()
    }

    package func noteTaken(
        _ segment: SegmentIndex,
        through sequence: UInt64,
        by change: SegmentPoint
    ) throws(StoreError) {
        let statement = try self.statements[.insertTaken]
        statement.bind(SegmentPoint(segment: segment, sequence: sequence))
        statement.bind(3, change.segment.rawValue)
        statement.bind(4, bits: change.sequence)
        try statement.run()
    }

    package func removeUnmerged(_ point: SegmentPoint, of object: ObjectIndex) throws(StoreError) {
        let statement = try self.statements[.deleteUnmerged]
        statement.bind(point)
        statement.bind(3, object.rawValue)
        try statement.run()
    }

    package func unmergedOperations(at key: RegisterKey) throws(StoreError) -> [UnmergedOperation] {
        let statement = try self.statements[.unmergedAtKey]
        defer { statement.reset() }
        statement.bind(1, key.object.rawValue)
        statement.bind(2, key.name.rawValue)
        return try self.unmerged(statement, of: key.object)
    }

    package func unmergedOperations(on object: ObjectIndex) throws(StoreError) -> [UnmergedOperation] {
        let statement = try self.statements[.unmergedOfObject]
        defer { statement.reset() }
        statement.bind(1, object.rawValue)
        return try self.unmerged(statement, of: object)
    }

    package func lastUnmerged(
        at key: RegisterKey,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> UnmergedOperation? {
        let statement = try self.statements[.lastUnmerged]
        defer { statement.reset() }
        statement.bind(1, key.object.rawValue)
        statement.bind(2, key.name.rawValue)
        statement.bind(3, segment.rawValue)
        statement.bind(4, bits: sequence)
        return try self.unmerged(statement, of: key.object).first
    }

    package func objectsUnmerged(below parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex] {
        let statement = try self.statements[parent == nil ? .unmergedToRoot : .unmergedBelow]
        defer { statement.reset() }
        if let parent { statement.bind(1, parent.rawValue) }
        var objects: [ObjectIndex] = []
        while try statement.step() { objects.append(ObjectIndex(rawValue: statement.uint32(0))) }
        return objects
    }

    private func unmerged(_ statement: Statement, of object: ObjectIndex) throws(StoreError) -> [UnmergedOperation] {
        var operations: [UnmergedOperation] = []
        while try statement.step() {
            let point = try self.point(statement, at: 1)
            guard let index = UInt32(exactly: statement.int64(3)), let kind = UInt8(exactly: statement.int64(4)) else {
                throw .damaged("an operation of a branch in the database cannot be")
            }
            operations.append(
                UnmergedOperation(
                    key: RegisterKey(object: object, name: NameIndex(rawValue: statement.uint32(0))),
                    write: WriteReference(
                        stamp: .zero,
                        segment: point.segment,
                        sequence: point.sequence,
                        index: index
                    ),
                    kind: OperationKind(rawValue: kind),
                    parent: statement.isNull(5) ? nil : ObjectIndex(rawValue: statement.uint32(5))
                )
            )
        }
        return operations
    }
}
