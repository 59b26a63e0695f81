internal import CRDTCore
internal import Engine
internal import PeerdKit
internal import Persistence

extension Executor {
    /// Prints operations in chain order, branch by branch.
    ///
    /// What is written meanwhile is not waited for.
    func log(_ object: String?, _ output: CommandOutput) async throws {
        let isJSON = output.format.isJSON
        let waits = try await self.driver.status().waits
        let (object, ends) = try await self.read { transaction in
            var found: FoundObject?
            if let object {
                found = try ObjectLookup.find(object, includingDeleted: true, in: &transaction) as FoundObject
            }
            var ends: [ChainEnd] = []
            for position in 0..<transaction.lineCount {
                var end = ChainEnd(of: LineIndex(rawValue: UInt32(position)), in: transaction)
                end.isHeld = waits.contains {
                    guard case .held = $0.reason else { return false }
                    return $0.replica == end.id && $0.sequence == end.appliedSequence + 1
                }
                ends.append(end)
            }
            return (found, ends.sorted { ($0.id, $0.firstSequence) < ($1.id, $1.firstSequence) })
        }
        for end in ends {
            var reader = LogReader(chain: end, object: object?.id)
            while !reader.isAtEnd {
                let current = reader
                let (lines, next) = try await self.read { transaction in
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

/// A stretch of a replica's chain without a fork, as far as a listing goes.
struct ChainEnd: Hashable, Sendable {
    var id: ReplicaID
    var index: LineIndex
    var firstSequence: UInt64
    var sequence: UInt64
    var appliedSequence: UInt64
    /// Whether what is not applied waits for its time, and not for other changes.
    var isHeld = false

    init(of index: LineIndex, in transaction: borrowing some StoreTransaction) {
        let record = transaction.line(index)
        self.id = record.id
        self.index = index
        self.firstSequence = record.firstSequence
        self.sequence = record.storedSequence
        self.appliedSequence = record.appliedSequence
    }
}

/// Reads one stretch of a chain piece by piece.
struct LogReader: Sendable {
    private let chain: ChainEnd
    /// Only operations on this object.
    private let object: ObjectID?
    private var nextSequence: UInt64
    /// The hash of the change before.
    private var previous: Hash256?
    private var seen = SeenPoints()

    /// How much is read at once.
    private static let limits = RunLimits(changeCountMax: 256, operationCountMax: 4096, byteCountMax: 1 << 20)

    init(chain: ChainEnd, object: ObjectID?) {
        self.chain = chain
        self.object = object
        self.nextSequence = chain.firstSequence
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
        let record = transaction.line(self.chain.index)
        if self.nextSequence == self.chain.firstSequence { try self.begin(record, in: &transaction) }
        let verdicts = LogVerdicts(appliedSequence: record.appliedSequence, isHeld: self.chain.isHeld)
        var entries: [LogEntry] = []
        for change in run.changes where !self.isAtEnd {
            let place = LinePoint(line: self.chain.index, sequence: self.nextSequence)
            guard let header = try transaction.header(at: place) else {
                throw StoreError.damaged("change \(self.nextSequence) of replica \(self.chain.id) has no hash")
            }
            let isApplied = self.nextSequence <= record.appliedSequence
            let stamp = isApplied ? try transaction.effectiveStamp(at: place) : header.stamp
            for point in run.contextEntries[change.contextRange] { try self.seen.add(point, in: &transaction) }
            for (index, position) in change.operationRange.enumerated() {
                let operation = run.operations[position]
                if let object, !operation.kind.hasObject || run.objects[Int(operation.object)] != object { continue }
                let write = WriteReference(
                    stamp: stamp,
                    line: self.chain.index,
                    sequence: self.nextSequence,
                    index: UInt32(index)
                )
                let edit = try self.edit(operation, of: run)
                entries.append(
                    LogEntry(
                        replica: self.chain.id,
                        introduction: record.introduction,
                        write: write,
                        header: header,
                        previous: self.previous,
                        context: self.seen.all,
                        edit: edit,
                        status: try verdicts.status(of: edit, write, in: &transaction)
                    )
                )
            }
            self.previous = header.hash
            let name = ChangeName(header.hash)
            self.seen.add(place, Point(replica: self.chain.id, sequence: self.nextSequence, name: name))
            self.nextSequence += 1
        }
        return entries
    }

    /// A branch goes on with what the change had seen on which it hangs.
    private mutating func begin(_ record: LineRecord, in transaction: inout some StoreTransaction) throws {
        guard let before = record.origin?.parent, before.sequence > 0 else { return }
        self.previous = try transaction.hash(at: before)
        var context = try transaction.context(at: before)
        transaction.cover(before, in: &context)
        for (line, sequence) in context.all {
            let place = LinePoint(line: line, sequence: sequence)
            guard let hash = try transaction.hash(at: place) else { continue }
            let replica = transaction.replicaID(place.line)
            self.seen.add(place, Point(replica: replica, sequence: sequence, name: ChangeName(hash)))
        }
    }

    private func edit(_ operation: Operation, of run: Run) throws -> Edit {
        do throws(WireError) {
            return try run.edit(operation)
        } catch {
            throw StoreError.damaged("an operation of change \(self.nextSequence) in the log cannot be read")
        }
    }
}

/// What the author of a change had seen, filled up change by change.
private struct SeenPoints: Sendable {
    private var stored: [LineIndex: Point] = [:]
    private var missing: Set<Point> = []

    /// The last changes; some may come before others in their chains.
    var all: Set<Point> { self.missing.union(self.stored.values) }

    mutating func add(_ point: Point, in transaction: inout some StoreTransaction) throws {
        if let place = try transaction.place(of: point) {
            self.add(place, point)
        } else {
            self.missing.insert(point)
        }
    }

    mutating func add(_ place: LinePoint, _ point: Point) {
        if self.stored[place.line]?.sequence ?? 0 < place.sequence { self.stored[place.line] = point }
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
        case .held, .waiting: false
        }
    }
}

/// Judges operations of one stretch of a chain by the state.
private struct LogVerdicts {
    let appliedSequence: UInt64
    let isHeld: Bool

    func status(
        of edit: Edit,
        _ write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws -> OperationStatus {
        guard write.sequence <= self.appliedSequence else { return self.isHeld ? .held : .waiting }
        switch edit {
        case .set(let object, let name, _), .unset(let object, let name):
            let key = RegisterKey(
                object: try transaction.objectIndex(of: object),
                name: try transaction.nameIndex(of: name)
            )
            guard let register = try transaction.register(key) else { return .superseded }
            if register.winner == write { return .effective }
            guard register.conflictCount > 0 else { return .superseded }
            return try transaction.conflicts(at: key).contains(write) ? .conflict : .superseded
        case .move(let object, _): return try self.status(ofMove: object, write, in: &transaction)
        case .create, .delete, .introduce, .restamp: return .effective
        case .unknown, .leftOut: return .unread
        }
    }

    private func status(
        ofMove object: ObjectID,
        _ write: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws -> OperationStatus {
        let index = try transaction.objectIndex(of: object)
        var after = write
        after.index += 1
        let last = try transaction.lastEffectiveMove(of: index, before: after)
        guard last?.write == write else { return .withoutEffect }
        if try transaction.moveInForce(of: index)?.write == write { return .effective }
        return try transaction.openMoves(of: index).contains(write) ? .conflict : .superseded
    }
}

extension StoreTransaction {
    /// The move that an object owes its place to; nil if it was never moved.
    mutating func moveInForce(of object: ObjectIndex) throws(StoreError) -> MoveRecord? {
        let end = WriteReference(
            stamp: Stamp(rawValue: .max),
            line: LineIndex(rawValue: 0),
            sequence: Limits.sequenceMax,
            index: 0
        )
        return try self.lastEffectiveMove(of: object, before: end)
    }
}
