/// Changes that lose content or get it back.
extension StoreQuery {
    static let replaceChange = StoreQuery(
        """
        UPDATE change SET has_left_out = ?3, blinding = ?4, byte_count = ?5, spent = ?6
        WHERE segment = ?1 AND sequence = ?2
        """
    )
    static let refillChange = StoreQuery(
        """
        UPDATE change SET operation = ?3, has_left_out = ?4, blinding = ?5, byte_count = ?6, spent = NULL
        WHERE segment = ?1 AND sequence = ?2
        """
    )
    static let deleteOperations = StoreQuery("DELETE FROM operation WHERE operation BETWEEN ? AND ?")
    static let replaceOperation = StoreQuery(
        """
        UPDATE operation SET kind = 255, grant_reference = NULL, value = ?2 WHERE operation = ?1
        """
    )
    static let spentWrites = StoreQuery("SELECT count, first, last, last_stamp FROM spent WHERE register = ?")
    static let setSpent = StoreQuery(
        "INSERT OR REPLACE INTO spent (register, count, first, last, last_stamp) VALUES (?, ?, ?, ?, ?)"
    )
    static let deleteSpent = StoreQuery("DELETE FROM spent WHERE register = ?")
    static let spentFrom = StoreQuery("SELECT register FROM spent WHERE register > ? ORDER BY register LIMIT ?")
    static let hasSpent = StoreQuery("SELECT EXISTS (SELECT 1 FROM spent)")
}
