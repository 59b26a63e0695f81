/// Changes that lose content or get it back.
extension StoreQuery {
    static let replaceChange = StoreQuery(
        """
        UPDATE change SET redaction = ?3, blinding = ?4, byte_count = ?5, redacted = ?6
        WHERE segment = ?1 AND sequence = ?2
        """
    )
    static let repairChange = StoreQuery(
        """
        UPDATE change SET operation = ?3, redaction = ?4, blinding = ?5, byte_count = ?6, redacted = NULL
        WHERE segment = ?1 AND sequence = ?2
        """
    )
    static let deleteOperations = StoreQuery("DELETE FROM operation WHERE operation BETWEEN ? AND ?")
    static let replaceOperation = StoreQuery(
        "UPDATE operation SET kind = 255, value = ?2 WHERE operation = ?1"
    )
    private static let redacted = "SELECT segment, count, first_sequence, last_sequence, last_stamp FROM redacted"
    static let redactedWrites = StoreQuery("\(redacted) WHERE register = ? ORDER BY segment")
    static let redactedWritesOnSegment = StoreQuery("\(redacted) WHERE register = ? AND segment = ?")
    static let setRedacted = StoreQuery(
        """
        INSERT OR REPLACE INTO redacted (register, segment, count, first_sequence, last_sequence, last_stamp)
        VALUES (?, ?, ?, ?, ?, ?)
        """
    )
    static let deleteRedacted = StoreQuery("DELETE FROM redacted WHERE register = ? AND segment = ?")
    static let redactedFrom = StoreQuery(
        "SELECT DISTINCT register FROM redacted WHERE register > ? ORDER BY register LIMIT ?"
    )
    static let hasRedacted = StoreQuery("SELECT EXISTS (SELECT 1 FROM redacted)")
    static let missingCount = StoreQuery("SELECT count FROM missing WHERE segment = ? AND sequence = ?")
    static let setMissing = StoreQuery("INSERT OR REPLACE INTO missing (segment, sequence, count) VALUES (?, ?, ?)")
    static let deleteMissing = StoreQuery("DELETE FROM missing WHERE segment = ? AND sequence = ?")
    static let missingFrom = StoreQuery(
        "SELECT segment, sequence FROM missing WHERE (segment, sequence) > (?, ?) ORDER BY segment, sequence LIMIT ?"
    )
}
