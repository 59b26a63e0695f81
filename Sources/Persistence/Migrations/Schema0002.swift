/// The second schema: writes that local callers named.
extension SchemaMigration {
    static let second = SchemaMigration(
        version: 2,
        sql: """
            -- The newest writes that programs of this machine named, so that one that is sent again is answered again
            -- and not done twice. "content" is a hash of what was wanted, "created" the ids of the objects that it
            -- created, one after the other. No other machine hears of them.
            CREATE TABLE remembered_write (
                remembered_write INTEGER PRIMARY KEY,
                name TEXT NOT NULL UNIQUE,
                content BLOB NOT NULL,
                created BLOB NOT NULL
            );
            """
    )
}
