// swift-format-ignore-file

/// The same database as the program wrote it when schema 2 was released: with what `.dump` says of the new table.
enum FixtureSchema0002 {
    static let sql = FixtureSchema0001.sql.replacing("user_version = 1;", with: "user_version = 2;") + #"""
        BEGIN TRANSACTION;
        CREATE TABLE remembered_write (
            remembered_write INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            content BLOB NOT NULL,
            created BLOB NOT NULL
        );
        INSERT INTO remembered_write VALUES(1,'none',
        X'0000000000000001000000000000000200000000000000030000000000000004',X'');
        INSERT INTO remembered_write VALUES(2,'two',
        X'0000000000000001000000000000000200000000000000030000000000000004',
        X'1122334455664788000000000000000211223344556647880000000000000004');
        COMMIT;
        """#
}
