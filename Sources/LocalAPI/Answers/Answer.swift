package import CRDTCore

/// What the API answers with: the server encodes it, and the command line decodes it.
///
/// The members have the names of the JSON in the spelling of Swift: `last_seen_ms` is `lastSeenMs`. Nil is null. Values
/// of properties stay `JSON`, which keeps every bit of them. `Tests/LocalAPITests` compares the types with
/// `/api/openapi.json`.
package protocol Answer: Codable, Hashable, RouteResult {}

/// An answer that lacks the members that are nil.
package protocol SparseAnswer: Answer {}

/// One of some words, or one that only another version knows.
package struct Word<Known: RawRepresentable & CaseIterable & Sendable>: RawRepresentable, Codable, Hashable, Sendable
where Known.RawValue == String {
    package var rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    init(_ word: Known) { self.rawValue = word.rawValue }

    package var known: Known? { Known(rawValue: self.rawValue) }
}

/// Values by names that may be any text, such as those of properties.
package struct NamedValues<Value: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    package var all: [ExactText: Value]

    init(_ all: [ExactText: Value]) { self.all = all }

    package init(from decoder: any Decoder) throws {
        guard case .object(let members) = try decoder.singleValueContainer().decode(JSON.self) else {
            throw APIConnectionError.notUnderstood
        }
        self.all = try members.mapValues { try $0.decoded() }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(JSON.object(self.all.mapValues { JSON($0) }))
    }
}

/// An answer with all members of another one and some more.
@dynamicMemberLookup
package struct Joined<First: Answer, More: Answer>: Answer {
    package var first: First
    package var more: More

    init(_ first: First, _ more: More) { (self.first, self.more) = (first, more) }

    package init(from decoder: any Decoder) throws {
        (self.first, self.more) = (try First(from: decoder), try More(from: decoder))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(JSON(self.first).with(self.more))
    }

    package subscript<Value>(dynamicMember path: KeyPath<First, Value>) -> Value { self.first[keyPath: path] }

    package subscript<Value>(dynamicMember path: KeyPath<More, Value>) -> Value { self.more[keyPath: path] }
}
