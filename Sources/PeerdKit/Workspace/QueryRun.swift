internal import CRDTCore
internal import Foundation
internal import Persistence

/// A query on one state of the database.
///
/// Objects are looked at in batches, so that memory holds one batch and one page, however many there are.
struct QueryRun {
    private let query: Query
    private let cursor: Cursor?

    private static let batchCount = 512

    init(_ query: Query, after cursor: Cursor?) throws {
        guard cursor == nil || cursor?.query == query else {
            throw PeerdError(
                .invalidArgument,
                "The cursor belongs to another query.",
                advice: "Begin without one, or use the query that it came from."
            )
        }
        self.query = query
        self.cursor = cursor
    }

    func page(limit: Int, in transaction: inout some StateReading) throws -> Page {
        try self.extendedPage(limit: limit, in: &transaction).page
    }

    /// A page, and what decides whether it is another one after a commit.
    func extendedPage(limit: Int, in transaction: inout some StateReading) throws -> (page: Page, extent: PageExtent) {
        let found =
            self.query.orderName == nil
            ? try self.first(limit + 1, in: &transaction) : try self.lowest(limit + 1, in: &transaction)
        var (objects, byteCount): ([Object], Int) = ([], 0)
        for candidate in found.prefix(limit) where byteCount < Page.byteCountMax {
            let object = try Object(candidate.index, in: &transaction)
            byteCount += object.properties.byteCount
            objects.append(object)
        }
        guard found.count > objects.count, let last = found.prefix(objects.count).last else {
            return (Page(objects: objects, next: nil), PageExtent(objects: Set(found.map(\.index)), last: nil))
        }
        let cursor = Cursor(query: self.query, id: last.id, position: last.position, orderValue: last.orderValue)
        let seen = Set(found.prefix(objects.count + 1).map(\.index))
        return (Page(objects: objects, next: cursor), PageExtent(objects: seen, last: last))
    }

    /// Whether the first page may be another one now that some objects have changed.
    ///
    /// - Complexity: O(*n*) for *n* changed objects, however many the query has.
    func mayDiffer(
        _ extent: PageExtent,
        by changes: [ChangedObject],
        in transaction: inout SQLiteTransaction
    ) throws -> Bool {
        let membership = ScopeMembership(.query(self.query))
        for change in changes {
            if extent.objects.contains(change.index) { return true }
            // What is hidden may decide for the object that it is hidden on.
            if try transaction.shownInPlace(of: change.index) != change.index { return true }
            guard case .inside = try membership.contains(change.index, in: &transaction) else { continue }
            guard let last = extent.last else { return true }
            let record = try transaction.object(change.index)
            var candidate = QueryCandidate(index: change.index, id: record.id, position: record.position)
            if let name = try self.query.orderName.flatMap({ try transaction.existingNameIndex(of: $0) }) {
                candidate.orderValue = try transaction.value(of: name, on: change.index)
            }
            if self.precedes(candidate, last) { return true }
        }
        return false
    }

    private func precedes(_ left: QueryCandidate, _ right: QueryCandidate) -> Bool {
        if self.query.orderName != nil { return left.precedes(right) }
        guard case .children = self.query.scope else { return left.id < right.id }
        return SiblingPlace(position: left.position, id: left.id) < SiblingPlace(position: right.position, id: right.id)
    }

    func count(in transaction: inout some StateReading) throws -> Int {
        var count = 0
        try self.forEach(from: nil, in: &transaction) { _, _ in
            count += 1
            return true
        }
        return count
    }

    /// The first behind the cursor, in the order in which they are looked at.
    private func first(_ count: Int, in transaction: inout some StateReading) throws -> [QueryCandidate] {
        var found: [QueryCandidate] = []
        try self.forEach(from: self.cursor, in: &transaction) { candidate, _ in
            found.append(candidate)
            return found.count < count
        }
        return found
    }

    /// The lowest behind the cursor, in the order of a property.
    private func lowest(_ count: Int, in transaction: inout some StateReading) throws -> [QueryCandidate] {
        guard let name = self.query.orderName else { return [] }
        let index = try transaction.existingNameIndex(of: name)
        var found: [QueryCandidate] = []
        let last = self.cursor.map {
            QueryCandidate(index: ObjectIndex(rawValue: 0), id: $0.id, position: $0.position, orderValue: $0.orderValue)
        }
        try self.forEach(from: nil, in: &transaction) { candidate, transaction in
            var candidate = candidate
            candidate.orderValue = try index.flatMap { try transaction.value(of: $0, on: candidate.index) }
            if let last, !last.precedes(candidate) { return true }
            if found.count >= 2 * count {
                found.sort { $0.precedes($1) }
                found.removeSubrange(count...)
            }
            found.append(candidate)
            return true
        }
        found.sort { $0.precedes($1) }
        return Array(found.prefix(count))
    }

    /// Looks at the objects of the scope that pass the filters, until `body` returns false.
    private func forEach<State: StateReading>(
        from cursor: Cursor?,
        in transaction: inout State,
        _ body: (QueryCandidate, inout State) throws -> Bool
    ) throws {
        var filters: [(name: NameIndex, value: Value)] = []
        for filter in self.query.filters {
            guard let name = try transaction.existingNameIndex(of: filter.name) else { return }
            filters.append((name, filter.value))
        }
        var (type, kind): (NameIndex?, NameIndex?)
        if let wanted = self.query.type {
            guard let known = try transaction.existingNameIndex(of: wanted) else { return }
            type = known
        }
        if let wanted = self.query.kind {
            guard let known = try transaction.existingNameIndex(of: wanted) else { return }
            kind = known
        }
        var last: SiblingPlace? = cursor.map { SiblingPlace(position: $0.position, id: $0.id) }
        while true {
            let batch = try self.batch(after: last, in: &transaction)
            for index in batch {
                let record = try transaction.object(index)
                last = SiblingPlace(position: record.position, id: record.id)
                if let type, record.creation?.type != type { continue }
                if let kind, record.creation?.kind != kind { continue }
                let passes = try filters.allSatisfy { filter in
                    try transaction.value(of: filter.name, on: index) == filter.value
                }
                guard passes, try self.query.finds(index, in: &transaction) else { continue }
                let candidate = QueryCandidate(index: index, id: record.id, position: record.position)
                guard try body(candidate, &transaction) else { return }
            }
            if batch.count < Self.batchCount { return }
        }
    }

    private func batch(
        after last: SiblingPlace?,
        in transaction: inout some StateReading
    ) throws -> [ObjectIndex] {
        switch self.query.scope {
        case .all: return try transaction.visibleObjects(after: last?.id, limit: Self.batchCount)
        case .type(let type):
            guard let name = try transaction.existingNameIndex(of: type) else { return [] }
            return try transaction.visibleObjects(of: name, after: last?.id, limit: Self.batchCount)
        case .children(let parent):
            var index: ObjectIndex?
            if let parent {
                index = try transaction.existingObjectIndex(of: parent)
                if index == nil { return [] }
            }
            return try transaction.visibleChildren(of: index, after: last, limit: Self.batchCount)
        }
    }
}

/// An object that a query has found.
struct QueryCandidate: Sendable {
    var index: ObjectIndex
    var id: ObjectID
    var position: Position
    var orderValue: Value?

    /// In the order of a property.
    func precedes(_ other: QueryCandidate) -> Bool {
        let order = Value.order(self.orderValue, other.orderValue)
        return order == 0 ? self.id < other.id : order < 0
    }
}

/// What a first page was made of: as long as none of these objects changes, and no other one comes before the last, it
/// is the same.
struct PageExtent: Sendable {
    /// The objects of the page, and the one behind it.
    let objects: Set<ObjectIndex>
    /// The last of the page; nil if none is behind it.
    let last: QueryCandidate?
}

extension Query {
    /// Whether a property of an object contains the text that is looked for.
    func finds(_ index: ObjectIndex, in transaction: inout some StateReading) throws -> Bool {
        guard let text = self.text else { return true }
        return try transaction.properties(of: index).contains { property in
            guard case .string(let value) = property.value else { return false }
            return value.range(of: text, options: .caseInsensitive) != nil
        }
    }
}

extension Value {
    /// Below 0 if the first comes before the second, above 0 if behind it, 0 if they are the same.
    static func order(_ left: Value?, _ right: Value?) -> Int {
        let (leftRank, rightRank) = (left.map(\.rank) ?? 0, right.map(\.rank) ?? 0)
        if leftRank != rightRank { return leftRank - rightRank }
        guard let left, let right else { return 0 }
        switch (left, right) {
        case (.int(let left), .int(let right)): return left < right ? -1 : left > right ? 1 : 0
        case (.string(let left), .string(let right)): return self.order(left.utf8, right.utf8)
        case (.bytes(let left), .bytes(let right)): return self.order(left, right)
        default:
            if let left = left.number, let right = right.number {
                let total = left.isTotallyOrdered(belowOrEqualTo: right)
                return total ? (right.isTotallyOrdered(belowOrEqualTo: left) ? 0 : -1) : 1
            }
            return self.order(left.encoded, right.encoded)
        }
    }

    private var number: Double? { Double(self) }

    private var rank: Int {
        switch self {
        case .null: 1
        case .bool: 2
        case .int, .double: 3
        case .string: 4
        case .document: 5
        case .bytes: 6
        case .blob: 7
        }
    }

    private static func order(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) -> Int {
        left.lexicographicallyPrecedes(right) ? -1 : right.lexicographicallyPrecedes(left) ? 1 : 0
    }
}
