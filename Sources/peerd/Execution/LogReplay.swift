internal import CRDTCore
internal import Engine
internal import SyncProtocol
internal import Synchronization

/// Computes the state anew from the log: every chain and signature is checked, and everything merged again, in memory.
final class LogReplay: Sendable {
    private let copy: Mutex<MemoryStore>
    private let membership: Membership
    private let now: WallTime

    init(origin: Hash256, membership: Membership, now: WallTime) {
        self.copy = Mutex(MemoryStore(origin: origin))
        self.membership = membership
        self.now = now
    }

    /// Takes in the next piece of each chain; true when there is nothing more.
    func advance(from transaction: inout some StoreTransaction) throws -> Bool {
        var runs: [VerifiedRun] = []
        var forks: [(ReplicaID, UInt64)] = []
        for position in 0..<transaction.replicaCount {
            let index = ReplicaIndex(rawValue: UInt32(position))
            let record = transaction.replica(index)
            if let fork = record.forkSequence { forks.append((record.id, fork)) }
            let known = try self.copied(record.id)
            guard known.storedSequence < record.storedSequence else { continue }
            runs.append(try self.nextRun(of: index, record, after: known, in: &transaction))
        }
        try self.receive(runs, forks)
        return runs.isEmpty
    }

    /// Whether the state that came out is the one that is stored.
    func isEqual(to transaction: inout some StoreTransaction) throws -> Bool {
        let stored = try StateExport.json(of: &transaction)
        let computed = try self.copy.withLock { store in
            try store.read { (copy: inout MemoryTransaction) throws(StoreError) in try StateExport.json(of: &copy) }
        }
        return stored == computed
    }

    private func copied(_ replica: ReplicaID) throws -> ReplicaRecord {
        try self.copy.withLock { store in
            try store.write { (copy: inout MemoryTransaction) throws(StoreError) in
                let index = copy.replicaIndex(of: replica)
                return copy.replica(index)
            }
        }
    }

    private func nextRun(
        of index: ReplicaIndex,
        _ record: ReplicaRecord,
        after known: ReplicaRecord,
        in transaction: inout some StoreTransaction
    ) throws -> VerifiedRun {
        let first = known.storedSequence + 1
        let run = try transaction.loadRun(of: index, from: first, limits: RunLimits(), signed: true)
        guard let run else {
            throw StoreError.damaged("change \(first) of replica \(record.id) is missing from the log")
        }
        do throws(RunRejection) {
            return try VerifiedRun.verify(
                run,
                previous: known.storedHash,
                device: known.device,
                membership: self.membership,
                SodiumCryptography()
            )
        } catch {
            throw StoreError.damaged("changes of replica \(record.id) from \(first) on do not hold: \(error)")
        }
    }

    private func receive(_ runs: [VerifiedRun], _ forks: [(ReplicaID, UInt64)]) throws {
        try self.copy.withLock { store in
            try store.write { (copy: inout MemoryTransaction) throws(StoreError) in
                var merge = Merge(now: self.now)
                for run in runs where try merge.receive(run, in: &copy) != .stored {
                    throw .damaged("changes of replica \(run.run.replica) do not follow each other")
                }
                for (replica, sequence) in forks {
                    let index = copy.replicaIndex(of: replica)
                    try merge.exclude(index, fromFork: sequence, in: &copy)
                }
                try merge.finish(in: &copy)
            }
        }
    }
}
