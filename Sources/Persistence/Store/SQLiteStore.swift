package import CRDTCore
internal import Engine

/// A store in a SQLite database: one writer, write-ahead log, every commit on the disk before `write` returns.
///
/// Anyone may read the file with a SQLite client meanwhile; its tables and views are described in `Schema`.
package struct SQLiteStore: NodeStore, ~Copyable {
    private let file: DatabaseFile
    private let transaction: SQLiteTransaction

    /// For those who read in this process.
    package var committed: CommittedSegments { self.transaction.committed }

    /// The name of the database in its directory.
    package static let fileName = "peerd.sqlite"
    /// What the names of the files end with that SQLite opens for one database.
    package static let databaseSuffixes = ["", "-wal", "-shm", "-journal"]

    /// Opens the database of a directory, and holds the directory against other processes until the store is closed.
    ///
    /// The origin is the hash before every replica's first change. With it the directory and the database are made if
    /// there are none; without it they must exist.
    ///
    /// `whenDamaged`: called before SQLite sees a write-ahead log that is damaged. What lies behind the damage is lost
    /// for the database when it returns. So it must keep the files, and see to it that no change is numbered again.
    package init(
        directory: String,
        origin: Hash256?,
        configuration: StoreConfiguration = StoreConfiguration(),
        whenDamaged: (LogDamage) throws(StoreError) -> Void = { damage throws(StoreError) in throw damage.refusal }
    ) throws(StoreError) {
        let file = try DatabaseFile(
            directory: directory,
            fileName: SQLiteStore.fileName,
            origin: origin,
            configuration: configuration,
            whenDamaged: whenDamaged
        )
        let transaction = try SQLiteTransaction(statements: file.statements, at: file.place)
        try transaction.prepareContexts()
        self.file = file
        self.transaction = transaction
    }

    /// Opens the database of a virtual file system that this process has registered with SQLite, or makes it.
    package init(
        virtual: VirtualDatabase,
        origin: Hash256,
        configuration: StoreConfiguration = StoreConfiguration()
    ) throws(StoreError) {
        let file = try DatabaseFile(
            virtual: virtual,
            origin: origin,
            configuration: configuration
        )
        let transaction = try SQLiteTransaction(statements: file.statements, at: file.place)
        try transaction.prepareContexts()
        self.file = file
        self.transaction = transaction
    }

    /// The hash before every replica's first change.
    package var origin: Hash256 { self.file.origin }

    /// Whether the process that had the directory before did not close the store.
    package var endedUncleanly: Bool { self.file.endedUncleanly }

    /// Ends in order: everything is in the database file, the directory is free, and nothing can be read or written any
    /// more.
    package mutating func close() { self.file.close() }

    /// Gives room that nothing takes any more back to the file system, if that is a quarter of the file or more, or in
    /// any case.
    ///
    /// Needs room for two other copies of what is left meanwhile. A process that ends leaves the file as it was. No
    /// byte of what was deleted is left then, unless the write-ahead log holds it still.
    ///
    /// `mayLeaveBytes`: to move pages within the file where there is no such room; bytes of what was deleted may be
    /// left.
    ///
    /// - Returns: the length of the file before and after, and whether the write-ahead log is empty, which it is not
    ///   while somebody reads an older state.
    package mutating func shrink(
        always: Bool,
        mayLeaveBytes: Bool
    ) throws(StoreError) -> (before: Int, after: Int, isLogEmpty: Bool) {
        try self.file.shrink(always: always, mayLeaveBytes: mayLeaveBytes)
    }

    /// Cuts the write-ahead log off; returns false if somebody reads an older state.
    package mutating func emptyLog() throws(StoreError) -> Bool { try self.file.emptyLog() }

    package mutating func write<Result>(
        _ body: (inout SQLiteTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try self.run(.beginImmediate, body)
    }

    package mutating func read<Result>(
        _ body: (inout SQLiteTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try self.run(.begin, body)
    }

    private mutating func run<Result>(
        _ begin: StoreQuery,
        _ body: (inout SQLiteTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        guard self.file.isOpen else { throw .unavailable("The database \(self.file.path) has been closed.") }
        return try self.transaction.perform(begin, body)
    }
}

extension SQLiteTransaction {
    /// Runs a whole transaction: commits what `beginImmediate` began, and takes back what `begin` did.
    fileprivate func perform<Result>(
        _ begin: StoreQuery,
        _ body: (inout SQLiteTransaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        if begin == .beginImmediate {
            try self.committed.place?.require()
            try self.statements[begin].run()
        } else {
            // What is kept in memory is read without SQLite.
            self.statements.beginsWhenUsed = true
        }
        do throws(StoreError) {
            var transaction = self
            let result = try body(&transaction)
            if begin == .beginImmediate {
                try self.prepareCommit()
                try self.commit()
            } else if self.statements.beginsWhenUsed {
                self.statements.beginsWhenUsed = false
            } else {
                assert(!self.statements.isAnyBusy)
                try self.statements[.rollback].run()
                self.didRead()
            }
            return result
        } catch {
            self.abandon()
            throw error
        }
    }

    private func commit() throws(StoreError) {
        self.committed.willCommit()
        do throws(StoreError) {
            try self.statements[.commit].run()
        } catch {
            self.abandon()
            self.overwriteFailedCommit()
            self.committed.didCommit(nil)
            throw error
        }
        self.didCommit()
        self.committed.didCommit(self.segments)
    }

    /// Makes sure that a commit which failed does not come back.
    ///
    /// When only the waiting for the disk failed, all of it lies behind the end of the log until something else is
    /// written there. A copy of the files would hold it, and what is written next would have its dot.
    private func overwriteFailedCommit() {
        do throws(StoreError) {
            try self.statements[.beginImmediate].run()
            // The same once more would not be written: a page that does not change is left out.
            let isNoted = try self.fact(SQLiteTransaction.failedCommitFact) != nil
            try self.setFact(SQLiteTransaction.failedCommitFact, isNoted ? nil : [1])
            try self.statements[.commit].run()
        } catch {
            // The caller hears of the commit that failed first. Where the disk refuses this one too, the next commit
            // takes the place; until then nothing is written under the dots of what failed.
            self.abandon()
        }
    }

    /// Comes and goes with commits that fail, and says nothing.
    private static let failedCommitFact = "failed-commit"

    private func abandon() {
        self.statements.beginsWhenUsed = false
        self.statements.resetAll()
        // SQLite has rolled back by itself after some errors.
        if self.statements.isInTransaction { try? self.statements[.rollback].run() }
        self.didRollback()
    }
}
