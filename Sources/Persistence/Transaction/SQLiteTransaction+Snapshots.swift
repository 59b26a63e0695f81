package import CRDTCore

/// What a list shows of a snapshot of an object.
package struct SnapshotRecord: Hashable, Sendable {
    package var id: ObjectID
    /// The object at its top.
    package var object: ObjectID
    package var name: String?
    package var objectCount: Int
    package var byteCount: Int
    /// Milliseconds since 1970.
    package var time: UInt64

    package init(
        id: ObjectID,
        object: ObjectID,
        name: String?,
        objectCount: Int,
        byteCount: Int,
        time: UInt64
    ) {
        self.id = id
        self.object = object
        self.name = name
        self.objectCount = objectCount
        self.byteCount = byteCount
        self.time = time
    }
}

/// Snapshots of objects, which belong to this database alone.
extension SQLiteTransaction {
    /// The snapshots of one object, or all, the oldest first.
    package func snapshots(of object: ObjectID?) throws(StoreError) -> [SnapshotRecord] {
        let statement = try self.statements[object == nil ? .allSnapshots : .snapshotsOfObject]
        defer { statement.reset() }
        if let object { statement.bind(1, object.description) }
        return try self.records(statement)
    }

    /// Some of the snapshots whose ids lie between two, in the order of ids.
    package func snapshots(from first: ObjectID, to last: ObjectID, limit: Int) throws(StoreError) -> [SnapshotRecord] {
        let statement = try self.statements[.snapshotsInRange]
        defer { statement.reset() }
        statement.bind(1, first.description)
        statement.bind(2, last.description)
        statement.bind(3, Int64(limit))
        return try self.records(statement)
    }

    /// The content of a snapshot; nil if there is none.
    package func snapshotContent(_ id: ObjectID) throws(StoreError) -> [UInt8]? {
        let statement = try self.statements[.snapshotContent]
        defer { statement.reset() }
        statement.bind(1, id.description)
        return try statement.step() ? statement.bytes(0) : nil
    }

    /// Keeps a snapshot; returns false if it is there already.
    package func insert(_ snapshot: SnapshotRecord, content: [UInt8]) throws(StoreError) -> Bool {
        guard try self.snapshots(from: snapshot.id, to: snapshot.id, limit: 1).isEmpty else { return false }
        let statement = try self.statements[.insertSnapshot]
        defer { statement.reset() }
        statement.bind(1, snapshot.id.description)
        statement.bind(2, snapshot.object.description)
        if let name = snapshot.name { statement.bind(3, name) } else { statement.bindNull(3) }
        statement.bind(4, Int64(snapshot.objectCount))
        statement.bind(5, Int64(snapshot.byteCount))
        statement.bind(6, Int64(clamping: snapshot.time))
        statement.bind(7, String(decoding: content, as: UTF8.self))
        try statement.run()
        return true
    }

    /// Removes a snapshot; returns false if there is none.
    package func deleteSnapshot(_ id: ObjectID) throws(StoreError) -> Bool {
        guard try !self.snapshots(from: id, to: id, limit: 1).isEmpty else { return false }
        let statement = try self.statements[.deleteSnapshot]
        statement.bind(1, id.description)
        try statement.run()
        return true
    }

    private func records(_ statement: Statement) throws(StoreError) -> [SnapshotRecord] {
        var records: [SnapshotRecord] = []
        while try statement.step() {
            guard let id = ObjectID(text: statement.text(0)), let object = ObjectID(text: statement.text(1)) else {
                throw .damaged("a snapshot in the database has an id that is none")
            }
            records.append(
                SnapshotRecord(
                    id: id,
                    object: object,
                    name: statement.isNull(2) ? nil : statement.text(2),
                    objectCount: Int(clamping: statement.int64(3)),
                    byteCount: Int(clamping: statement.int64(4)),
                    time: UInt64(clamping: statement.int64(5))
                )
            )
        }
        return records
    }
}
