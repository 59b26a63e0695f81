package import CRDTCore
package import PeerdKit

/// Concurrent writes to a property, or concurrent moves or creations of an object.
package struct ConflictAnswer: Answer {
    package var object: String
    package var about: Word<Subject>
    package var property: String?
    package var winner: VersionAnswer?
    package var losers: [VersionAnswer]

    package enum Subject: String, CaseIterable, Sendable {
        case property, creation, place
    }

    package init(_ conflict: Conflict) {
        (self.object, self.property) = (conflict.object.description, conflict.property)
        self.about =
            switch conflict.subject {
            case .property: Word(.property)
            case .creation: Word(.creation)
            case .place: Word(.place)
            }
        self.winner = conflict.winner.map { VersionAnswer($0) }
        self.losers = conflict.losers.map { VersionAnswer($0) }
    }
}

/// One of the writes of a conflict.
package struct VersionAnswer: Answer {
    package var id: String
    package var author: AuthorAnswer
    package var timeMs: Int64
    package var content: ContentAnswer
    package var source: Source?

    /// The place in the log.
    package struct Source: Answer {
        package var replica: String
        package var sequence: Int
        package var index: Int
        package var stamp: String
        package var user: String?

        init(_ source: Conflict.Version.Source) {
            (self.replica, self.user) = (source.replica.description, source.user?.description)
            (self.sequence, self.index) = (Int(clamping: source.sequence), Int(source.index))
            self.stamp = StampText.of(source.stamp)
        }
    }

    init(_ version: Conflict.Version) {
        (self.id, self.author) = (version.id, AuthorAnswer(version.author))
        (self.timeMs, self.content) = (version.date.millisecondsSince1970, ContentAnswer(version.content))
        self.source = version.source.map { Source($0) }
    }
}

/// What a write says: one of the members.
package struct ContentAnswer: SparseAnswer {
    package var value: JSON?
    package var removed: Bool?
    /// The id of the parent; null is the root.
    package var parent: JSON?
    package var create: KindAnswer?

    init(_ content: Conflict.Version.Content) {
        switch content {
        case .value(let value): self.value = value.json
        case .removal: self.removed = true
        case .place(let parent): self.parent = JSON(parent?.description)
        case .creation(let type, let kind): self.create = KindAnswer(type: type, kind: kind)
        }
    }
}

/// What an object is.
package struct KindAnswer: Answer {
    package var type: String
    package var kind: String

    package var text: String { self.kind.isEmpty ? self.type : "\(self.type)/\(self.kind)" }
}

/// A move that is the last of its object, and has no effect.
package struct MoveWithoutEffectAnswer: Answer {
    package var object: String
    package var move: VersionAnswer

    package init(_ move: MoveWithoutEffect) {
        (self.object, self.move) = (move.object.description, VersionAnswer(move.move))
    }
}

struct ConflictPageAnswer: Answer {
    var conflicts: [ConflictAnswer]
    var movesWithoutEffect: [MoveWithoutEffectAnswer]
    var next: String?
}

/// A line of a list of conflicts: a conflict or a move.
package struct ConflictLine: SparseAnswer {
    package var conflict: ConflictAnswer?
    package var moveWithoutEffect: MoveWithoutEffectAnswer?
    /// What a list says of the object, if that was asked for; null if it is gone.
    package var object: JSON?
}
