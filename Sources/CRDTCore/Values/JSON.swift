/// A JSON value, with the difference between integers and doubles kept.
package indirect enum JSON: Hashable, Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([JSON])
    case object([ExactText: JSON])

    /// How deep arrays and objects may lie in each other.
    package static let depthMax = 128

    /// Parses RFC 8259 text.
    ///
    /// Of repeated members the last counts; nil for anything that is not one JSON value.
    ///
    /// - Complexity: O(*n*) in the length of the text.
    package init?(parsing text: some Sequence<UInt8>) {
        guard case .success(let value) = JSON.parse(Array(text)) else { return nil }
        self = value
    }

    /// Why and where text cannot be read.
    package struct ParseFailure: Error, Hashable, Sendable {
        package enum Reason: Hashable, Sendable {
            case notJSON
            /// Arrays and objects lie deeper in each other than is allowed.
            case tooDeep
            /// JSON, but beyond the range of a double.
            case numberTooLarge
            /// JSON, but so close to zero that a double would be zero.
            case numberTooSmall
            /// An integer that a double would change; or any beyond 64 bits, where those are not wanted.
            case integerTooLarge
            /// JSON, but an object has two members of one name; the last in `path`.
            case repeatedMember
        }

        package var reason: Reason
        /// Bytes that could be read.
        package var offset: Int
        /// The names of the members in which that was, from the outermost on.
        package var path: [String] = []
    }

    /// Which numbers are taken, of those that no value holds as they are written.
    ///
    /// Who minds that also minds that of two members of one name only one can be kept.
    package enum Numbers: Hashable, Sendable {
        /// All within the range of a double; it takes the nearest. Of repeated members it takes the last.
        case nearest
        /// Those that a double does not change but in the last of many decimals.
        ///
        /// JavaScript writes large doubles as integers.
        case unchanged
        /// The same, and of the integers those of 64 bits.
        case exact
    }

    /// Parses RFC 8259 text as `init(parsing:)` does.
    package static func parse(
        _ text: [UInt8],
        depthMax: Int = JSON.depthMax,
        numbers: Numbers = .nearest
    ) -> Result<JSON, ParseFailure> {
        var parser = JSONParser(bytes: text, depthMax: depthMax, numbers: numbers)
        if let value = parser.document() { return .success(value) }
        return .failure(ParseFailure(reason: parser.reason, offset: parser.offset, path: parser.path))
    }

    /// Text in the one canonical form: no white space, keys sorted by their UTF-8 bytes, shortest round-trip numbers.
    package var canonicalText: String {
        var bytes: [UInt8] = []
        self.append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends the canonical text.
    package func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let flag): bytes.append(contentsOf: (flag ? "true" : "false").utf8)
        case .int(let number): bytes.append(contentsOf: String(number).utf8)
        // JSON has no other numbers; `Value.json` writes them as an object instead.
        case .double(let number): bytes.append(contentsOf: (number.isFinite ? "\(number)" : "null").utf8)
        case .string(let text): JSON.appendQuoted(text, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (position, element) in elements.enumerated() {
                if position > 0 { bytes.append(UInt8(ascii: ",")) }
                element.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            let sorted = members.sorted { $0.key < $1.key }
            for (position, member) in sorted.enumerated() {
                if position > 0 { bytes.append(UInt8(ascii: ",")) }
                JSON.appendQuoted(member.key.text, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// Appends text as a string.
    package static func appendQuoted(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        defer { bytes.append(UInt8(ascii: "\"")) }
        let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        guard !isPlain else { return bytes.append(contentsOf: text.utf8) }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes.append(contentsOf: "\\\"".utf8)
            case UInt8(ascii: "\\"): bytes.append(contentsOf: "\\\\".utf8)
            case 0x0a: bytes.append(contentsOf: "\\n".utf8)
            case 0x0d: bytes.append(contentsOf: "\\r".utf8)
            case 0x09: bytes.append(contentsOf: "\\t".utf8)
            case 0..<0x20: bytes.append(contentsOf: "\\u00\(Hexadecimal.text([byte]))".utf8)
            default: bytes.append(byte)
            }
        }
    }
}

extension Value {
    /// The property value a JSON value stands for: scalars as they are, arrays and objects as documents, and the forms
    /// of `json` for what JSON has no word for.
    package init(_ json: JSON) {
        switch json {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .int(let number): self = .int(number)
        case .double(let number): self = .double(number)
        case .string(let text): self = .string(text)
        case .array: self = .document(json.canonicalText)
        case .object(let members): self = Value.special(members) ?? .document(json.canonicalText)
        }
    }

    /// The JSON form.
    ///
    /// Doubles that are no JSON numbers become `{"$double": "16 hex digits"}`, bytes `{"$bytes": "hex"}` and blob
    /// references `{"$blob": {…}}`.
    package var json: JSON {
        switch self {
        case .null: return .null
        case .bool(let flag): return .bool(flag)
        case .int(let number): return .int(number)
        case .double(let bits):
            let number = Double(bitPattern: bits)
            return number.isFinite ? .double(number) : Value.exact(bits)
        case .string(let text): return .string(text)
        case .document(let text): return JSON(parsing: text.utf8) ?? .string(text)
        case .bytes(let bytes): return .object(["$bytes": .string(Hexadecimal.text(bytes))])
        case .blob(let reference): return .object(["$blob": reference.json])
        }
    }

    /// A double as the object that keeps all of its bits.
    static func exact(_ bits: UInt64) -> JSON {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(bits)
        return .object(["$double": .string(Hexadecimal.text(bytes))])
    }

    private static func special(_ members: [ExactText: JSON]) -> Value? {
        guard members.count == 1, let member = members.first else { return nil }
        switch (member.key.text, member.value) {
        case ("$double", .string(let text)):
            guard let bytes = Hexadecimal.bytes(text), bytes.count == 8 else { return nil }
            return .double(bits: bytes.reduce(0) { $0 << 8 | UInt64($1) })
        case ("$bytes", .string(let text)): return Hexadecimal.bytes(text).map { .bytes($0) }
        case ("$blob", .object(let fields)): return BlobReference(fields).map { .blob($0) }
        default: return nil
        }
    }
}
