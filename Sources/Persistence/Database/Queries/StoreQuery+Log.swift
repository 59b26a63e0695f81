/// Changes, operations and signatures.
extension StoreQuery {
    static let insertChange = StoreQuery(
        """
        INSERT INTO change (segment, sequence, stamp, operation, operation_count, byte_count, context,
        redaction, blinding, hash, redacted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    )
    static let changeHeader = StoreQuery("SELECT stamp, hash FROM change WHERE segment = ? AND sequence = ?")
    static let contexts = StoreQuery(
        "SELECT context FROM change WHERE segment = ? AND sequence > ? AND sequence <= ? ORDER BY sequence"
    )
    static let changeOperations = StoreQuery(
        "SELECT operation, operation_count, redacted FROM change WHERE segment = ? AND sequence = ?"
    )
    /// Where the operations of a change are, and whether they have rows.
    ///
    /// That is found without the bytes that stand there else, which may be as many as the operations.
    static let operationNumbers = StoreQuery(
        """
        SELECT operation, operation_count, typeof(redacted) = 'null' FROM change WHERE segment = ? AND sequence = ?
        """
    )
    static let changesFrom = StoreQuery(
        """
        SELECT sequence, stamp, operation, operation_count, byte_count, context, redaction, blinding, redacted
        FROM change WHERE segment = ? AND sequence >= ? ORDER BY sequence
        """
    )
    static let insertOperation = insertOperations(1)
    static let insertOperationGroup = insertOperations(RowWriter.groupCount)
    private static func insertOperations(_ count: Int) -> StoreQuery {
        StoreQuery(
            """
            INSERT INTO operation (operation, kind, object, operand, value)
            VALUES \(places(rows: count, columns: 5))
            """
        )
    }
    static let operationsFrom = StoreQuery(
        """
        SELECT operation, kind, object, operand, value FROM operation
        WHERE operation >= ? ORDER BY operation
        """
    )
    static let insertSignature = StoreQuery(
        """
        INSERT INTO run_signature (segment, sequence, operation_count, byte_count, signature)
        VALUES (?, ?, ?, ?, ?)
        """
    )
    static let deleteSignature = StoreQuery("DELETE FROM run_signature WHERE segment = ? AND sequence = ?")
    static let lastSignatures = StoreQuery(
        """
        SELECT sequence, operation_count, byte_count FROM run_signature WHERE segment = ?
        ORDER BY sequence DESC LIMIT 2
        """
    )
    static let signatureAt = StoreQuery("SELECT signature FROM run_signature WHERE segment = ? AND sequence = ?")
    static let signatureFrom = StoreQuery(
        "SELECT sequence FROM run_signature WHERE segment = ? AND sequence >= ? ORDER BY sequence LIMIT 1"
    )
    static let signatureUpTo = StoreQuery(
        "SELECT sequence FROM run_signature WHERE segment = ? AND sequence <= ? ORDER BY sequence DESC LIMIT 1"
    )
}
