internal import Persistence

/// What changes in a scope, from a position on: one element after each transaction, or after several for whoever is
/// slow.
///
/// It is a position and no queue. Nothing is kept for a reader: each element is read from the database when it is asked
/// for, and has the states of that moment. So a slow reader costs nothing, and misses nothing but states that were
/// overwritten meanwhile.
///
/// It ends when the task is cancelled or the workspace is closed.
public struct Changes: AsyncSequence, Sendable {
    /// What one transaction, or several, made of the state.
    public typealias Element = Delta
    /// What a disk causes, as a ``PeerdError``.
    public typealias Failure = any Error

    let workspace: Workspace
    let reading: DeltaReading
    let start: DeltaReading.Position

    /// Begins at the position.
    public func makeAsyncIterator() -> Iterator {
        Iterator(workspace: self.workspace, reading: self.reading, position: self.start)
    }

    /// Reads one element after the other.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        let workspace: Workspace
        let reading: DeltaReading
        var position: DeltaReading.Position

        /// The next element, as soon as there is one; nil if the task is cancelled or the workspace is closed.
        ///
        /// - Returns: what has changed since the element before.
        /// - Throws: ``PeerdError`` with what a disk causes.
        public mutating func next() async throws -> Delta? {
            while !Task.isCancelled, self.workspace.isOpen {
                let (reading, position) = (self.reading, self.position)
                let found: (delta: Delta?, next: DeltaReading.Position)
                do {
                    found = try await self.workspace.reading { try reading.delta(after: position, in: &$0) }
                } catch {
                    // Whoever is cancelled while he waits for his turn has reached the end.
                    if Task.isCancelled || !self.workspace.isOpen { return nil }
                    throw error
                }
                self.position = found.next
                if let delta = found.delta { return delta }
                await self.workspace.waitForCommit(beyond: found.next.place.commit)
            }
            return nil
        }
    }
}

/// A page of a query as it is now, and as it is after each change of it.
///
/// It ends when the task is cancelled or the workspace is closed.
public struct LivePages: AsyncSequence, Sendable {
    /// The first objects of the query.
    public typealias Element = Page
    /// What a disk causes, as a ``PeerdError``.
    public typealias Failure = any Error

    let workspace: Workspace
    let query: Query
    let limit: Int

    /// Begins with the page as it is now.
    public func makeAsyncIterator() -> Iterator {
        Iterator(workspace: self.workspace, query: self.query, limit: self.limit)
    }

    /// Reads one page after the other.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        let workspace: Workspace
        let query: Query
        let limit: Int
        private var last: Page?
        private var commit: Int64 = -1

        init(workspace: Workspace, query: Query, limit: Int) {
            (self.workspace, self.query, self.limit) = (workspace, query, limit)
        }

        /// The page, as soon as it is another one than before; nil if the task is cancelled or the workspace is closed.
        ///
        /// - Returns: the first objects of the query.
        /// - Throws: ``PeerdError`` with `invalidArgument` for a limit, or with what a disk causes.
        public mutating func next() async throws -> Page? {
            while !Task.isCancelled, self.workspace.isOpen {
                await self.workspace.waitForCommit(beyond: self.commit)
                let (query, limit) = (self.query, self.limit)
                let found: (commit: Int64, page: Page)
                do {
                    found = try await self.workspace.reading { transaction in
                        let snapshot = Snapshot(transaction)
                        return (transaction.lastCommit, try snapshot.page(query, limit: limit))
                    }
                } catch {
                    if Task.isCancelled || !self.workspace.isOpen { return nil }
                    throw error
                }
                self.commit = found.commit
                if found.page != self.last {
                    self.last = found.page
                    return found.page
                }
            }
            return nil
        }
    }
}
