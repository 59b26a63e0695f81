public import Foundation

/// The name of a property, with the Swift type of its values.
///
/// ```swift
/// let title = Property<String>("title")
/// let settings = Property<Settings>("settings")  // Any Codable type, as one document.
/// ```
///
/// Declare each property of an application once, and use it wherever objects are read and written. Nothing is stored
/// until a value is set.
public struct Property<Content: Sendable>: Sendable {
    /// The name, of at most 512 bytes.
    public let name: String
    let value: @Sendable (Content) throws -> Value
    private let decode: @Sendable (Value) -> Content?

    init(
        _ name: String,
        value: @escaping @Sendable (Content) throws -> Value,
        decode: @escaping @Sendable (Value) -> Content?
    ) {
        self.name = name
        self.value = value
        self.decode = decode
    }

    /// Reads a value as this type.
    func content(of value: Value) throws -> Content {
        if let content = self.decode(value) { return content }
        throw PeerdError(
            .wrongType,
            "The property “\(self.name)” holds \(value.typeName), not \(Content.self).",
            advice: "Read it with the type that it has, or write a value of this type."
        )
    }
}

extension Property where Content: PropertyValue {
    /// Makes a property whose values are scalars, bytes, or any ``Value``.
    public init(_ name: String) {
        self.init(name, value: { $0.value }, decode: { Content($0) })
    }
}

extension Property where Content: Codable {
    /// Makes a property that holds a whole document as JSON.
    ///
    /// The document is one value: two machines that change it apart are in conflict about all of it. Members that this
    /// type does not know survive ``WriteTransaction/update(_:on:default:_:)``.
    @_disfavoredOverload
    public init(_ name: String) {
        self.init(
            name,
            value: { try Value(json: JSONEncoder.sorted.encode($0)) },
            decode: { value in
                guard case .document(let text) = value else { return nil }
                return try? JSONDecoder().decode(Content.self, from: Data(text.utf8))
            }
        )
    }
}

/// A type whose values a property can hold directly, and not as a document.
public protocol PropertyValue: Sendable {
    /// Reads a value; nil if it has another type.
    init?(_ value: Value)
    /// The value to write.
    var value: Value { get }
}

extension String: PropertyValue {
    /// Reads a value; nil if it is of another type.
    public init?(_ value: Value) {
        guard case .string(let text) = value else { return nil }
        self = text
    }

    /// The value to write.
    public var value: Value { .string(self) }
}

extension Bool: PropertyValue {
    /// Reads a value; nil if it is of another type.
    public init?(_ value: Value) {
        guard case .bool(let flag) = value else { return nil }
        self = flag
    }

    /// The value to write.
    public var value: Value { .bool(self) }
}

extension Int: PropertyValue {
    /// Reads a value; nil if it is of another type.
    public init?(_ value: Value) {
        guard case .int(let number) = value else { return nil }
        self.init(number)
    }

    /// The value to write.
    public var value: Value { .int(Int64(self)) }
}

extension Int64: PropertyValue {
    /// Reads a value; nil if it is of another type.
    public init?(_ value: Value) {
        guard case .int(let number) = value else { return nil }
        self = number
    }

    /// The value to write.
    public var value: Value { .int(self) }
}

extension Double: PropertyValue {
    /// Reads a double or an integer; nil if the value has another type.
    public init?(_ value: Value) {
        switch value {
        case .double(let bits): self.init(bitPattern: bits)
        case .int(let number): self.init(number)
        default: return nil
        }
    }

    /// The value to write.
    public var value: Value { .double(self) }
}

extension [UInt8]: PropertyValue {
    /// Reads a value; nil if it is of another type.
    public init?(_ value: Value) {
        guard case .bytes(let bytes) = value else { return nil }
        self = bytes
    }

    /// The value to write.
    public var value: Value { .bytes(self) }
}

extension Data: PropertyValue {
    /// Reads a value; nil if it is of another type.
    public init?(_ value: Value) {
        guard case .bytes(let bytes) = value else { return nil }
        self.init(bytes)
    }

    /// The value to write.
    public var value: Value { .bytes([UInt8](self)) }
}

extension Value: PropertyValue {
    /// Reads a value; nil if it is of another type.
    public init?(_ value: Value) { self = value }

    /// The value to write.
    public var value: Value { self }
}

extension Value {
    /// Reads JSON text: a scalar becomes a scalar, an array or object becomes a document.
    ///
    /// - Throws: ``PeerdError`` with `invalidArgument` if it is not JSON, or is nested more than 128 levels deep.
    /// - Complexity: O(*n*) in the bytes of the text.
    public init(json data: Data) throws {
        guard let json = JSON(parsing: data) else {
            throw PeerdError(.invalidArgument, "The text is not JSON.", advice: "Write one JSON value.")
        }
        self.init(json)
    }

    /// The canonical JSON text of the value.
    ///
    /// A value that JSON cannot express becomes an object with one member whose name begins with `$`.
    ///
    /// - Complexity: O(*n*) in the bytes of the text.
    public var jsonText: String { self.json.canonicalText }

    fileprivate var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "a truth value"
        case .int: "an integer"
        case .double: "a number"
        case .string: "text"
        case .document: "a document"
        case .bytes: "bytes"
        case .blob: "a reference to a blob"
        }
    }
}

extension JSONEncoder {
    static var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
