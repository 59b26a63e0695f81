/// The fifth schema: erasures that are not done yet.
extension SchemaMigration {
    static let fifth = SchemaMigration(
        version: 5,
        sql: """
            -- Erasures that count and are not done yet: of each property, the last on each line. What the change had
            -- seen of the property is to be dropped.
            CREATE TABLE erasure (
                register INTEGER NOT NULL,
                line INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                PRIMARY KEY (register, line)
            ) WITHOUT ROWID;
            """
    )
}
