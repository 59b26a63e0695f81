package import CRDTCore

/// Between types and JSON, without the coders of Foundation, to which names are one if they look alike.
extension JSON {
    /// The JSON of an answer.
    package init(_ answer: some Encodable) {
        do {
            self = try JSON.encoded(answer)
        } catch {
            preconditionFailure("an answer has something that JSON has not: \(error)")
        }
    }

    fileprivate static func encoded<Value: Encodable>(_ value: Value) throws -> JSON {
        if let json = self.plain(value) { return json }
        let writer = JSONWriter(isSparse: value is any SparseAnswer)
        try value.encode(to: writer)
        return writer.json
    }

    /// The JSON of what needs no coder; to compare types costs much less than to ask what a value is.
    private static func plain<Value>(_ value: Value) -> JSON? {
        switch ObjectIdentifier(Value.self) {
        case ObjectIdentifier(JSON.self): value as? JSON
        case ObjectIdentifier(String.self): (value as? String).map { .string($0) }
        case ObjectIdentifier(Bool.self): (value as? Bool).map { .bool($0) }
        case ObjectIdentifier(Int.self): (value as? Int).map { .int(Int64($0)) }
        case ObjectIdentifier(Int64.self): (value as? Int64).map { .int($0) }
        default: nil
        }
    }

    /// What the JSON stands for.
    ///
    /// - Throws: ``APIConnectionError`` if something is missing that must be there, or is of another kind.
    package func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        // What needs no coder gets no reader.
        if let value = self.value(as: type) { return value }
        return try Value(from: JSONReader(json: self))
    }

    /// The object with more members.
    package func with(_ more: some Encodable) -> JSON {
        guard case .object(let members) = self, case .object(let others) = JSON(more) else { return self }
        return .object(members.merging(others) { _, new in new })
    }
}

extension CodingKey {
    /// The name in JSON: `lastSeenMs` is `last_seen_ms`.
    var nameInJSON: ExactText {
        let name = self.stringValue
        let capitals: ClosedRange<UInt8> = 0x41...0x5a
        guard name.utf8.contains(where: { capitals.contains($0) }) else { return ExactText(name) }
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            if capitals.contains(byte) { bytes.append(UInt8(ascii: "_")) }
            bytes.append(capitals.contains(byte) ? byte | 0x20 : byte)
        }
        return ExactText(String(decoding: bytes, as: UTF8.self))
    }
}

/// Answers need what the compiler writes for structures, and nothing else.
private func notNeeded() -> Never { preconditionFailure("an answer encodes or decodes itself in its own way") }

/// Takes the members of a structure, or one value.
private final class JSONWriter: Encoder, SingleValueEncodingContainer {
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]
    /// Whether nil is missing, and not null.
    let isSparse: Bool
    var members: [ExactText: JSON]?
    var elements: [JSON]?
    private var value = JSON.null

    init(isSparse: Bool) { self.isSparse = isSparse }

    var json: JSON { self.members.map { .object($0) } ?? self.elements.map { .array($0) } ?? self.value }

    func container<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        self.members = Dictionary(minimumCapacity: 12)
        return KeyedEncodingContainer(MemberWriter(writer: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        self.elements = []
        return ElementWriter(writer: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() { self.value = .null }

    func encode<Value: Encodable>(_ value: Value) throws { self.value = try JSON.encoded(value) }
}

private struct MemberWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let writer: JSONWriter
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) { self.put(.null, key) }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { self.put(try JSON.encoded(value), key) }

    private func put(_ json: JSON, _ key: Key) { self.writer.members?[key.nameInJSON] = json }

    // What most members are, without asking what it is.
    func encode(_ value: String, forKey key: Key) { self.put(.string(value), key) }
    func encode(_ value: Bool, forKey key: Key) { self.put(.bool(value), key) }
    func encode(_ value: Int, forKey key: Key) { self.put(.int(Int64(value)), key) }
    func encode(_ value: Int64, forKey key: Key) { self.put(.int(value), key) }

    func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
        self.put(try value.map { try JSON.encoded($0) }, key)
    }

    private func put(_ json: JSON?, _ key: Key) {
        if let json { self.put(json, key) } else if !self.writer.isSparse { self.encodeNil(forKey: key) }
    }

    // Those of the protocol leave nil out.
    func encodeIfPresent(_ value: String?, forKey key: Key) { self.put(value.map { .string($0) }, key) }
    func encodeIfPresent(_ value: Bool?, forKey key: Key) { self.put(value.map { .bool($0) }, key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) { self.put(value.map { .int(Int64($0)) }, key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) { self.put(value.map { .int($0) }, key) }

    func nestedContainer<Other>(keyedBy type: Other.Type, forKey key: Key) -> KeyedEncodingContainer<Other> {
        notNeeded()
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { notNeeded() }

    func superEncoder() -> any Encoder { notNeeded() }

    func superEncoder(forKey key: Key) -> any Encoder { notNeeded() }
}

private struct ElementWriter: UnkeyedEncodingContainer {
    let writer: JSONWriter
    var codingPath: [any CodingKey] { [] }
    var count: Int { self.writer.elements?.count ?? 0 }

    func encodeNil() { self.writer.elements?.append(.null) }

    func encode<Value: Encodable>(_ value: Value) throws { self.writer.elements?.append(try JSON.encoded(value)) }

    func nestedContainer<Other>(keyedBy type: Other.Type) -> KeyedEncodingContainer<Other> { notNeeded() }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { notNeeded() }

    func superEncoder() -> any Encoder { notNeeded() }
}

private struct JSONReader: Decoder, SingleValueDecodingContainer {
    let json: JSON
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = self.json else { throw APIConnectionError.notUnderstood }
        return KeyedDecodingContainer(MemberReader(members: members))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = self.json else { throw APIConnectionError.notUnderstood }
        return ElementReader(elements: elements)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { self.json == .null }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard let value = self.json.value(as: type) else { throw APIConnectionError.notUnderstood }
        return value
    }
}

extension JSON {
    /// What needs no coder; nil if this is of another kind.
    fileprivate func value<Value>(as type: Value.Type) -> Value? {
        switch (ObjectIdentifier(type), self) {
        case (ObjectIdentifier(JSON.self), _): self as? Value
        case (ObjectIdentifier(String.self), .string(let text)): text as? Value
        case (ObjectIdentifier(Bool.self), .bool(let flag)): flag as? Value
        case (ObjectIdentifier(Int.self), .int(let number)): Int(exactly: number) as? Value
        case (ObjectIdentifier(Int64.self), .int(let number)): number as? Value
        default: nil
        }
    }
}

private struct MemberReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [ExactText: JSON]
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    func contains(_ key: Key) -> Bool { self.members[key.nameInJSON] != nil }

    func decodeNil(forKey key: Key) -> Bool { self.members[key.nameInJSON] == .null }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        guard let json = self.members[key.nameInJSON] else { throw APIConnectionError.notUnderstood }
        return try json.decoded()
    }

    // Those of the protocol look for the member three times.
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try self.ifPresent(key) }
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try self.ifPresent(key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try self.ifPresent(key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try self.ifPresent(key) }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try self.ifPresent(key)
    }

    /// Null is nothing, unless it is a value.
    private func ifPresent<Value: Decodable>(_ key: Key) throws -> Value? {
        guard let json = self.members[key.nameInJSON], json != .null || Value.self == JSON.self else { return nil }
        return try json.decoded(as: Value.self)
    }

    func nestedContainer<Other>(keyedBy type: Other.Type, forKey key: Key) -> KeyedDecodingContainer<Other> {
        notNeeded()
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer { notNeeded() }

    func superDecoder() -> any Decoder { notNeeded() }

    func superDecoder(forKey key: Key) -> any Decoder { notNeeded() }
}

private struct ElementReader: UnkeyedDecodingContainer {
    let elements: [JSON]
    var currentIndex = 0
    var codingPath: [any CodingKey] { [] }
    var count: Int? { self.elements.count }
    var isAtEnd: Bool { self.currentIndex == self.elements.count }

    init(elements: [JSON]) { self.elements = elements }

    func decodeNil() -> Bool { false }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        defer { self.currentIndex += 1 }
        return try self.elements[self.currentIndex].decoded()
    }

    func nestedContainer<Other>(keyedBy type: Other.Type) -> KeyedDecodingContainer<Other> { notNeeded() }

    func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { notNeeded() }

    func superDecoder() -> any Decoder { notNeeded() }
}
