import CRDTCore

@testable import LocalAPI

/// What a type asks a decoder for: the members of its JSON, and what they are.
indirect enum AnswerShape {
    case text, flag, integer, number
    /// Any JSON.
    case any
    case words(Set<String>)
    case list(of: AnswerShape)
    /// Values of one kind by names.
    case map(of: AnswerShape)
    case object(AnswerMembers)

    /// `names`: gets the names of the structures within.
    static func of(_ type: any Decodable.Type, _ names: inout Set<String>) throws -> AnswerShape {
        switch type {
        case is String.Type: return .text
        case is Bool.Type: return .flag
        case is Int.Type, is Int64.Type: return .integer
        case is Double.Type: return .number
        case is JSON.Type: return .any
        case let type as any WordType.Type: return .words(type.words)
        case let type as any ContainerType.Type:
            let content = try self.of(type.content, &names)
            return type.isMap ? .map(of: content) : .list(of: content)
        case let type as any JoinedType.Type:
            guard case .object(var members) = try self.of(type.parts.0, &names),
                case .object(let more) = try self.of(type.parts.1, &names)
            else { throw APIConnectionError.notUnderstood }
            members.all.merge(more.all) { first, _ in first }
            return .object(members)
        default:
            let recorder = MemberRecorder(isSparse: type is any SparseAnswer.Type)
            _ = try type.init(from: recorder)
            names.insert(String(String(reflecting: type).split(separator: "<")[0].split(separator: ".").last ?? ""))
            names.formUnion(recorder.names)
            return .object(recorder.members)
        }
    }
}

extension AnswerShape {
    /// JSON of the shape, with every member.
    var sample: JSON {
        switch self {
        case .text: .string("e\u{301}")
        case .flag: .bool(true)
        case .integer: .int(.max)
        case .number: .double(0.5)
        case .any: .object(["é": .null, "e\u{301}": .array([.double(1), .int(1)])])
        case .words(let words): .string(words.min() ?? "")
        case .list(let content): .array([content.sample, content.sample])
        case .map(let content): .object(["é": content.sample, "e\u{301}": content.sample])
        case .object(let members):
            .object(Dictionary(uniqueKeysWithValues: members.all.map { (ExactText($0.key), $0.value.shape.sample) }))
        }
    }

    /// The same without what may be null, or missing.
    var emptySample: JSON {
        switch self {
        case .list: .array([])
        case .map: .object([:])
        case .object(let members):
            .object(
                Dictionary(
                    uniqueKeysWithValues: members.all.filter { !$0.value.isOmissible }.map {
                        (ExactText($0.key), $0.value.isNullable ? .null : $0.value.shape.emptySample)
                    }
                )
            )
        default: self.sample
        }
    }
}

struct AnswerMembers {
    struct Member {
        var shape: AnswerShape
        /// Whether it may be null.
        var isNullable = false
        /// Whether it may be missing.
        var isOmissible = false
    }

    var all: [String: Member] = [:]
}

protocol WordType {
    static var words: Set<String> { get }
}

extension Word: WordType {
    static var words: Set<String> { Set(Known.allCases.map(\.rawValue)) }
}

protocol ContainerType {
    static var content: any Decodable.Type { get }
    static var isMap: Bool { get }
}

extension Array: ContainerType where Element: Decodable {
    static var content: any Decodable.Type { Element.self }
    static var isMap: Bool { false }
}

extension NamedValues: ContainerType {
    static var content: any Decodable.Type { Value.self }
    static var isMap: Bool { true }
}

protocol JoinedType {
    static var parts: (any Decodable.Type, any Decodable.Type) { get }
}

extension Joined: JoinedType {
    static var parts: (any Decodable.Type, any Decodable.Type) { (First.self, More.self) }
}

/// Notes what is asked of it, and gives something for it.
private final class MemberRecorder: Decoder {
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]
    let isSparse: Bool
    var members = AnswerMembers()
    var names: Set<String> = []

    init(isSparse: Bool) { self.isSparse = isSparse }

    func container<Key>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(RecordedMembers(recorder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw APIConnectionError.notUnderstood }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw APIConnectionError.notUnderstood }

    func note(_ type: any Decodable.Type, _ key: some CodingKey, isOptional: Bool) throws {
        var member = AnswerMembers.Member(shape: try AnswerShape.of(type, &self.names))
        member.isOmissible = isOptional && self.isSparse
        member.isNullable = isOptional && !self.isSparse
        self.members.all[key.nameInJSON.text] = member
    }
}

private struct RecordedMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let recorder: MemberRecorder
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    func contains(_ key: Key) -> Bool { true }

    func decodeNil(forKey key: Key) -> Bool { false }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try self.recorder.note(type, key, isOptional: false)
        return try Self.something()
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try self.recorder.note(type, key, isOptional: true)
        return nil
    }

    // Those of the protocol ask for a value.
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try self.missing(type, key) }
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try self.missing(type, key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try self.missing(type, key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try self.missing(type, key) }

    private func missing<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value? {
        try self.recorder.note(type, key, isOptional: true)
        return nil
    }

    private static func something<Value: Decodable>() throws -> Value {
        let candidates: [Any] = ["", false, 0, Int64(0), 0.0, JSON.null]
        for candidate in candidates { if let value = candidate as? Value { return value } }
        for json in [JSON.string(""), .array([]), .object([:])] {
            if let value = try? json.decoded(as: Value.self) { return value }
        }
        return try Value(from: MemberRecorder(isSparse: false))
    }

    func nestedContainer<Other>(
        keyedBy type: Other.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<Other> {
        throw APIConnectionError.notUnderstood
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        throw APIConnectionError.notUnderstood
    }

    func superDecoder() throws -> any Decoder { throw APIConnectionError.notUnderstood }

    func superDecoder(forKey key: Key) throws -> any Decoder { throw APIConnectionError.notUnderstood }
}
