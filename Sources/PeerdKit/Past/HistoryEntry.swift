package import CRDTCore
internal import Persistence

/// An operation in the history of an object, with what it replaced.
public struct HistoryEntry: Identifiable, Hashable, Sendable {
    /// The operation, with its author, its time, and whether it is in force.
    public let entry: LogEntry
    /// The moment right after its transaction, as the author saw it.
    public let moment: Moment
    /// The edit that was in force before, as the author saw it; nil if there was none, as before a creation.
    ///
    /// It is `unread` if a compaction has dropped it, or somebody has erased it.
    public let replaced: LogEntry.Action?
    /// Tells whether the transaction erased the values that the property had before.
    public let erasesPast: Bool

    /// The id of the operation.
    public var id: String { self.entry.id }
}

/// A part of the history of an object.
public struct HistoryPage: Hashable, Sendable {
    /// The operations, the latest first.
    public let entries: [HistoryEntry]
    /// The place where the next page begins; nil if this page is the last.
    public let next: HistoryCursor?
}

/// The place where a page of a history ended.
public struct HistoryCursor: Hashable, Sendable {
    let place: LogPlace

    /// The cursor as text.
    package var text: String { self.place.text }

    /// Reads a cursor from its text; nil if it is none.
    package init?(_ text: String) {
        guard let place = LogPlace(text) else { return nil }
        self.place = place
    }

    init(_ place: LogPlace) { self.place = place }
}

extension Workspace {
    /// Returns operations on an object, the latest first, each with what it replaced.
    ///
    /// - Parameters:
    ///   - object: the object, which may be deleted.
    ///   - property: the property whose writes are wanted; nil for all operations.
    ///   - cursor: ``HistoryPage/next`` of the page before; nil for the latest operations.
    ///   - limit: the most operations to return, from 1 to 10,000.
    /// - Returns: the operations, and the cursor for the next page.
    /// - Throws: ``PeerdError`` with `invalidArgument`, `closed`, or if the disk fails; `CancellationError`.
    /// - Complexity: O(*m* + *l* (*p* + log *n*)) for a page of *l* operations, *p* properties with *n* writes, and *m*
    ///   moves, creations and deletions; for each move of the page, O(*m*) more.
    public func history(
        of object: ObjectID,
        property: String? = nil,
        after cursor: HistoryCursor? = nil,
        limit: Int = 100
    ) async throws -> HistoryPage {
        guard (1...Page.limitMax).contains(limit) else {
            throw PeerdError(
                .invalidArgument,
                "A page has 1 to \(Page.limitMax) operations.",
                advice: "Ask for several pages."
            )
        }
        return try await self.reading { transaction in
            let page = try self.logPage(of: object, property, after: cursor?.place, true, limit, in: &transaction)
            var entries: [HistoryEntry] = []
            for (entry, place) in zip(page.entries, page.places) {
                entries.append(try HistoryEntry(entry, at: place, in: &transaction))
            }
            return HistoryPage(entries: entries, next: page.next.map { HistoryCursor($0) })
        }
    }
}

extension HistoryEntry {
    fileprivate init(_ entry: LogEntry, at place: LogPlace, in transaction: inout SQLiteTransaction) throws {
        self.entry = entry
        let point = place.point
        let hash = try transaction.hash(at: point) ?? .zero
        let name = Point(replica: place.replica, sequence: place.sequence, name: ChangeName(hash))
        self.moment = Moment(.changes([name]))
        self.erasesPast = try Self.erasesPast(entry, at: place, in: &transaction)
        let circle = transaction.progress(of: point.segment).circle
        guard entry.status.isEffective, let object = entry.object,
            let index = try transaction.existingObjectIndex(of: object, in: circle)
        else {
            self.replaced = nil
            return
        }
        self.replaced = try Replaced(point, place.index, in: &transaction).action(
            before: entry.action,
            of: index,
            in: &transaction
        )
    }
}

extension HistoryEntry {
    /// Whether an operation comes right behind the erasure of what it writes to.
    private static func erasesPast(
        _ entry: LogEntry,
        at place: LogPlace,
        in transaction: inout SQLiteTransaction
    ) throws -> Bool {
        guard let object = entry.object, place.index > 0 else { return false }
        let name: String
        switch entry.action {
        case .set(let text, _), .unset(let text): name = text
        default: return false
        }
        let point = place.point
        let before = WriteReference(
            stamp: .zero,
            segment: point.segment,
            sequence: point.sequence,
            index: place.index - 1
        )
        return try transaction.edit(before) == .erase(Erasure(object: object, name: name))
    }
}

/// What the author of an operation saw before it.
private struct Replaced {
    private let view: HistoryView
    private let point: SegmentPoint
    private let index: UInt32
    /// The effective stamp of the operation: whatever its author had seen has none that is later.
    private let stamp: Stamp

    init(_ point: SegmentPoint, _ index: UInt32, in transaction: inout SQLiteTransaction) throws(StoreError) {
        var seen = try transaction.context(at: point)
        if let before = transaction.place(before: point) { transaction.cover(before, in: &seen) }
        self.view = HistoryView(seen: seen)
        (self.point, self.index) = (point, index)
        self.stamp = try transaction.effectiveStamp(at: point)
    }

    /// Whether a write came before: the author had seen it, or wrote it earlier in the same transaction.
    private func counts(_ write: WriteReference) -> Bool {
        write.point == self.point ? write.index < self.index : self.view.counts(write)
    }

    /// The write to a property that was in force before.
    ///
    /// A transaction may write to one property very often, so what it wrote itself is asked for first.
    private func write(
        at key: RegisterKey,
        in transaction: inout SQLiteTransaction
    ) throws(StoreError) -> WriteReference? {
        let (segment, sequence) = (self.point.segment, self.point.sequence)
        let own = WriteReference(stamp: self.stamp, segment: segment, sequence: sequence, index: self.index)
        if let before = try transaction.writeOfSameChange(before: own, at: key) { return before }
        guard self.stamp.rawValue > 0 else { return nil }
        let earlier = Stamp(rawValue: self.stamp.rawValue - 1)
        return try transaction.lastWrites(at: key, through: earlier, where: self.view.counts)
            .max { WriteOrder.precedes($0, $1, transaction) }
    }

    func action(
        before action: LogEntry.Action,
        of object: ObjectIndex,
        in transaction: inout SQLiteTransaction
    ) throws(StoreError) -> LogEntry.Action? {
        switch action {
        case .set(let name, _), .unset(let name):
            let key = RegisterKey(object: object, name: try transaction.nameIndex(of: name))
            let write = try self.write(at: key, in: &transaction)
            do throws(StoreError) {
                try transaction.requireKept(write, at: key)
            } catch .compacted {
                return .unread
            }
            guard let write, let edit = try transaction.edit(write) else { return nil }
            return LogEntry.Action(edit)
        case .move:
            let moves = try transaction.moves(of: object).filter { self.counts($0.write) && $0.isEffective }
            guard let move = moves.max(by: { WriteOrder.precedes($0.write, $1.write, transaction) }) else { return nil }
            return .move(under: try move.parent.map { parent throws(StoreError) in try transaction.object(parent).id })
        case .create, .delete, .housekeeping, .unread: return nil
        }
    }
}
