package import CRDTCore

/// The values of an object's properties, by name, in the order of the names.
///
/// Two names are one only if their UTF-8 bytes are the same. Swift's strings, and so its dictionaries, take `"é"`
/// written as one character and as two for the same.
public struct Properties: Hashable, Sendable {
    private struct Entry: Hashable {
        let name: ExactText
        let value: Value
    }

    private let entries: [Entry]

    package init(_ values: [ExactText: Value]) {
        self.entries = values.map { Entry(name: $0.key, value: $0.value) }.sorted { $0.name < $1.name }
    }

    /// The bytes of all names and values, roughly.
    var byteCount: Int { self.entries.reduce(0) { $0 + $1.name.text.utf8.count + $1.value.byteCount } }

    /// Returns the value of a property; nil if there is none.
    ///
    /// - Complexity: O(log *n*) for *n* properties.
    public subscript(name: String) -> Value? {
        let name = ExactText(name)
        let position = self.entries.firstPosition { $0.name >= name }
        guard position < self.entries.count, self.entries[position].name == name else { return nil }
        return self.entries[position].value
    }
}

extension Properties: RandomAccessCollection {
    /// The position of the first property.
    public var startIndex: Int { self.entries.startIndex }

    /// The position behind the last property.
    public var endIndex: Int { self.entries.endIndex }

    /// Returns the property at a position, which must be valid.
    public subscript(position: Int) -> (key: String, value: Value) {
        (self.entries[position].name.text, self.entries[position].value)
    }
}

extension Properties: ExpressibleByDictionaryLiteral {
    /// Makes properties of a literal; of a name that is there twice, the last value counts.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self.init(elements)
    }

    private init(_ elements: [(String, Value)]) {
        self.init(Dictionary(elements.map { (ExactText($0.0), $0.1) }, uniquingKeysWith: { $1 }))
    }
}

extension Properties: Codable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    private struct Pair: Codable {
        let name: String
        let value: Value
    }

    /// Reads properties in one of the forms that ``encode(to:)`` writes.
    ///
    /// - Throws: `DecodingError` if it is neither of them.
    public init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Name.self) {
            self.init(try container.allKeys.map { ($0.stringValue, try container.decode(Value.self, forKey: $0)) })
        } else {
            let pairs = try decoder.singleValueContainer().decode([Pair].self)
            self.init(pairs.map { ($0.name, $0.value) })
        }
    }

    /// Writes properties as an object with a member for each.
    ///
    /// Encoders cannot keep two members apart whose names are the same to Swift's strings. If there are such names,
    /// each property becomes an object with `name` and `value`, in an array.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        guard Set(self.map(\.key)).count == self.count else {
            var container = encoder.singleValueContainer()
            return try container.encode(self.map { Pair(name: $0.key, value: $0.value) })
        }
        var container = encoder.container(keyedBy: Name.self)
        for (name, value) in self { try container.encode(value, forKey: Name(stringValue: name)) }
    }
}

extension Value {
    /// The bytes that the value takes, roughly.
    var byteCount: Int {
        switch self {
        case .null, .bool, .int, .double: 8
        case .string(let text), .document(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        case .blob: 64
        }
    }
}
