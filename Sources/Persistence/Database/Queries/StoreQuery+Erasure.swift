/// Erasures.
extension StoreQuery {
    static let insertErasure = StoreQuery(
        // A later one on the same segment covers more.
        """
        INSERT INTO erasure (register, segment, sequence) VALUES (?, ?, ?)
        ON CONFLICT (register, segment) DO UPDATE SET sequence = ?3, due = -1 WHERE sequence < ?3
        """
    )
    static let deleteErasure = StoreQuery("DELETE FROM erasure WHERE register = ? AND segment = ? AND sequence = ?")
    static let erasuresFrom = StoreQuery(
        """
        SELECT register, segment, sequence, due FROM erasure
        WHERE register = (SELECT min(register) FROM erasure WHERE register > ? AND due <= 0) AND due <= 0
        ORDER BY segment
        """
    )
    static let delayErasure = StoreQuery(
        "UPDATE erasure SET due = ?4 WHERE register = ?1 AND segment = ?2 AND sequence = ?3"
    )
    static let delayErasuresOfSegment = StoreQuery("UPDATE erasure SET due = ?2 WHERE segment = ?1 AND due > 0")
    static let releaseDueErasures = StoreQuery("UPDATE erasure SET due = 0 WHERE due > 0 AND due <= ?")
    static let releaseErasuresOfSegment = StoreQuery("UPDATE erasure SET due = 0 WHERE segment = ? AND due > 0")
    static let waitingErasures = StoreQuery(
        "SELECT segment, count(*), min(due) FROM erasure WHERE due > 0 GROUP BY segment ORDER BY segment"
    )
    static let erasuresOf = StoreQuery("SELECT 1 FROM erasure WHERE register = ? LIMIT 1")
}
