/// Transactions, and the database as a whole.
extension StoreQuery {
    static let begin = StoreQuery("BEGIN")
    static let beginImmediate = StoreQuery("BEGIN IMMEDIATE")
    static let commit = StoreQuery("COMMIT")
    static let rollback = StoreQuery("ROLLBACK")
    static let nextObject = StoreQuery("SELECT max(object) + 1 FROM object")
    static let nextName = StoreQuery("SELECT max(name) + 1 FROM name")
    static let nextOperation = StoreQuery("SELECT max(operation) + 1 FROM operation")
    static let integrityCheck = StoreQuery("PRAGMA integrity_check(3)")
    static let dataVersion = StoreQuery("PRAGMA data_version")
    static let schema = StoreQuery(
        "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'"
    )
}
