internal import CRDTCore

/// The one owner of a log: its store, what follows from it beside the store, and whoever writes into it.
struct Replica<Store: NodeStore & ~Copyable>: ~Copyable {
    var store: Store
    var author: ReplicaAuthor

    /// Runs a transaction and makes it durable; if it throws, nothing of it is kept, here or in the store.
    mutating func transaction<Result>(
        _ body: (inout ReplicaAuthor, inout Store.Transaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        let savepoint = self.author.state
        defer { self.author.state.age += 1 }
        do throws(StoreError) {
            return try self.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
                try body(&self.author, &transaction)
            }
        } catch {
            self.author.state = savepoint
            throw error
        }
    }

    /// Reads one consistent state.
    mutating func read<Result>(
        _ body: (inout Store.Transaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try self.store.read(body)
    }
}

/// What a replica knows beside its store; what a transaction changes of it lasts as long as the rest of that does.
struct ReplicaState {
    /// The segment written under; nil until the next write makes one.
    var activeSegment: SegmentIndex?
    /// Why the next write makes a new replica.
    var newReplicaReason = NewReplicaReason.first
    /// The run that was sealed last, if it was alone since the last was sent.
    var sealed: (run: Run, place: SegmentPoint)?
    /// What merges have left for later.
    var deferred = DeferredWork()
    /// Whether there may be erasures to do, and whether there are some that something barred.
    var hasErasures = false
    var hasBarredErasures = false
    /// What of others' erasures was done.
    var erasures = ErasurePace()
    /// When the next one is due that waits.
    var nextErasure: WallTime?
    /// Erasures under way.
    var erasing: Erasing?
    /// Whether the files of the store may still hold the bytes of what was erased, in places that nothing uses.
    var holdsErasedBytes = false
    /// Whether writes are here of which only a hash is, and that are needed; see `Node+Completion`.
    var missesContent = false
    /// The circles that their owners' machines say this user does not read any more.
    var ended: [Circle: [ReplicaID: UInt64]] = [:]
    /// Who says that this device is removed from the workspace; nil if nobody does.
    var removal: ToldRemoval?
    /// Whether something may have been left behind in another circle since it was looked for.
    var mayHaveLeft = true
    /// Rises with each transaction.
    var age = 0
    /// Rises whenever a dropped write comes into force, or the content of one comes: then all peers are asked anew.
    var contentAge = 0
}
