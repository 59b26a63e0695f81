internal import CRDTCore
internal import Engine
internal import NIOConcurrencyHelpers
internal import Persistence
internal import SyncProtocol

/// Rebuilds the state from the log: every chain and signature is checked, and everything is merged again, into a store
/// of its own on the disk, so that memory does not grow with the workspace.
///
/// The clock of this machine does not come into it, since it may have been another one when the state was computed. Its
/// place takes the earliest clock by which all that is applied is not held.
///
/// It is sent from one reading connection to the next; a lock keeps it to one at a time.
final class LogReplay: @unchecked Sendable {
    private let lock = NIOLock()
    private var content: Content
    private let origin: Hash256
    private let membership: Membership

    private struct Content: ~Copyable {
        var copy: SQLiteStore
        /// How far each segment of the store was read, and the hash there.
        var ends: [SegmentIndex: (sequence: UInt64, hash: Hash256)] = [:]
    }

    private static let comparedCount = 512

    /// A failure of the copy, which says nothing of the workspace.
    struct CopyFailure: Error {
        let cause: StoreError
    }

    /// `directory`: where the copy is for as long as this object lives; there must be room for as much as is stored.
    init(_ identity: Workspace.Identity, in directory: String) throws(StoreError) {
        (self.origin, self.membership) = (identity.origin, identity.membership)
        let reader = CircleReader(user: identity.user, founder: identity.founder)
        let copy = try SQLiteStore.scratch(in: directory, origin: identity.origin, for: reader)
        self.content = Content(copy: copy)
    }

    /// The tables, indexes, views and triggers of a new database.
    func newSchema() throws -> Set<[String]> {
        try self.lock.withLock {
            try self.content.copy.read { copy throws(StoreError) in try copy.schema() }
        }
    }

    /// Takes in the next piece of each segment; true when there is nothing more.
    func advance(from transaction: inout some StoreTransaction) throws -> Bool {
        try self.lock.withLock {
            var runs: [VerifiedRun] = []
            var isComplete = true
            for index in transaction.segmentIndices {
                let record = transaction.segment(index)
                let end = try self.end(of: index, record, &transaction)
                guard end?.sequence != record.storedSequence else { continue }
                isComplete = false
                // A segment comes after the change that it hangs on.
                guard let end else { continue }
                let run = try self.nextRun(of: index, record, after: end, in: &transaction)
                self.content.ends[index] = (run.run.lastSequence, run.hashes.last ?? end.hash)
                runs.append(run)
            }
            if runs.isEmpty, !isComplete { throw StoreError.damaged("a segment hangs on nothing") }
            try self.receive(runs, now: HybridClock.dueTime(of: transaction.latestAppliedStamp))
            return isComplete
        }
    }

    /// Whether the state that comes out, with what has been written meanwhile, is the one that is stored.
    func isEqual(to transaction: inout some StoreTransaction) throws -> Bool {
        while try !self.advance(from: &transaction) {}
        let now = HybridClock.dueTime(of: transaction.latestAppliedStamp)
        var policy = MergePolicy(now: now, founder: self.membership.founder)
        var merge = Merge(policy)
        policy.ignoredRestamps = try merge.dueRestamps(in: &transaction)
        let changes = try self.deferredChanges(&merge, in: &transaction)
        return try self.lock.withLock {
            try self.writeCopy { copy throws(StoreError) in
                var deferred = DeferredWork(hasRestamps: true)
                for (replica, sequence, hash) in changes {
                    guard let place = try copy.place(of: replica, sequence: sequence, hash: hash) else { continue }
                    deferred.changes[place.segment] = place.sequence
                }
                var settling = Merge(policy, deferred: deferred)
                // Some of that may be applied in the copy.
                if changes.isEmpty { try settling.finish(in: &copy) } else { try settling.rebuild(in: &copy) }
            }
            return try self.content.copy.read { copy throws(StoreError) in try Self.isEqual(&copy, &transaction) }
        }
    }

    /// Compares what shows in two stores, a page at a time.
    private static func isEqual(
        _ left: inout some StoreTransaction,
        _ right: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        var last: ObjectID?
        while true {
            let page = try left.visibleObjects(after: last, limit: Self.comparedCount)
            let other = try right.visibleObjects(after: last, limit: Self.comparedCount)
            guard page.count == other.count else { return false }
            for (object, twin) in zip(page, other) {
                let json = try StateExport.json(of: object, in: &left)
                guard try json == StateExport.json(of: twin, in: &right) else { return false }
                let counts = try Counts(of: object, in: &left)
                guard try counts == Counts(of: twin, in: &right) else { return false }
            }
            guard page.count == Self.comparedCount, let end = page.last else { return true }
            last = try left.object(end).id
        }
    }

    /// The counts of an object that an export does not show.
    private struct Counts: Equatable {
        struct Property: Equatable {
            var isRemoval: Bool
            var counted: UInt32
            var writes: Int64
            var conflicts: Int
        }

        var children: UInt32
        var visibleChildren: UInt32
        var openMoves: Int
        var isInPlace: Bool
        var properties: [ExactText: Property] = [:]

        init(of object: ObjectIndex, in transaction: inout some StoreTransaction) throws(StoreError) {
            let record = try transaction.object(object)
            self.children = record.childCount
            self.visibleChildren = record.visibleChildCount
            self.openMoves = try transaction.openMoves(of: object).count
            self.isInPlace = try transaction.moveInForce(of: object)?.parent == record.parent
            for (name, register) in try transaction.registers(of: object) {
                let key = RegisterKey(object: object, name: name)
                self.properties[ExactText(try transaction.name(name))] = Property(
                    isRemoval: register.isRemoval,
                    counted: register.conflictCount,
                    writes: register.writeCount,
                    conflicts: try transaction.conflicts(at: key).count
                )
            }
        }
    }

    /// The changes that are ready in the store and not applied: it deferred late moves.
    private func deferredChanges(
        _ merge: inout Merge,
        in transaction: inout some StoreTransaction
    ) throws -> [(replica: ReplicaID, sequence: UInt64, hash: Hash256)] {
        let waits = try merge.waits(in: &transaction)
        var found: [(replica: ReplicaID, sequence: UInt64, hash: Hash256)] = []
        for index in transaction.segmentIndices {
            let progress = transaction.progress(of: index)
            guard progress.isPending, waits[index] == nil else { continue }
            let next = SegmentPoint(segment: index, sequence: progress.appliedSequence + 1)
            guard let hash = try transaction.hash(at: next) else { continue }
            found.append((transaction.replicaID(index), next.sequence, hash))
        }
        return found
    }

    /// How far a segment was read; nil if it hangs on what has not been read.
    private func end(
        of index: SegmentIndex,
        _ record: SegmentRecord,
        _ transaction: inout some StoreTransaction
    ) throws -> (sequence: UInt64, hash: Hash256)? {
        if let end = self.content.ends[index] { return end }
        let parent = record.origin?.parent ?? SegmentPoint(segment: index, sequence: 0)
        guard parent.sequence > 0 else { return (0, self.origin) }
        guard parent.sequence <= self.content.ends[parent.segment]?.sequence ?? 0 else { return nil }
        guard let hash = try transaction.hash(at: parent) else {
            throw StoreError.damaged("change \(parent.sequence) of replica \(record.id) is missing from the log")
        }
        return (parent.sequence, hash)
    }

    private func nextRun(
        of index: SegmentIndex,
        _ record: SegmentRecord,
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
                workspace: self.membership.workspace,
                SodiumCryptography()
            )
        } catch {
            throw StoreError.damaged("changes of replica \(record.id) from \(first) on do not hold: \(error)")
        }
    }

    private func receive(_ runs: [VerifiedRun], now: WallTime) throws {
        try self.writeCopy { copy throws(StoreError) in
            var policy = MergePolicy(now: now, founder: self.membership.founder)
            // Settled in the end, as far as they are in the store.
            policy.defersRestamps = true
            var merge = Merge(policy)
            for run in runs where try merge.receive(run, in: &copy) != .stored {
                throw .damaged("changes of replica \(run.run.replica) do not follow each other")
            }
            try merge.finish(in: &copy)
        }
    }

    /// Writes to the copy, and tells what its disk refuses from what is wrong with the log.
    private func writeCopy(_ body: (inout SQLiteTransaction) throws(StoreError) -> Void) throws {
        do throws(StoreError) {
            try self.content.copy.write(body)
        } catch .damaged(let what) {
            throw StoreError.damaged(what)
        } catch {
            throw CopyFailure(cause: error)
        }
    }
}
