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
        guard let object else { return try self.statements[.allSnapshots].rows(read: Self.record) }
        return try self.statements[.snapshotsOfObject].rows(object, read: Self.record)
    }

    /// Some of the snapshots whose ids lie between two, in the order of ids.
    package func snapshots(from first: ObjectID, to last: ObjectID, limit: Int) throws(StoreError) -> [SnapshotRecord] {
        try self.statements[.snapshotsInRange].rows(first, last, limit, read: Self.record)
    }

    /// The content of a snapshot; nil if there is none.
    package func snapshotContent(_ id: ObjectID) throws(StoreError) -> [UInt8]? {
        try self.statements[.snapshotContent].first(id) { $0.bytes(0) }
    }

    /// Keeps a snapshot; returns false if it is there already.
    package func insert(_ snapshot: SnapshotRecord, content: [UInt8]) throws(StoreError) -> Bool {
        guard try self.snapshots(from: snapshot.id, to: snapshot.id, limit: 1).isEmpty else { return false }
        try self.statements[.insertSnapshot].run(
            snapshot.id,
            snapshot.object,
            snapshot.name,
            snapshot.objectCount,
            snapshot.byteCount,
            Int64(clamping: snapshot.time),
            String(decoding: content, as: UTF8.self)
        )
        return true
    }

    /// Removes a snapshot; returns false if there is none.
    package func deleteSnapshot(_ id: ObjectID) throws(StoreError) -> Bool {
        guard try !self.snapshots(from: id, to: id, limit: 1).isEmpty else { return false }
        try self.statements[.deleteSnapshot].run(id)
        return true
    }

    private static func record(_ row: Statement) throws(StoreError) -> SnapshotRecord {
        guard let id = ObjectID(text: row.text(0)), let object = ObjectID(text: row.text(1)) else {
            throw .damaged("a snapshot in the database has an id that is none")
        }
        return SnapshotRecord(
            id: id,
            object: object,
            name: row.isNull(2) ? nil : row.text(2),
            objectCount: Int(clamping: row.int64(3)),
            byteCount: Int(clamping: row.int64(4)),
            time: UInt64(clamping: row.int64(5))
        )
    }
}
