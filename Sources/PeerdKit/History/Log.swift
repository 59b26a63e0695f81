internal import CRDTCore
internal import Engine
internal import Persistence

extension Workspace {
    /// Returns the operations that this machine holds, or those on one object.
    ///
    /// They come replica by replica, each replica's in the order in which it wrote them. The sequence ends with the
    /// operations that were there when the first one was read.
    ///
    /// - Parameter object: the object whose operations are wanted, which may be deleted; nil for all operations.
    /// - Returns: a sequence that reads the operations as they are asked for.
    /// - Complexity: O(*n*) in the operations of the whole log, read in pieces.
    public func log(of object: ObjectID? = nil) -> Log { Log(workspace: self, object: object) }
}

/// A sequence of operations, read in pieces as they are asked for.
public struct Log: AsyncSequence, Sendable {
    /// The failures of the disk, each a ``PeerdError``.
    public typealias Failure = any Error

    let workspace: Workspace
    let object: ObjectID?

    /// Returns an iterator that starts at the first operation.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// The position of one reader; a copy reads the same operations again.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private let log: Log
        /// The chains that are left, the next one last; nil before they are looked for.
        private var chains: [ChainEnd]?
        private var reader: LogReader?
        private var entries: ArraySlice<LogEntry> = []

        init(_ log: Log) { self.log = log }

        /// Returns the next operation; nil after the last.
        ///
        /// - Throws: ``PeerdError`` with `closed`, or if the log cannot be read; `CancellationError`.
        public mutating func next() async throws -> LogEntry? {
            let workspace = self.log.workspace
            if self.chains == nil {
                let founder = workspace.identity.founder
                self.chains = try await workspace.reading { transaction in
                    Array(try ChainEnd.all(founder: founder, in: &transaction).reversed())
                }
            }
            while self.entries.isEmpty {
                if self.reader?.isAtEnd ?? true {
                    guard let chain = self.chains?.popLast() else { return nil }
                    self.reader = LogReader(chain: chain, object: self.log.object, device: workspace.identity.device)
                }
                guard let current = self.reader, !current.isAtEnd else { continue }
                let (entries, reader) = try await workspace.reading { transaction in
                    var reader = current
                    let entries = try reader.nextEntries(in: &transaction)
                    return (entries, reader)
                }
                (self.entries, self.reader) = (entries[...], reader)
            }
            return self.entries.popFirst()
        }
    }
}

extension ChainEnd {
    /// Returns the ends of all stretches, sorted by replica and place.
    fileprivate static func all(
        founder: UserID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [ChainEnd] {
        var merge = Merge(now: SystemClock.now().wall, founder: founder)
        let waits = try merge.waits(in: &transaction)
        let rights = try transaction.judgedRights(founder: founder)
        var ends: [ChainEnd] = []
        for segment in transaction.segmentIndices {
            var end = ChainEnd(of: segment, in: transaction)
            end.limits = rights.limits(of: segment)
            if case .held? = waits[segment] { end.isHeld = true }
            ends.append(end)
        }
        return ends.sorted { ($0.id, $0.firstSequence) < ($1.id, $1.firstSequence) }
    }
}
