/// The branches that a store knows of, by the statements about them.
package struct BranchTable: Sendable {
    /// One branch that was opened.
    package struct Entry: Hashable, Sendable {
        package var opening: BranchOpening
        /// The change that opened it.
        package var author: SegmentPoint
    }

    /// A change that merges a timeline.
    package struct Merging: Hashable, Sendable {
        package var sequence: UInt64
        /// The branch that it merges; nil for the main timeline.
        package var branch: BranchID?
    }

    private var entries: [BranchID: Entry] = [:]
    /// The changes that close branches, be these known or not.
    private var closings: [BranchID: [SegmentPoint]] = [:]
    /// What the changes of each segment merge, in the order of their sequences.
    private var mergings: [SegmentIndex: [Merging]] = [:]

    package init() {}

    /// Whether nobody has said anything about a branch.
    package var isEmpty: Bool { self.entries.isEmpty && self.closings.isEmpty && self.mergings.isEmpty }

    /// Whether nothing would change with a statement, which its change makes for the first time.
    package func contains(_ record: BranchRecord) -> Bool {
        if case .opens(let opening) = record.statement { return !self.counts(opening, by: record.author) }
        return false
    }

    /// All that are known, those that are closed too, in the order of their ids.
    package var all: [Entry] { self.entries.values.sorted { $0.opening.id < $1.opening.id } }

    package subscript(id: BranchID) -> Entry? { self.entries[id] }

    /// The changes that close a branch, in the order in which they came.
    package func closings(of id: BranchID) -> [SegmentPoint] { self.closings[id] ?? [] }

    /// The branches that some changes close.
    package var closedIDs: [BranchID] { self.closings.keys.sorted() }

    /// Whether any change merges anything.
    package var hasMergings: Bool { !self.mergings.isEmpty }

    /// What the changes of a segment merge that come after one of them, up to another.
    ///
    /// - Complexity: O(log *n*) for *n* statements on the segment, and what is found.
    package func mergings(
        on segment: SegmentIndex,
        after first: UInt64,
        through last: UInt64
    ) -> ArraySlice<Merging> {
        guard let all = self.mergings[segment] else { return [] }
        let start = all.firstPosition { $0.sequence > first }
        return all[start...].prefix { $0.sequence <= last }
    }

    /// The last change of a segment that merges something, after one of them and up to another; nil if there is none.
    func lastMerging(on segment: SegmentIndex, after first: UInt64, through last: UInt64) -> UInt64? {
        guard let all = self.mergings[segment] else { return nil }
        let end = all.firstPosition { $0.sequence > last }
        guard end > 0, all[end - 1].sequence > first else { return nil }
        return all[end - 1].sequence
    }

    /// Whether an opening takes the place of what is known of its branch.
    ///
    /// Of two openings of one branch, which its own user alone can make, the one with the lower bytes counts.
    private func counts(_ opening: BranchOpening, by author: SegmentPoint) -> Bool {
        guard let known = self.entries[opening.id] else { return true }
        if known.opening == opening { return known.author != author }
        return !Self.bytes(known.opening).lexicographicallyPrecedes(Self.bytes(opening))
    }

    /// Takes in a statement.
    package mutating func add(_ record: BranchRecord) {
        switch record.statement {
        case .opens(let opening):
            guard self.counts(opening, by: record.author) else { return }
            self.entries[opening.id] = Entry(opening: opening, author: record.author)
        case .closes(let id): self.closings[id, default: []].append(record.author)
        case .merges(let id):
            self.mergings[record.author.segment, default: []].append(
                Merging(sequence: record.author.sequence, branch: id)
            )
        }
    }

    private static func bytes(_ opening: BranchOpening) -> [UInt8] {
        var bytes: [UInt8] = []
        BranchStatement.opens(opening).encode(to: &bytes)
        return bytes
    }
}

/// A statement about a branch that is stored, and the change that makes it.
package struct BranchRecord: Hashable, Sendable {
    package var statement: BranchStatement
    package var author: SegmentPoint

    package init(statement: BranchStatement, author: SegmentPoint) {
        (self.statement, self.author) = (statement, author)
    }
}
