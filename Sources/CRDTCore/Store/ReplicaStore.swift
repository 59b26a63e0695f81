/// What a store can fail with.
///
/// Nothing of the transaction that failed is kept.
package enum StoreError: Error, Hashable, Sendable {
    /// There is no room for the write. Reading goes on.
    case diskFull
    /// The disk refused a read or write.
    case inputOutput(String)
    /// The file is not what was written.
    case damaged(String)
    /// The file may not be written, or is not the right one.
    case unavailable(String)
    /// Another process holds the directory, or the right to write; it gives it free sooner or later.
    case locked(String)
    /// The file was written by a newer program.
    case newerSchema(String)
    /// The file was written by an earlier program, whose tables this one does not read.
    case earlierSchema(String)
    /// A value that was in force at some moment was dropped by compaction. Nothing has failed.
    case compacted
}

/// Where a workspace's changes and state live.
///
/// Synchronous; what `write` returned from is durable.
package protocol ReplicaStore: ~Copyable {
    associatedtype Transaction: StoreTransaction

    /// Runs a transaction and makes it durable, or throws and keeps nothing of it.
    mutating func write<Result>(
        _ body: (inout Transaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result

    /// Runs a transaction that changes nothing, on one consistent state.
    mutating func read<Result>(
        _ body: (inout Transaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result
}

/// The numbers that one run's tables have in a store, and the line that it belongs to.
package struct RunIndexes: Sendable {
    package var line: LineIndex
    package var objects: [ObjectIndex]
    package var names: [NameIndex]

    package init(line: LineIndex, objects: [ObjectIndex], names: [NameIndex]) {
        self.line = line
        self.objects = objects
        self.names = names
    }
}

/// One transaction's view of a store: rows by key.
///
/// It knows no rule of merging; `Merge` calls it, row by row.
///
/// Writes are seen by later reads of the same transaction. Every lookup by key is O(log *n*) or better.
package protocol StoreTransaction: StateReading, LineOrdering {
    // Numbers for ids. An id gets one when it is first asked for.

    mutating func objectIndex(of id: ObjectID) throws(StoreError) -> ObjectIndex
    mutating func nameIndex(of name: String) throws(StoreError) -> NameIndex

    // Lines. Their indexes run from 0 without gaps; there are few enough to hold in memory.

    mutating func setLine(_ record: consuming LineRecord, at index: LineIndex) throws(StoreError)
    /// Adds a line behind the others of its replica, and returns its number.
    mutating func addLine(_ record: consuming LineRecord) throws(StoreError) -> LineIndex
    /// The first line of a replica; nil if nothing of it was ever stored.
    func firstLine(of id: ReplicaID) -> LineIndex?
    /// Where the changes of branches are. Whoever appends to the log adds them, and a failed write leaves none behind.
    var branches: BranchIndex { get set }
    /// The frontier, until a line changes: each comparison and each greeting of a peer asks for it.
    var knownFrontier: Frontier? { get set }

    // The log, keyed (line, sequence, index).

    /// Appends a verified run behind what is stored of its line. `Merge` has checked that it fits. The run may be
    /// the tail of a longer one: only what its changes' ranges point at belongs to it.
    mutating func appendLog(_ run: VerifiedRun, indexes: RunIndexes) throws(StoreError)
    /// Stamp and hash of a stored change; nil if it is not stored.
    mutating func header(at point: LinePoint) throws(StoreError) -> ChangeHeader?
    /// What the stored changes of a line after one sequence and up to another add to the context, in order.
    mutating func contexts(
        of line: LineIndex,
        after sequence: UInt64,
        through last: UInt64
    ) throws(StoreError) -> [Point]
    /// A stored run from `sequence` on, ending at the last signature within the limits, or at the first signature there
    /// is if that lies beyond them; `signed` false asks for some changes up to the limit whether signed there or not.
    /// Nil if nothing is stored there.
    mutating func loadRun(
        of line: LineIndex,
        from sequence: UInt64,
        limits: RunLimits,
        signed: Bool
    ) throws(StoreError) -> Run?
    /// One stored operation in full words; nil if it is not stored.
    mutating func edit(_ write: WriteReference) throws(StoreError) -> Edit?

    // Writes that compaction dropped. They are in no list of versions, and count all the same.

    /// Puts a change in the place of the one that is stored, of which operations are spent now; the hash is the same.
    ///
    /// `run`: that change alone.
    mutating func replaceChange(at point: LinePoint, by run: Run, indexes: RunIndexes) throws(StoreError)
    /// The writes to a property that were dropped; nil if none was.
    mutating func spentWrites(at key: RegisterKey) throws(StoreError) -> SpentWrites?
    mutating func setSpentWrites(_ spent: SpentWrites?, at key: RegisterKey) throws(StoreError)
    /// Puts a change in the place of the one that is stored, of which fewer operations are spent; the hash is the same.
    ///
    /// `run`: that change alone.
    mutating func refillChange(at point: LinePoint, by run: Run, indexes: RunIndexes) throws(StoreError)
    /// Some of the properties with dropped writes, in ascending order, from behind one on.
    mutating func propertiesWithSpentWrites(after key: RegisterKey?, limit: Int) throws(StoreError) -> [RegisterKey]

    // Erasures that are not done yet.

    /// Records an erasure, unless a later one of the same property on the same line is there, which covers more.
    mutating func addErasure(_ erasure: PendingErasure) throws(StoreError)
    mutating func removeErasure(_ erasure: PendingErasure) throws(StoreError)
    /// Those of the first property behind one that has any, in the order of their lines; nil: from the beginning.
    mutating func erasures(after key: RegisterKey?) throws(StoreError) -> [PendingErasure]
    /// So many of the writes to a property that are superseded, and wanted, in no particular order.
    mutating func supersededWrites(
        at key: RegisterKey,
        upTo limit: Int,
        where isWanted: (WriteReference) -> Bool
    ) throws(StoreError) -> [WriteReference]

    /// The number of the last commit that changed any object; 0 if there is none, or commits are not numbered.
    var lastCommit: Int64 { get }

    // What follows from the log for whole changes: effective stamps, and contexts at some of them.

    mutating func raisedStamp(at point: LinePoint) throws(StoreError) -> RaisedStamp?
    mutating func setRaisedStamp(_ stamp: RaisedStamp?, at point: LinePoint) throws(StoreError)
    /// The changes whose raised stamp follows from a change.
    mutating func raisedStamps(causedBy point: LinePoint) throws(StoreError) -> [LinePoint]
    /// The hash of a line's last stored change, without copying its record.
    func storedHash(of index: LineIndex) -> Hash256
    /// Every restamp that is stored, whether it counts or not.
    var restamps: RestampTable { get }
    /// Records a restamp that is not settled: what it covers is ordered as if it were not there.
    mutating func addRestamp(_ record: RestampRecord) throws(StoreError)
    mutating func settleRestamp(_ record: RestampRecord) throws(StoreError)
    /// What is restamped by right in a replica's chain by what is settled, where that has been put together.
    func restampedChain(of replica: ReplicaID) -> RestampedChain?
    mutating func setRestampedChain(_ chain: RestampedChain?, of replica: ReplicaID)
    /// Sees to it that records of lines have their contexts.
    mutating func prepareContexts() throws(StoreError)
    /// Keeps what a change had seen; see `ContextTrail`.
    mutating func setCheckpoint(_ checkpoint: Checkpoint, at place: LinePoint) throws(StoreError)
    /// The last checkpoint of a line up to a sequence.
    mutating func checkpoint(
        of line: LineIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> (sequence: UInt64, checkpoint: Checkpoint)?
    /// All checkpoints of a line, in order.
    mutating func checkpoints(
        of line: LineIndex
    ) throws(StoreError) -> [(sequence: UInt64, checkpoint: Checkpoint)]
    /// Forgets those after a sequence, and the contexts that are kept of the line.
    mutating func removeCheckpoints(of line: LineIndex, after sequence: UInt64) throws(StoreError)
    /// The contexts at all checkpoints of a line, if somebody has put them together.
    ///
    /// A note to save work, which a store may forget at any time.
    func keptContexts(of line: LineIndex) -> [KeptContext]?
    mutating func setKeptContexts(_ contexts: [KeptContext]?, of line: LineIndex)

    // Branches of the workspace.

    /// Every statement about a branch that is stored.
    var timelines: TimelineTable { get }
    mutating func addTimeline(_ record: TimelineRecord) throws(StoreError)
    /// Records an operation of a branch that is not merged.
    mutating func addUnmerged(_ operation: UnmergedOperation) throws(StoreError)
    /// Forgets those of one change on an object.
    mutating func removeUnmerged(_ point: LinePoint, of object: ObjectIndex) throws(StoreError)
    /// Those at a key, in the order of their lines and sequences.
    mutating func unmergedOperations(at key: RegisterKey) throws(StoreError) -> [UnmergedOperation]
    /// The last one at a key on a line, up to a sequence.
    mutating func lastUnmerged(
        at key: RegisterKey,
        on line: LineIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> UnmergedOperation?
    /// Those on an object.
    mutating func unmergedOperations(on object: ObjectIndex) throws(StoreError) -> [UnmergedOperation]
    /// The objects that some of them put below a parent (nil: the root).
    mutating func objectsUnmerged(below parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex]

    /// Notes that a change of the main timeline had seen a line of a branch up to a sequence when it merged it.
    ///
    /// It is for programs that read the tables; a store without any has nothing to do.
    mutating func noteTaken(
        _ line: LineIndex,
        through sequence: UInt64,
        by change: LinePoint
    ) throws(StoreError)

    // Registers and their earlier or concurrent writes.

    mutating func register(_ key: RegisterKey) throws(StoreError) -> Register?
    mutating func setRegister(_ register: Register, at key: RegisterKey) throws(StoreError)
    /// Records a write that is not in force.
    mutating func addVersion(
        _ write: WriteReference,
        status: VersionStatus,
        at key: RegisterKey
    ) throws(StoreError)
    mutating func setVersion(_ write: WriteReference, status: VersionStatus, at key: RegisterKey) throws(StoreError)
    /// Gives a write another stamp, if it is recorded.
    mutating func restampVersion(_ write: WriteReference, to stamp: Stamp, at key: RegisterKey) throws(StoreError)
    /// Takes out a recorded write.
    mutating func removeVersion(_ write: WriteReference, at key: RegisterKey) throws(StoreError)
    /// The writes recorded with `.conflict`, in no particular order.
    mutating func conflicts(at key: RegisterKey) throws(StoreError) -> [WriteReference]
    /// Those on the first line, from one on, that has any; all conflicts of a line are in one place.
    mutating func firstConflicts(at key: RegisterKey, from line: LineIndex) throws(StoreError) -> [WriteReference]
    /// All registers of an object, in no particular order.
    mutating func registers(of object: ObjectIndex) throws(StoreError) -> [(NameIndex, Register)]
    /// Takes away everything that is recorded of a register, or of a name that stands for something else.
    mutating func removeRegister(_ key: RegisterKey) throws(StoreError)
    /// Of the recorded writes to a property up to a stamp that are wanted, all with the highest stamp that any has.
    ///
    /// - Complexity: O(log *n* + *k*) for *k* later ones that are not wanted.
    mutating func lastWrites(
        at key: RegisterKey,
        through stamp: Stamp,
        where isWanted: (WriteReference) -> Bool
    ) throws(StoreError) -> [WriteReference]
    /// The recorded deletions of an object, in no particular order.
    mutating func deletions(of object: ObjectIndex) throws(StoreError) -> [WriteReference]
    /// Every operation on an object that is recorded, moves and creations and deletions included, in no particular
    /// order.
    mutating func history(of object: ObjectIndex) throws(StoreError) -> [WriteReference]
    /// The applied creations of an object with their effective stamps, in no particular order; none if there is one.
    mutating func creations(of object: ObjectIndex) throws(StoreError) -> [WriteReference]
    /// The highest stamp of the recorded operations on an object.
    mutating func lastStamp(of object: ObjectIndex) throws(StoreError) -> Stamp
    /// The objects with several applied creations that differ in type or kind, in no particular order.
    mutating func objectsWithDifferentCreations() throws(StoreError) -> [ObjectIndex]
    /// All registers with conflicts, in no particular order.
    mutating func conflictedRegisters() throws(StoreError) -> [(RegisterKey, Register)]

    // Objects and the hierarchy.

    /// Looks at the record of an object without copying it.
    mutating func look<Result>(
        at object: ObjectIndex,
        _ body: (ObjectRecord) -> Result
    ) throws(StoreError) -> Result
    /// Changes the record of an object where it lies, and returns what the change returns.
    mutating func update<Result>(
        _ object: ObjectIndex,
        _ change: (inout ObjectRecord) -> Result
    ) throws(StoreError) -> Result
    /// How many objects show.
    mutating func visibleObjectCount() throws(StoreError) -> Int
    /// Objects that are known, whether they show or not, in ascending order of ids, from behind one on.
    mutating func knownObjects(after id: ObjectID?, limit: Int) throws(StoreError) -> [ObjectIndex]

    /// Records a move that is not recorded yet.
    mutating func addMove(_ move: MoveRecord) throws(StoreError)
    /// Takes out the move that an operation is, if it is one that is recorded; returns where it stood in the order.
    mutating func removeMove(_ write: WriteReference, of object: ObjectIndex) throws(StoreError) -> WriteReference?
    /// All objects with moves that had not seen each other, and that no later move has seen, in no particular order.
    mutating func objectsWithOpenMoves() throws(StoreError) -> [ObjectIndex]
    /// Changes whether a recorded move is effective.
    mutating func setMove(_ move: MoveRecord) throws(StoreError)
    /// The recorded moves ordered after a write, ascending in (stamp, replica id, ordinal).
    mutating func moves(after write: WriteReference) throws(StoreError) -> [MoveRecord]
    /// How many recorded moves have a stamp or a later one; no more than the limit are counted.
    mutating func moveCount(from stamp: Stamp, upTo limit: Int) throws(StoreError) -> Int
    /// The last effective recorded move of an object ordered before a write.
    mutating func lastEffectiveMove(
        of object: ObjectIndex,
        before write: WriteReference
    ) throws(StoreError) -> MoveRecord?
    /// The last effective recorded move of an object up to a stamp.
    mutating func lastEffectiveMove(
        of object: ObjectIndex,
        through stamp: Stamp
    ) throws(StoreError) -> MoveRecord?
    /// All recorded moves of an object, in no particular order.
    mutating func moves(of object: ObjectIndex) throws(StoreError) -> [MoveRecord]
    /// The objects that some recorded move puts below a parent (nil: the root, where all begin), in no order.
    mutating func objectsEverBelow(_ parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex]
    /// The last recorded move of each object whose last move is not effective.
    mutating func movesWithoutEffect() throws(StoreError) -> [MoveRecord]

    // The program's own facts.

    /// Bytes kept under a name; nil if there are none.
    mutating func fact(_ name: String) throws(StoreError) -> [UInt8]?
    mutating func setFact(_ name: String, _ value: [UInt8]?) throws(StoreError)
    /// Each list of records is read, and replaced, as a whole; it keeps its order.
    mutating func pairedDevices() throws(StoreError) -> [PairedDeviceRecord]
    mutating func setPairedDevices(_ devices: [PairedDeviceRecord]) throws(StoreError)
    mutating func invites() throws(StoreError) -> [InviteRecord]
    mutating func setInvites(_ invites: [InviteRecord]) throws(StoreError)
    mutating func addresses() throws(StoreError) -> [AddressRecord]
    mutating func setAddresses(_ addresses: [AddressRecord]) throws(StoreError)

    /// The write that a local caller named; nil if it was not done, or is forgotten.
    mutating func rememberedWrite(_ name: String) throws(StoreError) -> RememberedWrite?
    /// Remembers a write under a name that has none, and forgets old ones that are too many.
    mutating func remember(_ write: RememberedWrite, as name: String) throws(StoreError)

    /// Empties everything that follows from the log: registers, versions, objects' state, moves, raised stamps and
    /// checkpoints. Numbers of ids stay.
    mutating func clearDerivedState() throws(StoreError)
}

extension StoreTransaction {
    package var lastCommit: Int64 { 0 }

    package mutating func noteTaken(_ line: LineIndex, through sequence: UInt64, by change: LinePoint) {}

    package mutating func firstConflicts(
        at key: RegisterKey,
        from line: LineIndex
    ) throws(StoreError) -> [WriteReference] {
        let conflicts = try self.conflicts(at: key).filter { $0.line.rawValue >= line.rawValue }
        let first = conflicts.map(\.line.rawValue).min()
        return conflicts.filter { $0.line.rawValue == first }
    }

    package func firstLine(of id: ReplicaID) -> LineIndex? {
        for position in 0..<self.lineCount {
            let index = LineIndex(rawValue: UInt32(position))
            if self.line(index).id == id { return index }
        }
        return nil
    }

    package func replicaID(_ index: LineIndex) -> ReplicaID { self.line(index).id }

    package mutating func visibleObjectCount() throws(StoreError) -> Int { try self.visibleObjects().count }

    package func origin(of index: LineIndex) -> LineOrigin? { self.line(index).origin }

    package func progress(of index: LineIndex) -> LineProgress { self.line(index).progress }

    /// All lines of a replica, in the order in which they were found.
    package func lines(of id: ReplicaID) -> [LineIndex] {
        var lines: [LineIndex] = []
        var next = self.firstLine(of: id)
        while let line = next {
            lines.append(line)
            next = self.progress(of: line).next
        }
        return lines
    }

    /// The hash of a stored change; nil if it is not stored, as of sequence 0.
    package mutating func hash(at point: LinePoint) throws(StoreError) -> Hash256? {
        if self.progress(of: point.line).storedSequence == point.sequence { return self.storedHash(of: point.line) }
        return try self.header(at: point)?.hash
    }

    package mutating func parent(of index: ObjectIndex) throws(StoreError) -> ObjectIndex? {
        try self.look(at: index) { $0.parent }
    }

    package mutating func value(of name: NameIndex, on object: ObjectIndex) throws(StoreError) -> Value? {
        guard let register = try self.register(RegisterKey(object: object, name: name)), !register.isRemoval,
            case .set(_, _, let value) = try self.edit(register.winner)
        else { return nil }
        return value
    }

    package mutating func properties(
        of object: ObjectIndex
    ) throws(StoreError) -> [(name: String, value: Value)] {
        var properties: [(name: String, value: Value)] = []
        for (_, register) in try self.registers(of: object) where !register.isRemoval {
            guard case .set(_, let name, let value) = try self.edit(register.winner) else { continue }
            properties.append((name, value))
        }
        return properties
    }
}

/// How much of a replica's chain to load at once: never more than a peer accepts as one run.
package struct RunLimits: Hashable, Sendable {
    package var changeCountMax: Int
    package var operationCountMax: Int
    package var byteCountMax: Int

    package init(
        changeCountMax: Int = Limits.runChangeCountMax,
        operationCountMax: Int = Limits.runOperationCountMax,
        byteCountMax: Int = Limits.runByteCountMax
    ) {
        self.changeCountMax = min(changeCountMax, Limits.runChangeCountMax)
        self.operationCountMax = min(operationCountMax, Limits.runOperationCountMax)
        self.byteCountMax = min(byteCountMax, Limits.runByteCountMax)
    }

    /// Whether changes of a size are within the limits; one change always is.
    package func allow(_ size: ChangeSize) -> Bool {
        size.changeCount == 1
            || size.changeCount <= self.changeCountMax && size.operationCount <= self.operationCountMax
                && size.byteCount <= self.byteCountMax
    }
}
