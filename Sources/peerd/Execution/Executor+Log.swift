internal import CRDTCore
internal import Engine
internal import Persistence

extension Executor {
    /// Prints operations in chain order, replica by replica.
    ///
    /// What is written meanwhile is not waited for.
    func log(_ object: String?, _ output: CommandOutput) async throws {
        let isJSON = output.format.isJSON
        let (object, ends) = try await self.driver.read { transaction in
            var found: FoundObject?
            if let object {
                found = try ObjectLookup.find(object, includingDeleted: true, in: &transaction) as FoundObject
            }
            var ends: [ChainEnd] = []
            for position in 0..<transaction.replicaCount {
                let index = ReplicaIndex(rawValue: UInt32(position))
                let record = transaction.replica(index)
                if record.storedSequence > 0 {
                    ends.append(ChainEnd(id: record.id, index: index, sequence: record.storedSequence))
                }
            }
            return (found, ends.sorted { $0.id < $1.id })
        }
        for end in ends {
            var reader = LogReader(chain: end, object: object?.id)
            while !reader.isAtEnd {
                let current = reader
                let (lines, next) = try await self.driver.read { transaction in
                    var reader = current
                    let entries = try reader.nextEntries(in: &transaction)
                    return (entries.map { isJSON ? $0.json.canonicalText : $0.text }, reader)
                }
                reader = next
                for line in lines { try await output.line(line) }
            }
        }
    }
}

/// A replica's chain as far as a listing goes.
struct ChainEnd: Hashable, Sendable {
    var id: ReplicaID
    var index: ReplicaIndex
    var sequence: UInt64
}

/// Reads one replica's chain piece by piece.
struct LogReader: Sendable {
    private let chain: ChainEnd
    /// Only operations on this object.
    private let object: ObjectID?
    private var nextSequence: UInt64 = 1
    /// The context of the change before, filled up change by change.
    private var context: [ReplicaID: UInt64] = [:]

    /// How much is read at once.
    private static let limits = RunLimits(changeCountMax: 256, operationCountMax: 4096, byteCountMax: 1 << 20)

    init(chain: ChainEnd, object: ObjectID?) {
        self.chain = chain
        self.object = object
    }

    var isAtEnd: Bool { self.nextSequence > self.chain.sequence }

    /// The operations of the next changes.
    mutating func nextEntries(in transaction: inout some StoreTransaction) throws -> [LogEntry] {
        let run = try transaction.loadRun(
            of: self.chain.index,
            from: self.nextSequence,
            limits: Self.limits,
            signed: false
        )
        guard let run, !run.changes.isEmpty else {
            throw StoreError.damaged("change \(self.nextSequence) of replica \(self.chain.id) is missing from the log")
        }
        let record = transaction.replica(self.chain.index)
        var verdicts = LogVerdicts(record, replica: self.chain.index)
        if record.appliedSequence < record.storedSequence {
            let waits = try Merge.waits(at: SystemClock.now().wall, in: &transaction)
            if case .held? = waits[self.chain.index] { verdicts.isHeld = true }
        }
        var entries: [LogEntry] = []
        for change in run.changes where !self.isAtEnd {
            for entry in run.contextEntries[change.contextRange] {
                self.context[entry.replica] = max(self.context[entry.replica] ?? 0, entry.sequence)
            }
            if self.nextSequence > 1 { self.context[self.chain.id] = self.nextSequence - 1 }
            for (index, position) in change.operationRange.enumerated() {
                let operation = run.operations[position]
                if let object, !operation.kind.hasObject || run.objects[Int(operation.object)] != object { continue }
                let write = WriteReference(
                    stamp: change.stamp,
                    replica: self.chain.index,
                    sequence: self.nextSequence,
                    index: UInt32(index)
                )
                let edit = try self.edit(operation, of: run)
                entries.append(
                    LogEntry(
                        replica: self.chain.id,
                        introduction: record.introduction,
                        write: write,
                        context: self.context,
                        edit: edit,
                        status: try verdicts.status(of: edit, write, in: &transaction)
                    )
                )
            }
            self.nextSequence += 1
        }
        return entries
    }

    private func edit(_ operation: Operation, of run: Run) throws -> Edit {
        do throws(WireError) {
            return try run.edit(operation)
        } catch {
            throw StoreError.damaged("an operation of change \(self.nextSequence) in the log cannot be read")
        }
    }
}

/// What became of an operation.
enum OperationStatus: String, Hashable, Sendable {
    /// It counts and nothing has replaced it.
    case effective
    /// It counts, but someone who had seen it has written since.
    case superseded
    /// It counts, and lost against something concurrent.
    case conflict
    /// A move that would have closed a cycle.
    case withoutEffect = "without effect"
    /// Its change does not count; see `peerd status`.
    case rejected
    /// Stamped too far in the future; it will count when its time has come.
    case held
    /// It had seen changes that are not here yet.
    case waiting
    /// Of a kind that this version of peerd does not know, or left out by who sent it.
    case unread

    /// Whether the operation belongs to the set that the state is a function of.
    var isEffective: Bool {
        switch self {
        case .effective, .superseded, .conflict, .withoutEffect, .unread: true
        case .rejected, .held, .waiting: false
        }
    }
}

/// Judges operations of one replica by the state.
private struct LogVerdicts {
    let record: ReplicaRecord
    var isHeld = false
    private let replica: ReplicaIndex

    init(_ record: ReplicaRecord, replica: ReplicaIndex) {
        self.record = record
        self.replica = replica
    }

    func status(
        of edit: Edit,
        _ write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws -> OperationStatus {
        guard self.record.isEffective(write.sequence) else { return .rejected }
        guard write.sequence <= self.record.appliedSequence else { return self.isHeld ? .held : .waiting }
        switch edit {
        case .set(let object, let name, _), .unset(let object, let name):
            let key = RegisterKey(
                object: try transaction.objectIndex(of: object),
                name: try transaction.nameIndex(of: name)
            )
            guard let register = try transaction.register(key) else { return .superseded }
            if register.winner.isSameOperation(as: write) { return .effective }
            guard register.conflictCount > 0 else { return .superseded }
            let conflicts = try transaction.conflicts(at: key)
            return conflicts.contains { $0.isSameOperation(as: write) } ? .conflict : .superseded
        case .create(let object, _, _):
            let creation = try transaction.object(try transaction.objectIndex(of: object)).creation
            return creation?.write.isSameOperation(as: write) == true ? .effective : .superseded
        case .move(let object, let place):
            return try self.status(ofMove: object, place, write, in: &transaction)
        case .delete, .introduce, .retire: return .effective
        case .unknown, .leftOut: return .unread
        }
    }

    private func status(
        ofMove object: ObjectID,
        _ place: Place,
        _ write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws -> OperationStatus {
        let index = try transaction.objectIndex(of: object)
        var after = write
        after.index += 1
        let last = try transaction.lastEffectiveMove(of: index, before: after)
        guard let last, last.write.isSameOperation(as: write) else { return .withoutEffect }
        let record = try transaction.object(index)
        let parent = try place.parent.map { try transaction.objectIndex(of: $0) }
        return record.parent == parent && record.position == place.position ? .effective : .superseded
    }
}

extension WriteReference {
    func isSameOperation(as other: WriteReference) -> Bool {
        self.replica == other.replica && self.sequence == other.sequence && self.index == other.index
    }
}
