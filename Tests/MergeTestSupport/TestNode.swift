package import CRDTCore

/// A replica's store together with what has been delivered to it.
package final class TestNode<Store: ReplicaStore & ~Copyable> {
    private var store: Store
    private let objects: [ObjectID]
    /// How much of each chain has been stored.
    package private(set) var stored: [ReplicaID: Int] = [:]
    /// The last sequence before each fork that the store has been told of.
    package private(set) var forks: [ReplicaID: UInt64] = [:]
    package var now: WallTime

    package init(store: consuming Store, objects: [ObjectID], now: WallTime) {
        self.store = store
        self.objects = objects
        self.now = now
    }

    /// Hands runs to the store in one transaction.
    ///
    /// Returns whether each was taken in.
    @discardableResult
    package func receive(_ runs: [VerifiedRun]) throws -> [Merge.Reception] {
        let now = self.now
        let receptions = try self.store.write { transaction throws(StoreError) in
            var merge = Merge(now: now)
            var receptions: [Merge.Reception] = []
            for run in runs { receptions.append(try merge.receive(run, in: &transaction)) }
            try merge.finish(in: &transaction)
            return receptions
        }
        for (run, reception) in zip(runs, receptions) where reception == .stored {
            self.stored[run.run.replica] = Int(run.run.lastSequence)
        }
        return receptions
    }

    /// Computes the state anew from the log.
    package func rebuild() throws {
        let now = self.now
        try self.store.write { transaction throws(StoreError) in
            var merge = Merge(now: now)
            try merge.rebuild(in: &transaction)
        }
    }

    /// Takes note that a replica has signed two changes with one sequence.
    package func exclude(_ replica: ReplicaID, fromFork sequence: UInt64) throws {
        let now = self.now
        try self.store.write { transaction throws(StoreError) in
            var merge = Merge(now: now)
            let index = try transaction.replicaIndex(of: replica)
            try merge.exclude(index, fromFork: sequence, in: &transaction)
            try merge.finish(in: &transaction)
        }
        self.forks[replica] = sequence - 1
    }

    /// The whole state in plain words.
    package func state() throws -> PlainState {
        let objects = self.objects
        return try self.store.read { transaction throws(StoreError) in
            try StateReader.state(of: &transaction, objects: objects)
        }
    }

    /// What the store exports.
    package func export() throws -> [UInt8] {
        try self.store.read { transaction throws(StoreError) in try StateExport.json(of: &transaction) }
    }

    /// A stored run as it would be sent on to another node.
    package func load(_ replica: ReplicaID, from sequence: UInt64, limits: RunLimits) throws -> Run? {
        try self.store.read { transaction throws(StoreError) in
            let index = try transaction.replicaIndex(of: replica)
            return try transaction.loadRun(of: index, from: sequence, limits: limits, signed: true)
        }
    }

    /// What the store would tell a peer that it holds.
    package func frontier() throws -> Frontier {
        try self.store.read { transaction throws(StoreError) in try Frontier(of: &transaction) }
    }
}
