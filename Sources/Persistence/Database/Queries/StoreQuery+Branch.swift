/// Branches, and what is written on them.
extension StoreQuery {
    static let allBranches = StoreQuery("SELECT line, sequence, statement FROM branch ORDER BY branch")
    static let insertBranch = StoreQuery("INSERT INTO branch (line, sequence, statement) VALUES (?, ?, ?)")
    static let insertUnmerged = StoreQuery(
        """
        INSERT OR REPLACE INTO unmerged (object, name, line, sequence, idx, kind, parent)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """
    )
    static let insertTaken = StoreQuery(
        "INSERT OR IGNORE INTO taken_in (line, sequence, by_line, by_sequence) VALUES (?, ?, ?, ?)"
    )
    static let clearTaken = StoreQuery("DELETE FROM taken_in")
    static let deleteUnmerged = StoreQuery("DELETE FROM unmerged WHERE line = ? AND sequence = ? AND object = ?")
    static let unmergedAtKey = StoreQuery(
        """
        SELECT name, line, sequence, idx, kind, parent FROM unmerged WHERE object = ? AND name = ?
        ORDER BY line, sequence, idx
        """
    )
    static let lastUnmerged = StoreQuery(
        """
        SELECT name, line, sequence, idx, kind, parent FROM unmerged
        WHERE object = ? AND name = ? AND line = ? AND sequence <= ? ORDER BY sequence DESC, idx DESC LIMIT 1
        """
    )
    static let unmergedOfObject = StoreQuery(
        """
        SELECT name, line, sequence, idx, kind, parent FROM unmerged WHERE object = ?
        ORDER BY name, line, sequence, idx
        """
    )
    static let unmergedBelow = StoreQuery("SELECT DISTINCT object FROM unmerged WHERE kind = 4 AND parent = ?")
    static let unmergedToRoot = StoreQuery("SELECT DISTINCT object FROM unmerged WHERE kind = 4 AND parent IS NULL")
}
