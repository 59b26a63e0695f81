package import CRDTCore

/// What is in a database of this program: its tables and views, under a version and a mark.
///
/// There is one version. Until the first release a database of another one is refused, and left as it is.
enum Schema {
    /// The `user_version` of a database.
    static let version: Int32 = 25
    /// Marks a file as a database of this program: "peer" in ASCII.
    static let applicationID: Int32 = 0x7065_6572

    private static let magic = Array("SQLite format 3\0".utf8)
    private static let versionOffset = 60
    private static let applicationOffset = 68
    private static let headerByteCount = 100

    /// Looks at a file before SQLite opens it, so that what is refused stays untouched to the byte.
    ///
    /// `hasLog`: whether a write-ahead log may be part of it.
    ///
    /// Returns whether there is a database at all.
    static func examine(path: String, hasLog: Bool = true) throws(StoreError) -> Bool {
        guard try DataDirectory.byteCount(of: path) != nil else { return false }
        let header = try DatabaseBytes(path).read(self.headerByteCount, at: 0)
        guard !header.isEmpty else { return false }
        guard header.count == self.headerByteCount, header.starts(with: self.magic) else {
            throw .damaged("\(path) is not a database, or its beginning is damaged.")
        }
        let version = self.number(header, self.versionOffset)
        let application = self.number(header, self.applicationOffset)
        // Zero: a database whose first transaction is still in the write-ahead log.
        if version != 0 { try self.check(version: version, path: path) }
        guard application == self.applicationID || application == 0 && hasLog else {
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

    /// Refuses every version but the one that this program writes.
    static func check(version: Int32, path: String) throws(StoreError) {
        guard version >= 0 else { throw .damaged("\(path) is damaged: its schema has the number \(version).") }
        guard version > 0 else { throw .unavailable("\(path) has nothing in it yet.") }
        guard version <= self.version else {
            throw .newerSchema(
                "\(path) was written by a newer program (schema \(version), known is \(self.version)). "
                    + "Use that program; the file was not touched."
            )
        }
        guard version == self.version else {
            throw .earlierSchema("\(path) has schema \(version), known is \(self.version); the file was not touched.")
        }
    }

    /// Makes what is in a database, if it is new, in one transaction; `complete` runs within it.
    static func make(
        in database: DatabaseConnection,
        path: String,
        complete: () throws(StoreError) -> Void
    ) throws(StoreError) {
        let version = Int32(try database.integer("PRAGMA user_version") ?? 0)
        guard version == 0 else { return try self.check(version: version, path: path) }
        try database.transaction { () throws(StoreError) in
            try database.execute(self.tables)
            try database.execute(self.views)
            try database.execute("PRAGMA application_id = \(self.applicationID)")
            try database.execute("PRAGMA user_version = \(self.version)")
            try complete()
        }
    }
}

extension SQLiteStore {
    /// Whether a file is a database that this program did not make: another program's, or one without any table.
    ///
    /// A database whose first transaction is still in the write-ahead log cannot be told from those, and passes.
    package static func isOfAnother(file path: String) throws(StoreError) -> Bool {
        if let logByteCount = try DataDirectory.byteCount(of: path + "-wal"), logByteCount > 0 { return false }
        return try Schema.application(of: path).map { $0 != Schema.applicationID } ?? false
    }

    /// Looks at the beginning of a database that may have a log, and throws if this program cannot open it.
    package static func examine(source path: String) throws(StoreError) { _ = try Schema.examine(path: path) }

    /// Looks at a file that nobody has open, and throws unless it is a database that this program can open.
    package static func examine(file path: String) throws(StoreError) {
        guard try Schema.examine(path: path, hasLog: false) else { throw .damaged("\(path) is empty.") }
    }
}
