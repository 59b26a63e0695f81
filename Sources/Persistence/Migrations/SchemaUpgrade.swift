package import CRDTCore
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
    /// `hasLog`: whether a write-ahead log may be part of it.
    ///
    /// Returns whether there is a database at all.
    func examine(path: String, hasLog: Bool = true) throws(StoreError) -> Bool {
        guard try DataDirectory.byteCount(of: path) != nil else { return false }
        let header = try DatabaseBytes(path).read(SchemaUpgrade.headerByteCount, at: 0)
        guard !header.isEmpty else { return false }
        guard header.count == SchemaUpgrade.headerByteCount, header.starts(with: SchemaUpgrade.magic) else {
            throw .damaged("\(path) is not a database, or its beginning is damaged.")
        }
        try self.check(version: SchemaUpgrade.number(header, SchemaUpgrade.versionOffset), path: path)
        let application = SchemaUpgrade.number(header, SchemaUpgrade.applicationOffset)
        // Zero: a database whose first transaction is still in the write-ahead log.
        guard application == SchemaUpgrade.applicationID || application == 0 && hasLog else {
            throw .unavailable("\(path) is a database of another program.")
        }
        return true
    }

    /// Whose database a file is; nil if it is none.
    fileprivate static func application(of path: String) throws(StoreError) -> Int32? {
        guard try DataDirectory.byteCount(of: path) != nil else { return nil }
        let header = try DatabaseBytes(path).read(self.headerByteCount, at: 0)
        guard header.count == self.headerByteCount, header.starts(with: self.magic) else { return nil }
        return self.number(header, self.applicationOffset)
    }

    private static func number(_ header: [UInt8], _ offset: Int) -> Int32 {
        Int32(bitPattern: header[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) })
    }

    private func check(version: Int32, path: String) throws(StoreError) {
        guard version >= 0 else { throw .damaged("\(path) is damaged: its schema has the number \(version).") }
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
    func apply(
        to database: Connection,
        path: String,
        complete: () throws(StoreError) -> Void
    ) throws(StoreError) {
        let version = Int32(try database.integer("PRAGMA user_version") ?? 0)
        try self.check(version: version, path: path)
        let missing = self.migrations.filter { $0.version > version }
        guard !missing.isEmpty else { return }
        if version > 0 {
            try self.backUp(database, to: "\(path).schema-\(version)")
        }
        try database.transaction { () throws(StoreError) in
            for migration in missing { try database.execute(migration.sql) }
            try database.execute("PRAGMA application_id = \(SchemaUpgrade.applicationID)")
            try database.execute("PRAGMA user_version = \(self.newest)")
            if version == 0 { try complete() }
        }
    }

    private func backUp(_ database: Connection, to path: String) throws(StoreError) {
        guard try DataDirectory.byteCount(of: path) == nil else { return }
        let partial = path + ".partial"
        unlink(partial)
        // SQLite fills a file that is empty, and so keeps what we say about who may read it.
        try DataDirectory.preparePrivateFile(partial)
        try database.execute("VACUUM INTO \(Connection.quoted(partial))")
        try DataDirectory.sync(file: partial)
        guard rename(partial, path) == 0 else {
            throw StoreError.inputOutput("The backup \(path) cannot be made: \(SystemError.text(errno)).")
        }
    }
}

extension SQLiteStore {
    /// Whether a file is a database that this program did not make: another program's, or one without any table.
    ///
    /// A database whose first transaction is still in the write-ahead log cannot be told from those, and passes.
    package static func isOfAnother(file path: String) throws(StoreError) -> Bool {
        if let logByteCount = try DataDirectory.byteCount(of: path + "-wal"), logByteCount > 0 { return false }
        return try SchemaUpgrade.application(of: path).map { $0 != SchemaUpgrade.applicationID } ?? false
    }

    /// Looks at a file that nobody has open, and throws unless it is a database that this program can open.
    package static func examine(file path: String) throws(StoreError) {
        guard try SchemaUpgrade(migrations: SchemaMigration.all).examine(path: path, hasLog: false) else {
            throw .damaged("\(path) is empty.")
        }
    }
}
