/// What somebody must be allowed for something.
package enum RightNeed: Hashable, Sendable {
    case role(Role)
    /// To write a property of this name.
    case write(String)
    /// To own the circle.
    case owner
}

/// What decides whether something may be done.
package enum RightReason: Hashable, Sendable {
    /// The author owns the circle.
    case isOwner
    /// A grant that the chain names allows it.
    case granted(StatementPlace)
    /// A removal of the author's device, or of one that vouches for it, has cut it off.
    case deviceRemoved(StatementPlace)
    /// A removal of the author from the role that it needs has cut it off.
    case removed(StatementPlace)
    /// What is granted allows less than it needs.
    case grantedLess(StatementPlace)
    /// The chain names no grant to its author that counts.
    case notGranted

    /// The statement that decides; nil where none does.
    package var statement: StatementPlace? {
        switch self {
        case .granted(let place), .deviceRemoved(let place), .removed(let place), .grantedLess(let place): place
        case .isOwner, .notGranted: nil
        }
    }

    /// Whether it may be done.
    package var allows: Bool {
        switch self {
        case .isOwner, .granted: true
        case .deviceRemoved, .removed, .grantedLess, .notGranted: false
        }
    }
}

/// Where a statement is: its change, and its place there.
package struct StatementPlace: Hashable, Sendable {
    package var change: SegmentPoint
    package var index: UInt32

    package init(change: SegmentPoint, index: UInt32) { (self.change, self.index) = (change, index) }
}

/// How far the operations of a segment count: the sequence of the last change whose operations of a kind do.
package struct RightEnds: Hashable, Sendable {
    package var manager: UInt64
    /// For what needs a writer of all properties.
    package var writer: UInt64
    package var reader: UInt64
    /// For writes to some properties, where that is further.
    package var names: [ExactText: UInt64] = [:]

    /// The same for everything.
    package init(all end: UInt64) { (self.manager, self.writer, self.reader) = (end, end, end) }

    static let none = RightEnds(all: 0)

    /// How far anything counts that was written.
    package var last: UInt64 { self.names.values.reduce(self.writer) { max($0, $1) } }

    /// How far something counts that needs a right.
    package func end(of need: RightNeed) -> UInt64 {
        switch need {
        case .role(.manager): self.manager
        case .role(.writer): self.writer
        case .role(.reader): self.reader
        case .write(let name): self.end(writing: name)
        case .owner: 0
        }
    }

    /// How far writes to a property count.
    func end(writing name: String) -> UInt64 {
        self.names.isEmpty ? self.writer : max(self.writer, self.names[ExactText(name)] ?? 0)
    }
}
