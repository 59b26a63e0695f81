import CRDTCore
import GRDB
import Glibc

/// Brings a database to the schema of this program, or refuses one that is newer or something else.
struct SchemaUpgrade {
    let migrations: [SchemaMigration]

    /// Marks a file as a database of this program: "peer" in ASCII.
    static let applicationID: Int32 = 0x7065_6572

    private static let magic = Array("SQLite format 3\0".utf8)
    private static let versionOffset = 60
    private static let applicationOffset = 68
    private static let headerByteCount = 100

    private var newest: Int32 { self.migrations.last?.version ?? 0 }

    /// Looks at a file before SQLite opens it, so that what is refused stays untouched to the byte.
    ///
    /// Returns whether there is a database at all.
    func examine(path: String) throws(StoreError) -> Bool {
        guard let header = try DataDirectory.prefix(of: path, count: SchemaUpgrade.headerByteCount), !header.isEmpty
        else { return false }
        guard header.count == SchemaUpgrade.headerByteCount, header.starts(with: SchemaUpgrade.magic) else {
            throw .damaged("\(path) is not a database, or its beginning is damaged.")
        }
        try self.check(version: SchemaUpgrade.number(header, SchemaUpgrade.versionOffset), path: path)
        let application = SchemaUpgrade.number(header, SchemaUpgrade.applicationOffset)
        // Zero: a database whose first transaction is still in the write-ahead log.
        guard application == SchemaUpgrade.applicationID || application == 0 else {
            throw .unavailable("\(path) is a database of another program.")
        }
        return true
    }

    private static func number(_ header: [UInt8], _ offset: Int) -> Int32 {
        Int32(bitPattern: header[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) })
    }

    private func check(version: Int32, path: String) throws(StoreError) {
        guard version <= self.newest else {
            throw .newerSchema(
                "\(path) was written by a newer program (schema \(version), known up to \(self.newest)). "
                    + "Use that program; the file was not touched."
            )
        }
    }

    /// Applies the steps that are missing, in one transaction.
    ///
    /// An existing database is backed up first. `complete` runs within the transaction that makes a new one.
    func apply(to database: Database, path: String, complete: (Database) throws -> Void) throws {
        let version = try Int32.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        try self.check(version: version, path: path)
        let missing = self.migrations.filter { $0.version > version }
        guard !missing.isEmpty else { return }
        if version > 0 {
            try self.backUp(database, to: "\(path).schema-\(version)")
        }
        try database.inTransaction(.immediate) {
            for migration in missing { try database.execute(sql: migration.sql) }
            try database.execute(sql: "PRAGMA application_id = \(SchemaUpgrade.applicationID)")
            try database.execute(sql: "PRAGMA user_version = \(self.newest)")
            if version == 0 { try complete(database) }
            return .commit
        }
    }

    private func backUp(_ database: Database, to path: String) throws {
        guard try DataDirectory.prefix(of: path, count: 1) == nil else { return }
        let partial = path + ".partial"
        unlink(partial)
        // SQLite fills a file that is empty, and so keeps what we say about who may read it.
        try DataDirectory.preparePrivateFile(partial)
        try database.execute(sql: "VACUUM INTO ?", arguments: [partial])
        try DataDirectory.sync(file: partial)
        guard rename(partial, path) == 0 else {
            throw StoreError.inputOutput("The backup \(path) cannot be made: \(SystemError.text(errno)).")
        }
    }
}
