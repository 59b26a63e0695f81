/// What changes take back.
extension StoreQuery {
    static let insertUndo = StoreQuery(
        "INSERT OR IGNORE INTO undo VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    static let undoAt = StoreQuery("SELECT * FROM undo WHERE segment = ? AND sequence = ?")
    static let lastUndo = StoreQuery(
        "SELECT * FROM undo WHERE segment = ? AND sequence <= ? ORDER BY sequence DESC LIMIT 1"
    )
    static let lastUndoInScope = StoreQuery(
        """
        SELECT * FROM undo WHERE segment = ? AND device IS ? AND label IS ? AND sequence <= ?
        ORDER BY sequence DESC LIMIT 1
        """
    )
    static let segmentWithUndo = StoreQuery(
        """
        SELECT segment FROM undo WHERE change_segment = ? AND change_sequence = ? AND segment > ?
        ORDER BY segment LIMIT 1
        """
    )
    static let lastUndoOfChange = StoreQuery(
        """
        SELECT * FROM undo WHERE change_segment = ? AND change_sequence = ? AND segment = ? AND sequence <= ?
        ORDER BY sequence DESC LIMIT 1
        """
    )
}
