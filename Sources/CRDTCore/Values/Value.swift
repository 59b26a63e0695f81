/// A value that a property can hold: a JSON scalar, a JSON document, bytes, or a reference to a blob.
///
/// Every value comes back as it was written: doubles bit by bit, so that NaN payloads and -0.0 survive, and text
/// without Unicode normalisation. A value is at most 1 MiB when encoded.
public enum Value: Hashable, Sendable {
    /// The value null, which is not the same as a property that is not set.
    case null
    /// A truth value.
    case bool(Bool)
    /// An integer.
    case int(Int64)
    /// A double, as its IEEE 754 bit pattern.
    case double(bits: UInt64)
    /// A text.
    case string(String)
    /// An array or object, as JSON text.
    case document(String)
    /// A sequence of bytes, which JSON cannot express.
    case bytes([UInt8])
    /// A reference to a blob; this version keeps and carries no contents.
    case blob(BlobReference)

    /// Whether both are the same to the last bit: texts are equal only in the same Unicode form.
    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.int(let left), .int(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.string(let left), .string(let right)), (.document(let left), .document(let right)):
            left.utf8.elementsEqual(right.utf8)
        case (.bytes(let left), .bytes(let right)): left == right
        case (.blob(let left), .blob(let right)): left == right
        default: false
        }
    }

    /// Hashes what ``==(_:_:)`` compares.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .int(let value): hasher.combine(value)
        case .double(let bits): hasher.combine(bits)
        case .string(let text), .document(let text): for byte in text.utf8 { hasher.combine(byte) }
        case .bytes(let bytes): hasher.combine(bytes)
        case .blob(let reference): hasher.combine(reference)
        }
    }

    /// Makes the value of a double.
    public static func double(_ value: Double) -> Value { .double(bits: value.bitPattern) }
}

/// The first byte of an encoded value.
package enum ValueTag: UInt8, Sendable, CaseIterable {
    case null = 0
    case `false` = 1
    case `true` = 2
    case int = 3
    case double = 4
    case string = 5
    case document = 6
    case bytes = 7
    case blob = 8
}

extension Value {
    /// Appends the canonical bytes: a tag, then the content up to the end of the payload.
    ///
    /// Each value has one encoding.
    package func encode(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(ValueTag.null.rawValue)
        case .bool(let flag): bytes.append((flag ? ValueTag.true : ValueTag.false).rawValue)
        case .int(let number):
            bytes.append(ValueTag.int.rawValue)
            bytes.appendZigzag(number)
        case .double(let bits):
            bytes.append(ValueTag.double.rawValue)
            bytes.appendBigEndian(bits)
        case .string(let text):
            bytes.append(ValueTag.string.rawValue)
            bytes.append(contentsOf: text.utf8)
        case .document(let text):
            bytes.append(ValueTag.document.rawValue)
            bytes.append(contentsOf: text.utf8)
        case .bytes(let content):
            bytes.append(ValueTag.bytes.rawValue)
            bytes.append(contentsOf: content)
        case .blob(let reference):
            bytes.append(ValueTag.blob.rawValue)
            reference.encode(to: &bytes)
        }
    }

    /// The canonical bytes.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        self.encode(to: &bytes)
        return bytes
    }

    /// Reads a value that fills all of `bytes`.
    package init(encoded bytes: some Collection<UInt8>) throws(WireError) {
        guard let first = bytes.first, let tag = ValueTag(rawValue: first) else { throw .unknownKind }
        let content = Array(bytes.dropFirst())
        var reader = ByteReader(content)
        switch tag {
        case .null, .false, .true:
            try reader.finish()
            self = tag == .null ? .null : .bool(tag == .true)
        case .int:
            self = .int(try reader.zigzag())
            try reader.finish()
        case .double:
            self = .double(bits: try reader.bigEndian())
            try reader.finish()
        case .string:
            self = .string(try Value.text(content))
        case .document:
            self = .document(try Value.text(content))
        case .bytes:
            self = .bytes(content)
        case .blob:
            self = .blob(try BlobReference(from: &reader))
        }
    }

    /// Checks that bytes are a canonical value without building it.
    package static func validate(_ bytes: ArraySlice<UInt8>) throws(WireError) {
        guard let first = bytes.first, let tag = ValueTag(rawValue: first) else { throw .unknownKind }
        switch tag {
        case .null, .false, .true:
            guard bytes.count == 1 else { throw .trailingBytes }
        case .int:
            // Numbers of up to nine bytes, which are nearly all, need no reader: only the last is below 0x80, and it is
            // not zero unless it is the only one.
            let digits = bytes.dropFirst()
            if let last = digits.last, digits.count <= 9, last < 0x80, last > 0 || digits.count == 1,
                digits.dropLast().allSatisfy({ $0 >= 0x80 })
            {
                return
            }
            _ = try Value(encoded: bytes)
        case .double:
            guard bytes.count == 9 else { throw bytes.count < 9 ? .truncated : .trailingBytes }
        case .string:
            // ASCII is UTF-8; only other text pays for validation.
            if bytes.allSatisfy({ $0 < 0x80 }) { return }
            _ = try Value(encoded: bytes)
        case .document, .blob:
            _ = try Value(encoded: bytes)
        case .bytes:
            break
        }
    }

    static func text(_ bytes: some Collection<UInt8>) throws(WireError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notCanonical }
        return text
    }
}
