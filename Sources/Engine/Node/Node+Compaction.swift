package import CRDTCore
internal import PeerCrypto

/// A compaction under way: so much at a time that writes and the sync go on between the steps.
package struct CompactionRun: Sendable {
    /// The last time at which a write is old enough.
    package let horizon: WallTime
    /// Machines that have not stored everything: what they lack is kept.
    package let lackingNames: [String]
    fileprivate let isDryRun: Bool
    fileprivate var compaction: Compaction
    fileprivate var next: SegmentPoint? = Compaction.start

    package var summary: Compaction.Summary { self.compaction.summary }
    package var isDone: Bool { self.next == nil }
}

extension Node where Store: ~Copyable {
    /// Begins to drop writes that were superseded before a time.
    ///
    /// It can be broken off after any step, and begun again at any time: what is dropped already is passed over.
    ///
    /// - Parameters:
    ///   - milliseconds: the length of the history to keep.
    ///   - awaited: machines that were heard of in this time, in milliseconds, must have what makes a write needless.
    ///   - isDryRun: true to change nothing.
    ///   - now: what the clocks show.
    /// - Returns: the compaction, of which no step is done yet.
    /// - Throws: `StoreError` if the store fails.
    package mutating func beginCompaction(
        keeping milliseconds: UInt64,
        awaitingWithin awaited: UInt64,
        isDryRun: Bool,
        at now: ClockReading
    ) throws(StoreError) -> CompactionRun {
        // What our clock alone takes for past is held by others.
        var wall = now.wall
        for connection in self.readyConnections {
            if let clock = connection.clock { wall = min(wall, clock.time(at: now)) }
        }
        let horizon = WallTime(milliseconds: wall.milliseconds - min(milliseconds, wall.milliseconds))
        let heard = max(milliseconds, awaited)
        let since = WallTime(milliseconds: now.wall.milliseconds - min(heard, now.wall.milliseconds))
        let (seen, lacking) = try self.acknowledged(since: min(since, horizon))
        let stamp = Stamp(rawValue: Stamp(milliseconds: horizon.milliseconds).rawValue | 0xffff)
        let compaction = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
            try Compaction(horizon: stamp, acknowledged: seen, isDryRun: isDryRun, in: &transaction)
        }
        return CompactionRun(horizon: horizon, lackingNames: lacking, isDryRun: isDryRun, compaction: compaction)
    }

    /// Runs some of these functions on the node where it is.
    package mutating func perform<Result>(
        _ body: (inout Self) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try body(&self)
    }

    /// Lets a caller tend the store between two transactions, such as to give room back to the file system.
    package mutating func tend<Result>(
        _ body: (inout Store) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try body(&self.replica.store)
    }

    /// Goes on with a compaction, in one transaction.
    package mutating func step(_ run: inout CompactionRun, at now: ClockReading) throws(StoreError) {
        guard let place = run.next else { return }
        var (stepped, merge) = (run, Merge(now: now.wall, founder: self.replica.author.membership.founder))
        let cryptography = self.cryptography
        if run.isDryRun {
            try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
                stepped.next = try stepped.compaction.step(from: place, &merge, in: &transaction, cryptography)
            }
        } else {
            try self.replica.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                stepped.next = try stepped.compaction.step(from: place, &merge, in: &transaction, cryptography)
            }
        }
        run = stepped
    }
}
