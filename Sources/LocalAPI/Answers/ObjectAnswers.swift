package import CRDTCore
internal import Engine
internal import PeerdKit

/// An object with its properties.
struct ObjectAnswer: Answer {
    var id: String
    var type: String
    var kind: String
    var parent: String?
    var position: String
    var creator: String?
    var owner: String?
    var createdBy: String?
    var createdAt: Int64?
    var updatedAt: Int64
    var childCount: Int
    var version: String
    var properties: JSON
    var missing: [String]

    init(_ object: Object) {
        (self.id, self.type, self.kind) = (object.id.description, object.type, object.kind)
        (self.parent, self.position) = (object.parent?.description, object.position)
        (self.creator, self.owner, self.createdBy) = (object.creator, object.creator, object.createdBy)
        (self.createdAt, self.updatedAt) = (
            object.createdAt?.millisecondsSince1970, object.updatedAt.millisecondsSince1970
        )
        (self.childCount, self.version) = (object.childCount, object.version)
        var properties: [ExactText: JSON] = [:]
        properties.reserveCapacity(object.properties.count)
        for (name, value) in object.properties { properties[ExactText(name)] = value.json }
        self.properties = .object(properties)
        self.missing = object.missingProperties
    }
}

struct ObjectPageAnswer<Element: Answer>: Answer {
    var objects: [Element]
    var next: String?
}

/// Where an object stands in a tree.
package struct TreePlace: SparseAnswer {
    package var depth: Int
    /// In lines, whether it is the last one among its siblings.
    package var isLast: Bool?
}

/// An object as an export has it, and who made it.
package struct ExportedObject: Answer {
    package var id: String
    package var type: String?
    package var kind: String?
    package var parent: String?
    package var position: String
    package var creator: String?
    package var owner: String?
    package var createdBy: String?
    package var createdAt: Int64?
    package var updatedAt: Int64
    package var properties: JSON
    package var missing: [String]

    struct Author: Answer {
        var createdBy: String?
        var missing: [String]
    }
}

/// The same with one property alone.
package struct ExportedProperty: Answer {
    package var id: String
    package var createdBy: String?
    package var properties: JSON
}

/// Where a write to an object is in the log.
package struct ReceiptAnswer: Answer {
    package var id: String
    package var operations: Int
    package var replica: String?
    package var sequence: Int?

    init(_ receipt: WriteReceipt, _ object: ObjectID) {
        (self.id, self.operations) = (object.description, receipt.operationCount)
        (self.replica, self.sequence) = (
            receipt.dot?.replica.description, receipt.dot.map { Int(clamping: $0.sequence) }
        )
    }
}

/// The objects that a transaction made.
struct CreatedAnswer: Answer {
    var created: [String]
}

struct CountAnswer: Answer {
    var count: Int
}

struct ProjectAnswer: Answer {
    var name: String
    var id: String
    var updatedAt: Int64
    var version: String
}

struct ProjectPageAnswer: Answer {
    var projects: [ProjectAnswer]
    var next: String?
}

/// What changed since a token.
struct DeltaAnswer: Answer {
    var token: String
    var reset = false
    var more = false
    var origin: Word<Origin>?
    var authors: [AuthorAnswer] = []
    var objects: [Entry] = []

    enum Origin: String, CaseIterable, Sendable {
        case local, peer, both
    }

    enum Leaving: String, CaseIterable, Sendable {
        case deleted, moved
        case givenUp = "given_up"
    }

    struct Entry: Answer {
        var id: String
        var changed: [String]
        var created: Bool
        var moved: Bool
        var leaving: Word<Leaving>?
        var includesBelow: Bool
        var state: ObjectAnswer?
    }

    /// That nothing did.
    init(nothingSince token: String) { self.token = token }

    init(_ delta: Delta) {
        (self.token, self.reset, self.more) = (delta.token.description, delta.isReset, delta.hasMore)
        self.origin = delta.origin.map { Word(rawValue: $0.rawValue) }
        self.authors = delta.authors.map { AuthorAnswer($0) }
        self.objects = delta.objects.map { entry in
            Entry(
                id: entry.id.description,
                changed: entry.changed,
                created: entry.isCreated,
                moved: entry.isMoved,
                leaving: entry.leaving.map { Word(rawValue: $0.rawValue) },
                includesBelow: entry.includesBelow,
                state: entry.state.map { ObjectAnswer($0) }
            )
        }
    }
}
