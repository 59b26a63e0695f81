internal import CRDTCore
internal import Engine
internal import SyncProtocol
internal import Synchronization

/// Computes the state anew from the log: every chain and signature is checked, and everything merged again, in memory.
///
/// The clock of this machine does not come into it, since it may have been another one when the state was computed. Its
/// place takes the earliest clock by which all that is applied is not held.
final class LogReplay: Sendable {
    private let content: Mutex<Content>
    private let origin: Hash256
    private let membership: Membership

    private struct Content {
        var copy: MemoryStore
        /// How far each line of the store was read, and the hash there.
        var ends: [LineIndex: (sequence: UInt64, hash: Hash256)] = [:]
    }

    init(origin: Hash256, membership: Membership) {
        self.origin = origin
        self.content = Mutex(Content(copy: MemoryStore(origin: origin)))
        self.membership = membership
    }

    /// The highest effective stamp of all that is applied.
    static func latestStamp(in transaction: borrowing some StoreTransaction) -> Stamp {
        var latest = Stamp.zero
        for position in 0..<transaction.lineCount {
            latest = max(latest, transaction.progress(of: LineIndex(rawValue: UInt32(position))).appliedStamp)
        }
        return latest
    }

    /// Takes in the next piece of each line; true when there is nothing more.
    func advance(from transaction: inout some StoreTransaction) throws -> Bool {
        try self.content.withLock { content in
            var runs: [VerifiedRun] = []
            var isComplete = true
            for position in 0..<transaction.lineCount {
                let index = LineIndex(rawValue: UInt32(position))
                let record = transaction.line(index)
                let end = try self.end(of: index, record, content, &transaction)
                guard end?.sequence != record.storedSequence else { continue }
                isComplete = false
                // A branch comes after the change that it hangs on.
                guard let end else { continue }
                let run = try self.nextRun(of: index, record, after: end, in: &transaction)
                content.ends[index] = (run.run.lastSequence, run.hashes.last ?? end.hash)
                runs.append(run)
            }
            if runs.isEmpty, !isComplete { throw StoreError.damaged("a branch hangs on nothing") }
            try self.receive(runs, &content.copy, now: HybridClock.dueTime(of: Self.latestStamp(in: transaction)))
            return isComplete
        }
    }

    /// Whether the state that comes out, with what has been written meanwhile, is the one that is stored.
    func isEqual(to transaction: inout some StoreTransaction) throws -> Bool {
        while try !self.advance(from: &transaction) {}
        let stored = try StateExport.json(of: &transaction)
        let now = HybridClock.dueTime(of: Self.latestStamp(in: transaction))
        var settling = Merge(now: now, founder: self.membership.founder)
        settling.hasDueRestamps = true
        settling.ignoredRestamps = try settling.dueRestamps(in: &transaction)
        let putOff = try self.putOff(settling, in: &transaction)
        let computed = try self.content.withLock { content in
            try content.copy.write { (copy: inout MemoryTransaction) throws(StoreError) in
                for (replica, sequence, hash) in putOff {
                    guard let place = try copy.place(of: replica, sequence: sequence, hash: hash) else { continue }
                    settling.putOff[place.line] = place.sequence
                }
                // Some of that may be applied in the copy.
                if putOff.isEmpty { try settling.finish(in: &copy) } else { try settling.rebuild(in: &copy) }
            }
            return try content.copy.read { (copy: inout MemoryTransaction) throws(StoreError) in
                try StateExport.json(of: &copy)
            }
        }
        return stored == computed
    }

    /// The changes that are ready in the store and not applied: it put off late moves.
    private func putOff(
        _ merge: Merge,
        in transaction: inout some StoreTransaction
    ) throws -> [(replica: ReplicaID, sequence: UInt64, hash: Hash256)] {
        var merge = merge
        let waits = try merge.waits(in: &transaction)
        var found: [(replica: ReplicaID, sequence: UInt64, hash: Hash256)] = []
        for position in 0..<transaction.lineCount {
            let index = LineIndex(rawValue: UInt32(position))
            let progress = transaction.progress(of: index)
            guard progress.isPending, waits[index] == nil else { continue }
            let next = LinePoint(line: index, sequence: progress.appliedSequence + 1)
            guard let hash = try transaction.hash(at: next) else { continue }
            found.append((transaction.replicaID(index), next.sequence, hash))
        }
        return found
    }

    /// How far a line was read; nil if it hangs on what has not been read.
    private func end(
        of index: LineIndex,
        _ record: LineRecord,
        _ content: Content,
        _ transaction: inout some StoreTransaction
    ) throws -> (sequence: UInt64, hash: Hash256)? {
        if let end = content.ends[index] { return end }
        let parent = record.origin?.parent ?? LinePoint(line: index, sequence: 0)
        guard parent.sequence > 0 else { return (0, self.origin) }
        guard parent.sequence <= content.ends[parent.line]?.sequence ?? 0 else { return nil }
        guard let hash = try transaction.hash(at: parent) else {
            throw StoreError.damaged("change \(parent.sequence) of replica \(record.id) is missing from the log")
        }
        return (parent.sequence, hash)
    }

    private func nextRun(
        of index: LineIndex,
        _ record: LineRecord,
        after end: (sequence: UInt64, hash: Hash256),
        in transaction: inout some StoreTransaction
    ) throws -> VerifiedRun {
        let first = end.sequence + 1
        let run = try transaction.loadRun(of: index, from: first, limits: RunLimits(), signed: true)
        guard let run else {
            throw StoreError.damaged("change \(first) of replica \(record.id) is missing from the log")
        }
        do throws(RunRejection) {
            return try VerifiedRun.verify(
                run,
                previous: end.hash,
                device: first == 1 ? nil : record.device,
                membership: self.membership,
                SodiumCryptography()
            )
        } catch {
            throw StoreError.damaged("changes of replica \(record.id) from \(first) on do not hold: \(error)")
        }
    }

    private func receive(_ runs: [VerifiedRun], _ copy: inout MemoryStore, now: WallTime) throws {
        try copy.write { (copy: inout MemoryTransaction) throws(StoreError) in
            var merge = Merge(now: now, founder: self.membership.founder)
            // Settled in the end, as far as they are in the store.
            merge.putsOffRestamps = true
            for run in runs where try merge.receive(run, in: &copy) != .stored {
                throw .damaged("changes of replica \(run.run.replica) do not follow each other")
            }
            try merge.finish(in: &copy)
        }
    }
}
