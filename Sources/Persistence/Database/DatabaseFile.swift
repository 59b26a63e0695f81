import CRDTCore
import GRDB
import GRDBSQLite
import Glibc

/// The open database of a directory: GRDB's connection, with the statements of the hot path on it.
final class DatabaseFile {
    /// Nil for a database in a virtual file system, which has no directory to lock.
    let directory: DataDirectory?
    /// Whether the last process that had the database did not end in order.
    let endedUncleanly: Bool
    let path: String
    let queue: DatabaseQueue
    let statements: StatementCache
    /// The hash before every replica's first change, as the database notes it.
    let origin: Hash256
    private(set) var isOpen = true

    private static let originFact = "origin"

    /// Opens the database, or makes one if an origin is given.
    init(
        directory path: String,
        fileName: String,
        origin: Hash256?,
        configuration: StoreConfiguration,
        migrations: [SchemaMigration]
    ) throws(StoreError) {
        let upgrade = SchemaUpgrade(migrations: migrations)
        let exists = try upgrade.examine(path: path + "/" + fileName)
        guard exists || origin != nil else {
            throw .unavailable("There is no workspace in \(path). Make one with “init”, or join one.")
        }
        let directory = try DataDirectory(path: path, waitsForDisk: configuration.waitsForDisk)
        self.directory = directory
        self.endedUncleanly = directory.endedUncleanly
        self.path = try directory.prepareFile(fileName)
        let (queue, statements, stored) = try DatabaseFile.open(
            self.path,
            mustCheck: exists && directory.endedUncleanly,
            configuration,
            upgrade: upgrade,
            origin: origin
        )
        self.queue = queue
        self.statements = statements
        self.origin = stored
        guard origin == nil || origin == stored else {
            try? self.close()
            throw .unavailable("The database \(self.path) belongs to another workspace.")
        }
        try directory.markInUse()
    }

    /// Opens the database of a virtual file system, or makes it if there is none.
    init(
        virtual: VirtualDatabase,
        origin: Hash256,
        configuration: StoreConfiguration,
        migrations: [SchemaMigration]
    ) throws(StoreError) {
        self.directory = nil
        self.endedUncleanly = virtual.endedUncleanly
        self.path = virtual.uri
        let (queue, statements, stored) = try DatabaseFile.open(
            virtual.uri,
            mustCheck: virtual.endedUncleanly,
            configuration,
            upgrade: SchemaUpgrade(migrations: migrations),
            origin: origin
        )
        self.queue = queue
        self.statements = statements
        self.origin = stored
        guard origin == stored else {
            try? self.close()
            throw .unavailable("The database \(self.path) belongs to another workspace.")
        }
    }

    deinit { try? self.close() }

    /// Closes the connection, and notes that this was in order.
    func close() throws(StoreError) {
        guard self.isOpen else { return }
        self.isOpen = false
        self.statements.finalizeAll()
        try StoreError.translating { try self.queue.close() }
        self.directory?.release()
    }

    /// Writes the database anew without its free pages, if they are many, or in any case.
    ///
    /// `isLogEmpty`: whether nothing of what was there before is left in the write-ahead log.
    func shrink(always: Bool) throws(StoreError) -> (before: Int, after: Int, isLogEmpty: Bool) {
        try StoreError.translating {
            try self.queue.writeWithoutTransaction { database in
                func number(_ pragma: String) throws -> Int {
                    try Int.fetchOne(database, sql: "PRAGMA \(pragma)") ?? 0
                }
                let pageByteCount = try number("page_size")
                let (before, free) = (try number("page_count"), try number("freelist_count"))
                if always || free > 0 && free * 4 >= before {
                    // SQLite makes a copy first. In memory, it would take as much as the database.
                    try database.execute(sql: "PRAGMA temp_store = FILE")
                    defer { try? database.execute(sql: "PRAGMA temp_store = MEMORY") }
                    try database.execute(sql: "VACUUM")
                }
                // Where somebody reads an older state, the file gets smaller only at a later time.
                let isBusy = try Bool.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)") ?? true
                let after = try DataDirectory.byteCount(of: self.path).map { Int($0) }
                return (before * pageByteCount, after ?? before * pageByteCount, !isBusy)
            }
        }
    }

    /// Writes what the write-ahead log holds into the database, and cuts the log off.
    ///
    /// Does not wait for readers: returns false if somebody reads an older state.
    func emptyLog() throws(StoreError) -> Bool {
        try StoreError.translating {
            try self.queue.writeWithoutTransaction { database in
                let patience = try Int.fetchOne(database, sql: "PRAGMA busy_timeout") ?? 0
                try database.execute(sql: "PRAGMA busy_timeout = 0")
                defer { try? database.execute(sql: "PRAGMA busy_timeout = \(patience)") }
                let isBusy = try Bool.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)") ?? true
                return !isBusy
            }
        }
    }

    private static func open(
        _ path: String,
        mustCheck: Bool,
        _ configuration: StoreConfiguration,
        upgrade: SchemaUpgrade,
        origin: Hash256?
    ) throws(StoreError) -> (DatabaseQueue, StatementCache, Hash256) {
        try StoreError.translating {
            let queue = try DatabaseQueue(path: path, configuration: self.connectionConfiguration(configuration))
            return try queue.writeWithoutTransaction { database in
                if mustCheck {
                    try self.checkIntegrity(database, path: path)
                    try self.syncLog(database)
                }
                try upgrade.apply(to: database, path: path) { database in
                    guard let origin else { throw StoreError.unavailable("There is no workspace in \(path).") }
                    let bytes = origin.bytes.array.map { $0 }
                    try database.execute(
                        sql: "INSERT INTO fact (name, value) VALUES (?, x'\(Hexadecimal.text(bytes))')",
                        arguments: [self.originFact]
                    )
                }
                let hex = try String.fetchOne(
                    database,
                    sql: "SELECT hex(value) FROM fact WHERE name = ?",
                    arguments: [self.originFact]
                )
                guard let bytes = hex.flatMap({ Hexadecimal.bytes($0) }), let stored = Bytes32(bytes),
                    let connection = database.sqliteConnection
                else { throw StoreError.damaged("\(path) does not say which workspace it holds.") }
                return (queue, StatementCache(connection: connection), Hash256(bytes: stored))
            }
        }
    }

    /// Opens a database for one that only reads, beside whoever has the directory.
    static func openForReading(
        _ path: String,
        _ configuration: StoreConfiguration
    ) throws(StoreError) -> (queue: DatabaseQueue, statements: StatementCache) {
        guard try DataDirectory.byteCount(of: path) != nil else {
            throw .unavailable("There is no database \(path).")
        }
        let name = try self.readingName(of: path)
        return try StoreError.translating {
            let queue = try DatabaseQueue(path: name, configuration: self.readerConfiguration(configuration))
            return try queue.unsafeRead { database in
                guard let connection = database.sqliteConnection else {
                    throw StoreError.unavailable("The database \(path) cannot be opened.")
                }
                let version = try Int32.fetchOne(database, sql: "PRAGMA user_version") ?? 0
                guard version <= SchemaMigration.all.last?.version ?? 0 else {
                    throw StoreError.newerSchema("\(path) has schema \(version).")
                }
                return (queue, StatementCache(connection: connection))
            }
        }
    }

    /// The name under which SQLite opens a database for one that only reads.
    ///
    /// Where no file can be made, SQLite has no place for the index of its log. A database without a log needs none.
    private static func readingName(of path: String) throws(StoreError) -> String {
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        guard access(directory, W_OK) != 0, access(path + "-shm", F_OK) != 0 else { return path }
        if let logByteCount = try DataDirectory.byteCount(of: path + "-wal"), logByteCount > 0 {
            throw .unavailable(
                "\(path)-wal holds changes that can only be read where files can be written; copy the directory there."
            )
        }
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-".utf8)
        let escaped = path.utf8.map { plain.contains($0) ? String(UnicodeScalar($0)) : "%" + Hexadecimal.text([$0]) }
        return "file:\(escaped.joined())?immutable=1"
    }

    private static func readerConfiguration(_ configuration: StoreConfiguration) -> Configuration {
        var connection = Configuration()
        connection.foreignKeysEnabled = false
        connection.busyMode = .timeout(Double(configuration.busyMilliseconds) / 1000)
        connection.label = "peerd.reader"
        connection.allowsUnsafeTransactions = true
        connection.prepareDatabase { database in
            // Not opened read-only: where nobody writes, the first who reads makes the index of the log.
            let settings = """
                PRAGMA query_only = ON;
                PRAGMA cache_size = \(-configuration.readerCacheByteCount / 1024);
                PRAGMA temp_store = MEMORY;
                PRAGMA mmap_size = 0;
                PRAGMA trusted_schema = OFF;
                """
            let code = sqlite3_exec(database.sqliteConnection, settings, nil, nil, nil)
            guard code == SQLITE_OK else {
                throw StoreError(resultCode: code, connection: database.sqliteConnection)
            }
        }
        return connection
    }

    private static func connectionConfiguration(_ configuration: StoreConfiguration) -> Configuration {
        var connection = Configuration()
        connection.foreignKeysEnabled = false
        connection.busyMode = .timeout(Double(configuration.busyMilliseconds) / 1000)
        connection.label = "peerd.store"
        // A rollback that fails is reported, and must not end the process.
        connection.allowsUnsafeTransactions = true
        connection.prepareDatabase { database in
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
            #if PLANTED_BUGS
            if PlantedBug.commitNotAwaited.isPlanted { settings += "PRAGMA synchronous = NORMAL;" }
            if PlantedBug.journalInMemory.isPlanted { settings += "PRAGMA journal_mode = MEMORY;" }
            #endif
            if let pageCountMax = configuration.pageCountMax {
                settings += "PRAGMA max_page_count = \(pageCountMax);"
            }
            let code = sqlite3_exec(database.sqliteConnection, settings, nil, nil, nil)
            guard code == SQLITE_OK else {
                throw StoreError(resultCode: code, connection: database.sqliteConnection)
            }
            #if PLANTED_BUGS
            if PlantedBug.journalInMemory.isPlanted { return }
            #endif
            // Where the file system has no shared memory, SQLite stays in another mode without an error.
            guard try String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal" else {
                throw StoreError.unavailable("its file system cannot hold a write-ahead log")
            }
        }
        return connection
    }

    /// Puts on the disk what the write-ahead log holds.
    ///
    /// A process that ends between writing a commit and waiting for the disk leaves a commit that is found again, and
    /// is durable only from here on: it must not be told to anyone before. A checkpoint waits for the log first, and
    /// so does its duty also where there is no room for the rest of it.
    private static func syncLog(_ database: Database) throws {
        do {
            try database.execute(sql: "PRAGMA wal_checkpoint(FULL)")
        } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {}
    }

    private static func checkIntegrity(_ database: Database, path: String) throws {
        let findings = try String.fetchAll(database, sql: "PRAGMA integrity_check(3)")
        guard findings == ["ok"] else {
            throw StoreError.damaged("\(path) is damaged: \(findings.joined(separator: "; ")).")
        }
    }
}
