/// To which actions changes belong.
extension StoreQuery {
    static let insertAction = StoreQuery("INSERT OR IGNORE INTO action VALUES (?, ?, ?, ?, ?, ?)")
    static let lastAction = StoreQuery(
        "SELECT * FROM action WHERE segment = ? AND sequence <= ? ORDER BY sequence DESC LIMIT 1"
    )
    static let lastActionOfLabel = StoreQuery(
        "SELECT * FROM action WHERE segment = ? AND label = ? AND sequence <= ? ORDER BY sequence DESC LIMIT 1"
    )
    static let firstAction = StoreQuery(
        "SELECT * FROM action WHERE segment = ? AND sequence > ? ORDER BY sequence LIMIT 1"
    )
    static let firstActionOfStart = StoreQuery(
        "SELECT * FROM action WHERE segment = ? AND start = ? ORDER BY sequence LIMIT 1"
    )
    static let lastPiece = StoreQuery(
        """
        SELECT * FROM action WHERE segment = ? AND first_sequence = ? AND sequence > first_sequence AND sequence < ?
        ORDER BY sequence DESC LIMIT 1
        """
    )
}
