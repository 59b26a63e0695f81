/// Erasures.
extension StoreQuery {
    static let insertErasure = StoreQuery(
        // A later one on the same segment covers more.
        """
        INSERT INTO erasure (register, segment, sequence) VALUES (?, ?, ?)
        ON CONFLICT (register, segment) DO UPDATE SET sequence = max(sequence, ?3)
        """
    )
    static let deleteErasure = StoreQuery("DELETE FROM erasure WHERE register = ? AND segment = ? AND sequence = ?")
    static let erasuresFrom = StoreQuery(
        """
        SELECT register, segment, sequence FROM erasure
        WHERE register = (SELECT min(register) FROM erasure WHERE register > ?) ORDER BY segment
        """
    )
    static let erasuresOf = StoreQuery("SELECT 1 FROM erasure WHERE register = ? LIMIT 1")
}
