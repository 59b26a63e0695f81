/// Branches, what is written on them, and what is said of rights.
extension StoreQuery {
    static let allBranches = StoreQuery("SELECT segment, sequence, statement FROM branch ORDER BY branch")
    static let insertBranch = StoreQuery("INSERT INTO branch (segment, sequence, statement) VALUES (?, ?, ?)")
    static let allRights = StoreQuery("SELECT segment, sequence, idx FROM rights ORDER BY rights")
    static let insertRights = StoreQuery("INSERT INTO rights (segment, sequence, idx) VALUES (?, ?, ?)")
    static let insertUnmerged = StoreQuery(
        """
        INSERT OR REPLACE INTO unmerged (object, name, segment, sequence, idx, kind, parent)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """
    )
    static let insertTaken = StoreQuery(
        "INSERT OR IGNORE INTO taken_in (segment, sequence, by_segment, by_sequence) VALUES (?, ?, ?, ?)"
    )
    static let deleteUnmerged = StoreQuery("DELETE FROM unmerged WHERE segment = ? AND sequence = ? AND object = ?")
    private static let unmerged = "SELECT name, segment, sequence, idx, kind, parent FROM unmerged WHERE object = ?"
    static let unmergedAtKey = StoreQuery("\(unmerged) AND name = ? ORDER BY segment, sequence, idx")
    static let lastUnmerged = StoreQuery(
        "\(unmerged) AND name = ? AND segment = ? AND sequence <= ? ORDER BY sequence DESC, idx DESC LIMIT 1"
    )
    static let unmergedOfObject = StoreQuery("\(unmerged) ORDER BY name, segment, sequence, idx")
    static let unmergedBelow = StoreQuery("SELECT DISTINCT object FROM unmerged WHERE kind = 4 AND parent IS ?")
}
