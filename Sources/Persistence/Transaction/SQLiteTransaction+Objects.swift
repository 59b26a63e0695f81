package import CRDTCore

extension SQLiteTransaction {
    package func object(_ index: ObjectIndex) throws(StoreError) -> ObjectRecord {
        try self.look(at: index) { $0 }
    }

    package func look<Result>(
        at object: ObjectIndex,
        _ body: (ObjectRecord) -> Result
    ) throws(StoreError) -> Result {
        // Two steps: the first may hold the object, which a value read before would not know.
        let place = try self.hold(object)
        return self.objects.look(place, body)
    }

    package func update<Result>(
        _ object: ObjectIndex,
        _ change: (inout ObjectRecord) -> Result
    ) throws(StoreError) -> Result {
        let place = try self.hold(object)
        return self.objects.update(place, change)
    }

    /// Where an object is held in memory, which it is from now on.
    private func hold(_ object: ObjectIndex) throws(StoreError) -> ObjectOverlay.Place {
        if let place = self.objects.place(of: object) { return place }
        let record = try self.storedObject(object)
        try self.flushIfLarge()
        return self.objects.note(record, at: object)
    }

    package func children(of parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        return try self.statements[.children].rows(parent) { $0.object(0) }
    }

    package func visibleObjects() throws(StoreError) -> [ObjectIndex] {
        try self.flush()
        return try self.statements[.visibleObjects].rows { $0.object(0) }
    }

    /// The id of an object by its number.
    func objectID(_ index: ObjectIndex) throws(StoreError) -> ObjectID {
        if let place = self.objects.place(of: index) { return self.objects[place].record.id }
        let id = try self.statements[.objectID].first(index) { row throws(StoreError) in try row.objectID(0) }
        guard let id else { throw SQLiteTransaction.missing(index) }
        return id
    }

    private static func missing(_ index: ObjectIndex) -> StoreError {
        .damaged("object \(index.rawValue) is missing from the database")
    }

    // MARK: - Rows

    private func storedObject(_ index: ObjectIndex) throws(StoreError) -> ObjectRecord {
        let statement = try self.statements[.objectRow]
        defer { statement.reset() }
        statement.bind(1, index)
        guard try statement.step() else { throw SQLiteTransaction.missing(index) }
        let circle = CircleIndex(rawValue: statement.uint32(18))
        guard circle.rawValue < UInt32(self.circles.count) else {
            throw .damaged("object \(index.rawValue) is in a circle that there is not")
        }
        var record = ObjectRecord(id: try statement.objectID(0), circle: circle)
        if !statement.isNull(1) {
            record.creation = ObjectRecord.Creation(
                write: try self.write(statement, at: 1),
                type: statement.name(5),
                kind: statement.name(6)
            )
        }
        do throws(WireError) {
            record.existence = try StoredBytes.existence(statement.bytes(7), segmentCount: self.segmentCount)
        } catch {
            throw .damaged("the existence of object \(index.rawValue) cannot be read")
        }
        record.updated = Stamp(rawValue: statement.bits(8))
        record.parent = statement.isNull(9) ? nil : statement.object(9)
        record.position = Position(bytes: statement.bytes(10))
        record.childCount = statement.uint32(11)
        record.visibleChildCount = statement.uint32(12)
        record.isVisible = statement.bool(13)
        if !statement.isNull(14) {
            let point = try self.point(statement, at: 14)
            guard let index = UInt32(exactly: statement.int64(16)), index <= 0xffff else {
                throw .damaged("the place of object \(index.rawValue) cannot be read")
            }
            record.openMove = OpenMove(
                segment: point.segment,
                ordinal: ChainOrdinal(sequence: point.sequence, index: index)
            )
        }
        do throws(WireError) {
            if !statement.isNull(17) {
                record.otherOpenMoves = try StoredBytes.openMoves(statement.bytes(17), segmentCount: self.segmentCount)
            }
        } catch {
            throw .damaged("the open moves of object \(index.rawValue) cannot be read")
        }
        return record
    }

    /// What writes an object, and leaves the indexes alone in which it stays where it is.
    private static func query(for entry: ObjectOverlay.Entry) -> StoreQuery {
        if entry.isNew { return .insertObject }
        if entry.isMoved { return .updateObjectAndPlace }
        return entry.isTurned ? .updateObjectAndType : .updateObject
    }

    /// Writes objects in the order of their numbers.
    func flushObjects() throws(StoreError) {
        defer { self.objects.removeAll() }
        let changes = self.objects.changes()
        guard !changes.isEmpty else { return }
        let commit = self.takeCommit()
        var existence: [UInt8] = []
        for place in changes {
            let entry = self.objects[place]
            let statement = try self.statements[Self.query(for: entry)]
            let record = entry.record
            existence.removeAll(keepingCapacity: true)
            StoredBytes.encode(record.existence, to: &existence)
            let creation = record.creation
            statement.bind(1, entry.index)
            statement.bind(2, creation?.write)
            statement.bind(6, creation?.type)
            statement.bind(7, creation?.kind)
            statement.bind(8, existence)
            statement.bind(9, record.updated)
            statement.bind(10, record.childCount)
            statement.bind(11, record.visibleChildCount)
            statement.bind(12, record.isVisible)
            statement.bind(13, record.openMove?.segment)
            statement.bind(14, record.openMove?.ordinal.sequence)
            statement.bind(15, record.openMove?.ordinal.index)
            statement.bind(16, record.otherOpenMoves.isEmpty ? nil : StoredBytes.encode(record.otherOpenMoves))
            if entry.isNew || entry.isMoved {
                statement.bind(17, record.parent)
                statement.bind(18, record.position.bytes)
            }
            if entry.isNew {
                statement.bind(19, record.id)
                statement.bind(21, record.circle)
            }
            statement.bind(20, commit)
            try statement.run()
            if entry.isNew {
                self.placements.noteNew(entry.index, createdAt: creation?.write.stamp)
            } else if entry.isCreationChanged {
                self.placements.noteChanged(entry.index)
            }
        }
    }
}
