package import Persistence

/// A sequence of the changes in a scope: an element for each transaction.
///
/// Transactions that shared one commit, because several tasks wrote at once, come as one element; so do those that the
/// reader was too slow for.
///
/// The sequence is a position, and not a queue. Each element is read from the database when it is asked for, and has
/// the states of that moment. So a slow reader costs no memory, and skips only states that were overwritten meanwhile.
///
/// It ends when the task is cancelled or the workspace is closed.
public struct Changes: AsyncSequence, Sendable {
    /// The net effect of one transaction, or of several.
    public typealias Element = Delta
    /// The failures of the disk, each a ``PeerdError``.
    public typealias Failure = any Error

    let workspace: Workspace
    let reading: DeltaReading
    let start: DeltaReading.Position

    /// Returns an iterator that starts at the position; several can read independently.
    public func makeAsyncIterator() -> Iterator {
        Iterator(workspace: self.workspace, reading: self.reading, position: self.start)
    }

    /// The position of one reader; a copy reads on its own.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        let workspace: Workspace
        let reading: DeltaReading
        var position: DeltaReading.Position

        /// Waits for the next element, and returns it; nil if the task is cancelled or the workspace is closed.
        ///
        /// - Returns: the changes since the element before.
        /// - Throws: ``PeerdError`` if the disk fails; the position stays, so the call can be repeated.
        /// - Complexity: O(*n* log *m*) for *n* changed objects in a workspace of *m*, with at most about 1,000 objects
        ///   in one element.
        public mutating func next() async throws -> Delta? { try await self.next(in: nil) }

        /// As ``next()``, but reads only while it is its turn, which lasts until the caller is done with the element.
        package mutating func next(in turns: Turns?) async throws -> Delta? {
            while !Task.isCancelled, self.workspace.isOpen {
                let (reading, position) = (self.reading, self.position)
                let silentCount = self.workspace.silentCommitCount
                try await turns?.begin()
                let found: (delta: Delta?, next: DeltaReading.Position)
                do {
                    found = try await self.workspace.reading { try reading.delta(after: position, in: &$0) }
                } catch {
                    turns?.end()
                    // A task that is cancelled while it waits for its turn has reached the end.
                    if Task.isCancelled || !self.workspace.isOpen { return nil }
                    throw error
                }
                self.position = found.next
                if let delta = found.delta { return delta }
                turns?.end()
                await self.workspace.waitForCommit(beyond: found.next.place.commit, since: silentCount)
            }
            return nil
        }

        /// Returns the next element if it is there; nil if it would have to be waited for.
        package mutating func nextAtOnce() async throws -> Delta? {
            let (reading, position) = (self.reading, self.position)
            let found = try await self.workspace.reading { try reading.delta(after: position, in: &$0) }
            self.position = found.next
            return found.delta
        }
    }
}

/// A sequence of the first page of a query: as it is now, and after each change of it.
///
/// It ends when the task is cancelled or the workspace is closed.
public struct LivePages: AsyncSequence, Sendable {
    /// The first page of the query.
    public typealias Element = Page
    /// The failures of the disk, each a ``PeerdError``.
    public typealias Failure = any Error

    let workspace: Workspace
    let query: Query
    let limit: Int

    /// Returns an iterator that starts with the page as it is now.
    public func makeAsyncIterator() -> Iterator {
        Iterator(workspace: self.workspace, query: self.query, limit: self.limit)
    }

    /// The last page that one reader has seen; a copy reads on its own.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        let workspace: Workspace
        let query: Query
        let limit: Int
        /// A hash of the last page: many readers of large pages would hold much otherwise.
        private var last: Int?
        private var extent: PageExtent?
        private var commit: Int64 = -1
        private var silentCount: UInt64 = 0

        init(workspace: Workspace, query: Query, limit: Int) {
            (self.workspace, self.query, self.limit) = (workspace, query, limit)
        }

        /// Waits until the page differs from the last one, and returns it; nil if the task is cancelled or the
        /// workspace is closed.
        ///
        /// - Returns: the first page of the query.
        /// - Throws: ``PeerdError`` with `invalidArgument` for a limit out of range, or if the disk fails.
        /// - Complexity: For each commit that it wakes up for, as ``ReadTransaction/page(_:after:limit:)`` if the
        ///   commit changed an object of the page, or one that comes before the last of them; otherwise O(*n*) for *n*
        ///   changed objects.
        public mutating func next() async throws -> Page? { try await self.next(in: nil) }

        /// As ``next()``, but reads only while it is its turn, which lasts until the caller is done with the page.
        package mutating func next(in turns: Turns?) async throws -> Page? {
            while !Task.isCancelled, self.workspace.isOpen {
                await self.workspace.waitForCommit(beyond: self.commit, since: self.silentCount)
                self.silentCount = self.workspace.silentCommitCount
                try await turns?.begin()
                let (reading, former, commit) = (LivePageReading(self.query, self.limit), self.extent, self.commit)
                let found: (commit: Int64, content: LivePageReading.Content?)
                do {
                    found = try await self.workspace.reading { transaction in
                        (transaction.lastCommit, try reading.read(former, since: commit, in: &transaction))
                    }
                } catch {
                    turns?.end()
                    if Task.isCancelled || !self.workspace.isOpen { return nil }
                    throw error
                }
                self.commit = found.commit
                if let (page, extent) = found.content {
                    self.extent = extent
                    let hash = page.hashValue
                    if hash != self.last {
                        self.last = hash
                        return page
                    }
                }
                turns?.end()
            }
            return nil
        }
    }
}

/// Reads the first page of a query, unless it must be the one that was read before.
struct LivePageReading {
    typealias Content = (page: Page, extent: PageExtent)

    private let query: Query
    private let limit: Int

    /// With more changed objects the query is run again.
    private static let changeCountMax = 256

    init(_ query: Query, _ limit: Int) { (self.query, self.limit) = (query, limit) }

    /// Returns nil if the page is that of an earlier commit.
    func read(
        _ former: PageExtent?,
        since commit: Int64,
        in transaction: inout SQLiteTransaction
    ) throws -> Content? {
        try Page.check(self.limit)
        do {
            let run = try QueryRun(self.query, after: nil)
            if let former {
                let limit = Self.changeCountMax + 1
                let changes = try transaction.changedObjects(after: .end(of: commit), limit: limit)
                if changes.count < limit, try !run.mayDiffer(former, by: changes, in: &transaction) { return nil }
            }
            return try run.extendedPage(limit: self.limit, in: &transaction)
        } catch let error as StoreError {
            throw PeerdError(error)
        }
    }
}
