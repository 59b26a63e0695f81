import CRDTCore
import Glibc

/// The open database of a directory: a connection, with the statements of the hot path on it.
final class DatabaseFile {
    /// Nil for a database in a virtual file system, which has no directory to lock.
    private let directory: DataDirectory?
    /// Where it was opened; nil for a database in a virtual file system, and for one that nobody needs later.
    let place: DatabasePlace?
    /// Whether the last process that had the database did not end in order.
    let endedUncleanly: Bool
    let path: String
    private let connection: DatabaseConnection
    let statements: StatementCache
    /// The hash before every replica's first change, as the database notes it.
    let origin: Hash256
    private(set) var isOpen = true

    private static let originFact = "origin"

    /// Opens the database, or makes one if an origin is given.
    ///
    /// `whenDamaged`: see ``SQLiteStore``.
    init(
        directory path: String,
        fileName: String,
        origin: Hash256?,
        configuration: StoreConfiguration,
        whenDamaged: (LogDamage) throws(StoreError) -> Void
    ) throws(StoreError) {
        try DataDirectory.requireRegularDatabase(path + "/" + fileName)
        let exists = try Schema.examine(path: path + "/" + fileName)
        guard exists || origin != nil else {
            throw .unavailable("There is no workspace in \(path). Make one with “init”, or join one.")
        }
        let directory = try DataDirectory(path: path, waitsForDisk: configuration.waitsForDisk)
        self.directory = directory
        self.endedUncleanly = directory.endedUncleanly
        if configuration.waitsForDisk, let damage = try LogDamage.find(in: path + "/" + fileName) {
            try whenDamaged(damage)
            // What SQLite would take from the log is older than what the database has.
            if damage.isInDatabase { try directory.empty(fileName + "-wal") }
        }
        self.path = try directory.prepareFile(fileName)
        let (connection, stored) = try DatabaseFile.open(
            self.path,
            mustCheck: exists && directory.endedUncleanly,
            configuration,
            origin: origin
        )
        self.connection = connection
        self.statements = StatementCache(connection: connection)
        self.origin = stored
        // What nobody needs later may have lost its names already.
        self.place = configuration.waitsForDisk ? DatabasePlace(directory: path, database: self.path) : nil
        guard origin == nil || origin == stored else {
            self.close()
            throw .unavailable("The database \(self.path) belongs to another workspace.")
        }
        try directory.markInUse()
    }

    /// Opens the database of a virtual file system, or makes it if there is none.
    init(
        virtual: VirtualDatabase,
        origin: Hash256,
        configuration: StoreConfiguration
    ) throws(StoreError) {
        (self.directory, self.place) = (nil, nil)
        self.endedUncleanly = virtual.endedUncleanly
        self.path = virtual.uri
        let (connection, stored) = try DatabaseFile.open(
            virtual.uri,
            mustCheck: virtual.endedUncleanly,
            configuration,
            origin: origin
        )
        self.connection = connection
        self.statements = StatementCache(connection: connection)
        self.origin = stored
        guard origin == stored else {
            self.close()
            throw .unavailable("The database \(self.path) belongs to another workspace.")
        }
    }

    deinit { self.close() }

    /// Closes the connection, and notes that this was in order.
    func close() {
        guard self.isOpen else { return }
        self.isOpen = false
        self.statements.finalizeAll()
        // SQLite would delete what has the name of the log, and of its index, by now.
        if self.place?.isKept == false { self.connection.keepLog() }
        self.connection.close()
        self.directory?.release()
    }

    /// Writes the database anew without its free pages, if they are many, or in any case.
    ///
    /// `mayLeaveBytes`: whether bytes of what was deleted may be left in the file. Then pages are moved in its place
    /// where there is no room for that, so many at a time as there is room for. `isLogEmpty`: whether nothing of what
    /// was there before is left in the write-ahead log.
    func shrink(
        always: Bool,
        mayLeaveBytes: Bool
    ) throws(StoreError) -> (before: Int, after: Int, isLogEmpty: Bool) {
        let pageByteCount = try self.connection.integer("PRAGMA page_size") ?? 0
        let pageCount = try self.connection.integer("PRAGMA page_count") ?? 0
        let before = Int(pageCount * pageByteCount)
        let free = try self.connection.integer("PRAGMA freelist_count") ?? 0
        if always || free > 0 && free * 4 >= pageCount {
            // A copy in the folder for temporary files, and another in the log.
            let needed = (pageCount - free) * pageByteCount * 2
            let room = mayLeaveBytes ? self.freeByteCount ?? .max : .max
            do throws(StoreError) {
                guard room >= needed else { throw .diskFull }
                try self.writeAnew()
            } catch .diskFull where mayLeaveBytes {
                try self.moveFreePages(pageByteCount: pageByteCount, insteadOf: needed)
            }
        }
        // Where somebody reads an older state, the file gets smaller only at a later time.
        let isLogEmpty = try self.truncateLog()
        let after = try DataDirectory.byteCount(of: self.path).map { Int($0) }
        return (before, after ?? before, isLogEmpty)
    }

    private func writeAnew() throws(StoreError) {
        // SQLite makes a copy first. In memory, it would take as much as the database.
        do throws(StoreError) {
            try self.connection.execute("PRAGMA temp_store = FILE; \(Self.notesPages)")
            defer { try? self.connection.execute("PRAGMA temp_store = MEMORY") }
            try self.connection.execute("VACUUM")
        } catch {
            // What was in vain takes room in the log.
            _ = try self.emptyLog()
            throw error
        }
    }

    /// A database that is new, or written anew, notes which page leads to which, so that pages can be moved in place.
    private static let notesPages = "PRAGMA auto_vacuum = INCREMENTAL"

    /// Moves pages from the end of the file into free ones, and cuts the end off.
    ///
    /// `needed`: the bytes that to write the file anew takes.
    private func moveFreePages(pageByteCount: Int64, insteadOf needed: Int64) throws(StoreError) {
        guard try self.connection.integer("PRAGMA auto_vacuum") != 0 else {
            throw .unavailable(
                """
                An earlier version made it, so that it has to be written anew once, for which \
                \(needed / 1_000_000 + 1) MB must be free there.
                """
            )
        }
        var free = Int64.max
        while case let left = try self.connection.integer("PRAGMA freelist_count") ?? 0, left > 0, left < free {
            free = left
            // While somebody reads an older state, the log cannot be emptied, and would take what it gives.
            guard try self.truncateLog() else { return }
            // Beside each page that is moved, the log gets those that lead to it.
            let room = (self.freeByteCount ?? 0) / (pageByteCount * 8)
            try self.connection.execute("PRAGMA incremental_vacuum(\(max(Self.movedPagesMin, room)))")
        }
    }

    private static let movedPagesMin: Int64 = 32

    /// The bytes that are free where the database is; nil if the system does not tell.
    private var freeByteCount: Int64? {
        var status = statvfs()
        guard self.directory != nil, statvfs(self.path, &status) == 0 else { return nil }
        return Int64(clamping: UInt64(status.f_bavail) &* UInt64(status.f_frsize))
    }

    /// Writes what the write-ahead log holds into the database, and cuts the log off.
    ///
    /// Does not wait for readers: returns false if somebody reads an older state.
    func emptyLog() throws(StoreError) -> Bool {
        let patience = try self.connection.integer("PRAGMA busy_timeout") ?? 0
        try self.connection.execute("PRAGMA busy_timeout = 0")
        defer { try? self.connection.execute("PRAGMA busy_timeout = \(patience)") }
        return try self.truncateLog()
    }

    private func truncateLog() throws(StoreError) -> Bool {
        try self.connection.integer("PRAGMA wal_checkpoint(TRUNCATE)") == 0
    }

    private static func open(
        _ path: String,
        mustCheck: Bool,
        _ configuration: StoreConfiguration,
        origin: Hash256?
    ) throws(StoreError) -> (DatabaseConnection, Hash256) {
        let connection = try self.connection(path, configuration)
        if mustCheck {
            try self.checkIntegrity(connection, path: path)
            try self.syncLog(connection)
        }
        try Schema.make(in: connection, path: path) { () throws(StoreError) in
            guard let origin else { throw .unavailable("There is no workspace in \(path).") }
            let hex = Hexadecimal.text(origin.bytes.array.map { $0 })
            try connection.execute("INSERT INTO fact (name, value) VALUES ('\(self.originFact)', x'\(hex)')")
        }
        let hex = try connection.texts("SELECT hex(value) FROM fact WHERE name = '\(self.originFact)'").first
        guard let bytes = hex.flatMap({ Hexadecimal.bytes($0) }), let stored = Bytes32(bytes) else {
            throw .damaged("\(path) does not say which workspace it holds.")
        }
        return (connection, Hash256(bytes: stored))
    }

    /// Opens a database for one that only reads, beside whoever has the directory.
    static func openForReading(_ path: String, _ configuration: StoreConfiguration) throws(StoreError)
        -> DatabaseConnection
    {
        try DataDirectory.requireRegularDatabase(path)
        guard try DataDirectory.byteCount(of: path) != nil else {
            throw .unavailable("There is no database \(path).")
        }
        do throws(StoreError) {
            return try self.openForReading(path, name: try self.readingName(of: path), configuration)
        } catch .diskFull {
            // The index of the log takes room.
            return try self.openForReading(path, name: try self.nameWithoutLog(of: path), configuration)
        }
    }

    private static func openForReading(
        _ path: String,
        name: String,
        _ configuration: StoreConfiguration
    ) throws(StoreError) -> DatabaseConnection {
        let connection = try DatabaseConnection(name, busyMilliseconds: configuration.busyMilliseconds)
        // Not opened read-only: where nobody writes, the first who reads makes the index of the log.
        try connection.execute(
            """
            PRAGMA query_only = ON;
            PRAGMA cache_size = \(-configuration.readerCacheByteCount / 1024);
            PRAGMA temp_store = MEMORY;
            PRAGMA mmap_size = 0;
            PRAGMA trusted_schema = OFF;
            """
        )
        let version = Int32(try connection.integer("PRAGMA user_version") ?? 0)
        try Schema.check(version: version, path: path)
        return connection
    }

    /// The name under which SQLite opens a database for one that only reads.
    ///
    /// Where no file can be made, SQLite has no place for the index of its log. A database without a log needs none.
    private static func readingName(of path: String) throws(StoreError) -> String {
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        guard access(directory, W_OK) != 0, access(path + "-shm", F_OK) != 0 else { return path }
        return try self.nameWithoutLog(of: path)
    }

    private static func nameWithoutLog(of path: String) throws(StoreError) -> String {
        if let logByteCount = try DataDirectory.byteCount(of: path + "-wal"), logByteCount > 0 {
            throw .unavailable(
                "\(path)-wal holds changes that can only be read where files can be written; copy the directory there."
            )
        }
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-".utf8)
        let escaped = path.utf8.map { plain.contains($0) ? String(UnicodeScalar($0)) : "%" + Hexadecimal.text([$0]) }
        return "file:\(escaped.joined())?immutable=1"
    }

    private static func connection(
        _ path: String,
        _ configuration: StoreConfiguration
    ) throws(StoreError) -> DatabaseConnection {
        let connection = try DatabaseConnection(path, busyMilliseconds: configuration.busyMilliseconds)
        if try connection.integer("PRAGMA page_count") == 0 {
            try connection.execute(self.notesPages)
        }
        // In the write-ahead log, FULL makes each commit wait for the disk.
        var settings = """
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = FULL;
            PRAGMA cache_size = \(-configuration.cacheByteCount / 1024);
            PRAGMA temp_store = MEMORY;
            PRAGMA mmap_size = 0;
            PRAGMA secure_delete = FAST;
            PRAGMA trusted_schema = OFF;
            PRAGMA wal_autocheckpoint = \(configuration.checkpointPageCount);
            PRAGMA journal_size_limit = \(configuration.logByteCountKept);
            """
        if !configuration.waitsForDisk { settings += "PRAGMA synchronous = OFF;" }
        if let pageCountMax = configuration.pageCountMax {
            settings += "PRAGMA max_page_count = \(pageCountMax);"
        }
        try connection.execute(settings)
        // Where the file system has no shared memory, SQLite stays in another mode without an error.
        guard try connection.texts("PRAGMA journal_mode") == ["wal"] else {
            throw .unavailable("its file system cannot hold a write-ahead log")
        }
        return connection
    }

    /// Puts on the disk what the write-ahead log holds.
    ///
    /// A process that ends between writing a commit and waiting for the disk leaves a commit that is found again, and
    /// is durable only from here on: it must not be told to anyone before. A checkpoint waits for the log first, and
    /// so does its duty also where there is no room for the rest of it.
    private static func syncLog(_ connection: DatabaseConnection) throws(StoreError) {
        do throws(StoreError) {
            try connection.execute("PRAGMA wal_checkpoint(FULL)")
        } catch .diskFull {}
    }

    private static func checkIntegrity(_ connection: DatabaseConnection, path: String) throws(StoreError) {
        let findings = try connection.texts("PRAGMA integrity_check(3)")
        guard findings == ["ok"] else {
            throw .damaged("\(path) is damaged: \(findings.joined(separator: "; ")).")
        }
    }
}
