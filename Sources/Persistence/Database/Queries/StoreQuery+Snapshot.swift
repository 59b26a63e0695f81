/// Snapshots of objects.
extension StoreQuery {
    private static let snapshotColumns = "id, object_id, name, object_count, byte_count, created_at"

    static let insertSnapshot = StoreQuery(
        "INSERT INTO snapshot (\(snapshotColumns), content) VALUES (?, ?, ?, ?, ?, ?, ?)"
    )
    static let deleteSnapshot = StoreQuery("DELETE FROM snapshot WHERE id = ?")
    static let allSnapshots = StoreQuery("SELECT \(snapshotColumns) FROM snapshot ORDER BY created_at, id")
    static let snapshotsOfObject = StoreQuery(
        "SELECT \(snapshotColumns) FROM snapshot WHERE object_id = ? ORDER BY created_at, id"
    )
    static let snapshotsInRange = StoreQuery(
        "SELECT \(snapshotColumns) FROM snapshot WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
    )
    static let snapshotContent = StoreQuery("SELECT content FROM snapshot WHERE id = ?")
}
