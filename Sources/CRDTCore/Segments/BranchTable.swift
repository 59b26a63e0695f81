/// The branches that a store knows of, by the statements about them.
package struct BranchTable: Sendable {
    /// One branch that was opened.
    package struct Entry: Hashable, Sendable {
        package var opening: BranchOpening
        /// The change that opened it.
        package var author: SegmentPoint
        package var isClosed = false
    }

    private var entries: [BranchID: Entry] = [:]
    /// Those that are closed, whether they are known or not.
    private var closed: Set<BranchID> = []

    package init() {}

    package var isEmpty: Bool { self.entries.isEmpty && self.closed.isEmpty }

    /// Whether nothing would change with a statement.
    package func contains(_ record: BranchRecord) -> Bool {
        switch record.statement {
        case .opens(let opening): !self.counts(opening, by: record.author)
        case .closes(let id): self.closed.contains(id)
        case .belongs, .merges: true
        }
    }

    /// All that are known, those that are closed too, in the order of their ids.
    package var all: [Entry] { self.entries.values.sorted { $0.opening.id < $1.opening.id } }

    /// Those that are not closed.
    package var open: [BranchID] { self.all.filter { !$0.isClosed }.map(\.opening.id) }

    package subscript(id: BranchID) -> Entry? { self.entries[id] }

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
            self.entries[opening.id] = Entry(
                opening: opening,
                author: record.author,
                isClosed: self.closed.contains(opening.id)
            )
        case .closes(let id):
            self.closed.insert(id)
            self.entries[id]?.isClosed = true
        case .belongs, .merges: break
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
