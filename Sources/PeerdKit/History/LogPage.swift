internal import CRDTCore
internal import Engine
internal import Persistence

/// Some operations of the log in the order of time.
package struct LogPage: Sendable {
    package var entries: [LogEntry] = []
    /// Where each of them stands.
    var places: [LogPlace] = []
    /// The place of the last one; nil if nothing comes behind it.
    package var next: LogPlace?
}

/// A place in the log in the order of time, in one database.
///
/// What is held, or waits, has no place in time yet, and comes behind everything else.
package struct LogPlace: Hashable, Sendable, Comparable {
    var stamp: Stamp
    var replica: ReplicaID
    var sequence: UInt64
    var segment: SegmentIndex
    var index: UInt32

    package static func < (left: LogPlace, right: LogPlace) -> Bool {
        if left.stamp != right.stamp { return left.stamp < right.stamp }
        if left.replica != right.replica { return left.replica < right.replica }
        return (left.sequence, left.segment.rawValue, left.index) < (
            right.sequence, right.segment.rawValue, right.index
        )
    }

    /// Where a change stands: its first operation is there.
    init(of point: SegmentPoint, in transaction: inout some StoreTransaction) throws(StoreError) {
        let record = transaction.segment(point.segment)
        let isApplied = point.sequence <= record.appliedSequence
        self.stamp = isApplied ? try transaction.effectiveStamp(at: point) : Stamp(rawValue: .max)
        (self.replica, self.sequence, self.segment, self.index) = (record.id, point.sequence, point.segment, 0)
    }

    fileprivate init(_ write: WriteReference, in transaction: borrowing some StoreTransaction) {
        self.stamp = write.stamp
        self.replica = transaction.replicaID(write.segment)
        (self.sequence, self.segment, self.index) = (write.sequence, write.segment, write.index)
    }

    /// Reads what ``text`` is; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 5, let stamp = UInt64(parts[0], radix: 16), let sequence = UInt64(parts[2]),
            let segment = UInt32(parts[3]), let index = UInt32(parts[4]),
            let bytes = Hexadecimal.bytes(parts[1]).flatMap({ Bytes16($0) })
        else { return nil }
        self.stamp = Stamp(rawValue: stamp)
        self.replica = ReplicaID(bytes: bytes)
        (self.sequence, self.segment, self.index) = (sequence, SegmentIndex(rawValue: segment), index)
    }

    /// The place as a cursor.
    package var text: String {
        let stamp = String(self.stamp.rawValue, radix: 16)
        return "\(stamp)-\(self.replica)-\(self.sequence)-\(self.segment.rawValue)-\(self.index)"
    }

    var point: SegmentPoint { SegmentPoint(segment: self.segment, sequence: self.sequence) }
}

extension Workspace {
    /// Returns some operations of everything, or of one object, in the order of time.
    ///
    /// Operations that change no object are left out.
    /// - Complexity: O(*l* log *n* + *p*) for *l* stretches of chains, *n* changes and *p* operations of the page. Of
    ///   one object, O(*m* + *p* (*r* + log *n*)) for *r* properties and *m* moves, creations and deletions; the oldest
    ///   first, as many steps as it has operations.
    package func logPage(
        of object: ObjectID?,
        after place: LogPlace?,
        newestFirst: Bool,
        limit: Int
    ) async throws -> LogPage {
        try await self.reading { transaction in
            try self.logPage(of: object, nil, after: place, newestFirst, limit, in: &transaction)
        }
    }

    /// The same, of one property alone if a name is given.
    func logPage(
        of object: ObjectID?,
        _ property: String?,
        after place: LogPlace?,
        _ newestFirst: Bool,
        _ limit: Int,
        in transaction: inout SQLiteStore.Transaction
    ) throws -> LogPage {
        var held: Set<SegmentIndex> = []
        var merge = Merge(now: SystemClock.now().wall, founder: self.identity.founder)
        for (segment, wait) in try merge.waits(in: &transaction) {
            if case .held = wait { held.insert(segment) }
        }
        var reading = LogPageReading(
            device: self.identity.device,
            held: held,
            rights: try transaction.judgedRights(founder: self.identity.founder),
            after: place,
            newestFirst: newestFirst,
            limit: limit,
            property: property.map { ExactText($0) }
        )
        if let object {
            try reading.read(object, in: &transaction)
        } else {
            try reading.readAll(in: &transaction)
        }
        return reading.page
    }
}

/// Puts a page of the log together.
private struct LogPageReading {
    let device: DeviceID
    let held: Set<SegmentIndex>
    let rights: RightsTable
    let after: LogPlace?
    let newestFirst: Bool
    let limit: Int
    /// The property whose writes are wanted; nil for everything.
    let property: ExactText?
    var page = LogPage()
    var last: LogPlace?
    var byteCount = 0

    private func isBehind(_ place: LogPlace, _ other: LogPlace) -> Bool {
        self.newestFirst ? place < other : other < place
    }

    /// Takes an operation in; returns false if the page is full.
    private mutating func add(_ entry: LogEntry, at place: LogPlace) -> Bool {
        guard self.page.entries.count < self.limit, self.byteCount < Page.byteCountMax else {
            self.page.next = self.last
            return false
        }
        self.page.entries.append(entry)
        self.page.places.append(place)
        if case .set(_, let value) = entry.action { self.byteCount += value.byteCount }
        self.last = place
        return true
    }

    // MARK: - Everything

    /// Merges the stretches of all chains, each of which is in the order of time.
    mutating func readAll(in transaction: inout some StoreTransaction) throws {
        // The next change of each stretch, the one to be read next last.
        var heads: [LogPlace] = []
        for segment in transaction.segmentIndices {
            if let place = try self.first(of: segment, in: &transaction) { heads.append(place) }
        }
        heads.sort { self.isBehind($0, $1) }
        while let head = heads.popLast() {
            for (place, entry) in try LoadedChange(at: head, for: self, in: &transaction).entries(in: &transaction) {
                guard self.after.map({ self.isBehind(place, $0) }) ?? true else { continue }
                guard self.add(entry, at: place) else { return }
            }
            guard let place = try self.neighbour(of: head.point, in: &transaction) else { continue }
            heads.insert(place, at: heads.firstPosition { !self.isBehind($0, place) })
        }
    }

    /// The first change of a stretch that is not wholly before the page.
    private func first(of segment: SegmentIndex, in transaction: inout some StoreTransaction) throws -> LogPlace? {
        let record = transaction.segment(segment)
        guard record.firstSequence <= record.storedSequence else { return nil }
        guard let after = self.after else {
            let sequence = self.newestFirst ? record.storedSequence : record.firstSequence
            return try LogPlace(of: SegmentPoint(segment: segment, sequence: sequence), in: &transaction)
        }
        // The first change that begins behind the place.
        let stored = record.firstSequence..<record.storedSequence + 1
        let next = try stored.firstPosition { sequence in
            try after < LogPlace(of: SegmentPoint(segment: segment, sequence: sequence), in: &transaction)
        }
        // The one before it begins at or before the place, and may reach beyond it.
        let sequence = next > stored.lowerBound ? next - 1 : (self.newestFirst ? nil : next)
        guard let sequence, stored.contains(sequence) else { return nil }
        return try LogPlace(of: SegmentPoint(segment: segment, sequence: sequence), in: &transaction)
    }

    private func neighbour(of point: SegmentPoint, in transaction: inout some StoreTransaction) throws -> LogPlace? {
        let record = transaction.segment(point.segment)
        let sequence = self.newestFirst ? point.sequence - 1 : point.sequence + 1
        guard (record.firstSequence...record.storedSequence).contains(sequence) else { return nil }
        return try LogPlace(of: SegmentPoint(segment: point.segment, sequence: sequence), in: &transaction)
    }

    // MARK: - One object

    mutating func read(_ object: ObjectID, in transaction: inout some StoreTransaction) throws {
        guard let index = try transaction.existingObjectIndex(of: object) else { return }
        // Of writes, which may be very many, no more are looked for than the page has. Everything else is few.
        var writes = WritesBackward(from: self.after)
        var others: Set<LogPlace> = []
        // What is hidden was written beside it, and what came before a move where it was.
        let showing = try [index] + transaction.besides(index)
        let parts = try showing + transaction.objects(of: object).filter { !showing.contains($0) }
        let circles = Set(try showing.map { part in try transaction.look(at: part) { $0.circle } })
        if self.newestFirst {
            let keys = try parts.flatMap { try self.keys(of: $0, in: &transaction) }
            try writes.begin(with: keys, in: &transaction)
            if self.property == nil {
                for part in parts { others.formUnion(try self.places(beside: part, in: &transaction)) }
            }
        } else {
            for part in parts {
                others.formUnion(try transaction.history(of: part).map { LogPlace($0, in: transaction) })
            }
        }
        for part in parts {
            for operation in try transaction.unmergedOperations(on: part) {
                others.insert(LogPlace(try transaction.write(of: operation), in: transaction))
            }
        }
        try self.addPending(of: object, to: &others, in: &transaction)
        // The one to be read next last.
        var rest = others.filter { place in self.after.map { self.isBehind(place, $0) } ?? true }
            .sorted { self.isBehind($0, $1) }
        // Operations of one change follow each other, and may be very many.
        var loaded: LoadedChange?
        while true {
            let place: LogPlace
            if let write = writes.next, rest.last.map({ self.isBehind($0, write) }) ?? true {
                place = write
                try writes.advance(in: &transaction)
            } else if let last = rest.popLast() {
                place = last
            } else {
                return
            }
            if loaded?.place.point != place.point {
                loaded = try LoadedChange(at: place, for: self, in: &transaction)
            }
            guard var entry = try loaded?.entry(place.index, of: object, in: &transaction) else {
                throw StoreError.damaged("an operation of object \(object) is missing from the log")
            }
            if !circles.contains(transaction.progress(of: place.point.segment).circle) { entry = entry.elsewhere() }
            guard self.concerns(entry.action) else { continue }
            guard self.add(entry, at: place) else { return }
        }
    }

    /// The properties whose writes are wanted.
    private func keys(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws -> [RegisterKey] {
        guard let property = self.property else {
            return try transaction.registers(of: object).map { RegisterKey(object: object, name: $0.0) }
        }
        let name = try transaction.existingNameIndex(of: property.text)
        return name.map { [RegisterKey(object: object, name: $0)] } ?? []
    }

    /// The places of an object's creations, deletions and moves.
    private func places(
        beside object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws -> Set<LogPlace> {
        var writes = try transaction.creations(of: object) + transaction.deletions(of: object)
        writes += try transaction.moves(of: object).map(\.write)
        if let creation = try transaction.look(at: object, { $0.creation }) { writes.append(creation.write) }
        return Set(writes.map { LogPlace($0, in: transaction) })
    }

    private func concerns(_ action: LogEntry.Action) -> Bool {
        guard let property = self.property else { return true }
        switch action {
        case .set(let name, _), .unset(let name): return ExactText(name) == property
        default: return false
        }
    }

    /// Adds the operations of changes that are held, or wait.
    private func addPending(
        of object: ObjectID,
        to places: inout Set<LogPlace>,
        in transaction: inout some StoreTransaction
    ) throws {
        for segment in transaction.segmentIndices {
            let progress = transaction.progress(of: segment)
            guard progress.isPending else { continue }
            for sequence in progress.appliedSequence + 1...progress.storedSequence {
                let place = try LogPlace(of: SegmentPoint(segment: segment, sequence: sequence), in: &transaction)
                let change = try LoadedChange(at: place, for: self, in: &transaction)
                places.formUnion(try change.entries(of: object, in: &transaction).map(\.place))
            }
        }
    }
}

/// A change as it lies in the log, of which operations are shown.
private struct LoadedChange {
    let place: LogPlace
    private let newestFirst: Bool
    private let run: Run
    private let header: ChangeHeader
    private let verdicts: LogVerdicts
    private let stamp: Stamp
    private let replica: ReplicaID
    private let author: Author

    private static let one = RunLimits(changeCountMax: 1, operationCountMax: 0, byteCountMax: 0)

    init(at place: LogPlace, for reading: LogPageReading, in transaction: inout some StoreTransaction) throws {
        let (segment, sequence) = (place.segment, place.sequence)
        guard let header = try transaction.header(at: place.point),
            let run = try transaction.loadRun(of: segment, from: sequence, limits: Self.one, signed: false),
            !run.changes.isEmpty
        else { throw StoreError.damaged("change \(sequence) of replica \(place.replica) is missing from the log") }
        let record = transaction.segment(segment)
        (self.place, self.newestFirst, self.run, self.header) = (place, reading.newestFirst, run, header)
        self.verdicts = LogVerdicts(
            appliedSequence: record.appliedSequence,
            isHeld: reading.held.contains(segment),
            limits: reading.rights.limits(of: segment)
        )
        self.stamp = sequence <= record.appliedSequence ? place.stamp : header.stamp
        self.replica = record.id
        self.author = Author(record.introduction, of: reading.device)
    }

    /// The operations in the order of the page, of everything, or of an object.
    func entries(
        of object: ObjectID? = nil,
        in transaction: inout some StoreTransaction
    ) throws -> [(place: LogPlace, entry: LogEntry)] {
        var found: [(place: LogPlace, entry: LogEntry)] = []
        for index in self.run.changes[0].operationRange.indices {
            var place = self.place
            place.index = UInt32(index - self.start)
            guard let entry = try self.entry(place.index, of: object, in: &transaction) else { continue }
            found.append((place, entry))
        }
        return self.newestFirst ? found.reversed() : found
    }

    private var start: Int { self.run.changes[0].operationRange.lowerBound }

    /// One operation; nil if there is none of that number, it changes no object, or another one than is asked for.
    func entry(
        _ index: UInt32,
        of object: ObjectID?,
        in transaction: inout some StoreTransaction
    ) throws -> LogEntry? {
        let range = self.run.changes[0].operationRange
        guard Int(index) < range.count else { return nil }
        let operation = self.run.operations[self.start + Int(index)]
        guard object == nil || operation.kind.hasObject && self.run.objects[Int(operation.object)] == object else {
            return nil
        }
        let (write, edit, status) = try self.verdicts.judge(
            operation,
            index,
            in: self.run,
            at: self.place.point,
            self.stamp,
            in: &transaction
        )
        let entry = LogEntry(
            id: write.name(in: self.replica, ChangeName(self.header.hash)),
            edit: edit,
            author: self.author,
            stamp: write.stamp,
            status: status
        )
        if case .housekeeping = entry.action { return nil }
        return entry
    }
}

/// The writes to some properties, the latest first.
///
/// - Complexity: O(*p* + log *n*) for each of them, for *p* properties with *n* writes.
private struct WritesBackward {
    private struct Source {
        let key: RegisterKey
        /// The next writes, all of one stamp, the one to be read next last.
        var places: [LogPlace] = []
    }

    private let start: LogPlace?
    private var sources: [Source] = []

    /// `start`: the place that all of them are before; nil for the latest.
    init(from start: LogPlace?) { self.start = start }

    mutating func begin(with keys: [RegisterKey], in transaction: inout some StoreTransaction) throws {
        for key in keys {
            var source = Source(key: key)
            try self.fill(&source, through: self.start?.stamp ?? Stamp(rawValue: .max), in: &transaction)
            if !source.places.isEmpty { self.sources.append(source) }
        }
    }

    /// The write to be read next; nil if there is none.
    var next: LogPlace? { self.sources.lazy.compactMap(\.places.last).max() }

    /// Passes over it.
    mutating func advance(in transaction: inout some StoreTransaction) throws {
        guard let place = self.next, let found = self.sources.firstIndex(where: { $0.places.last == place }) else {
            return
        }
        var source = self.sources[found]
        source.places.removeLast()
        if source.places.isEmpty, place.stamp.rawValue > 0 {
            try self.fill(&source, through: Stamp(rawValue: place.stamp.rawValue - 1), in: &transaction)
        }
        if source.places.isEmpty { self.sources.remove(at: found) } else { self.sources[found] = source }
    }

    private func fill(
        _ source: inout Source,
        through stamp: Stamp,
        in transaction: inout some StoreTransaction
    ) throws {
        var bound = stamp
        while source.places.isEmpty {
            let writes = try transaction.lastWrites(at: source.key, through: bound, where: { _ in true })
            guard let last = writes.first?.stamp else { return }
            source.places = writes.map { LogPlace($0, in: transaction) }
                .filter { place in self.start.map { place < $0 } ?? true }
                .sorted()
            guard last.rawValue > 0 else { return }
            bound = Stamp(rawValue: last.rawValue - 1)
        }
    }
}
