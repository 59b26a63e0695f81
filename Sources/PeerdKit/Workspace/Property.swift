public import Foundation

/// The name of a property, and the Swift type that its values have.
///
/// ```swift
/// let title = Property<String>("title")
/// let settings = Property<Settings>("settings")    // any Codable type, as one document
/// ```
public struct Property<Content: Sendable>: Sendable {
    /// The name.
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

    /// What a value says in this type.
    func content(of value: Value) throws -> Content {
        if let content = self.decode(value) { return content }
        throw PeerdError(
            .wrongType,
            "The property “\(self.name)” holds \(value.typeName), and not \(Content.self).",
            advice: "Ask for the type that it has, or write a value of yours."
        )
    }
}

extension Property where Content: PropertyValue {
    /// A property whose values are scalars, bytes, or any value.
    public init(_ name: String) {
        self.init(name, value: { $0.value }, decode: { Content($0) })
    }
}

extension Property where Content: Codable {
    /// A property that holds a whole document as JSON.
    ///
    /// Two devices that change it at the same time are in conflict about all of it. Members that this type does not
    /// know survive ``WriteTransaction/update(_:on:default:_:)``.
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

/// What a property holds beside documents.
public protocol PropertyValue: Sendable {
    /// Reads a value; nil if it is of another type.
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
    /// Integers are numbers, too.
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
    /// A JSON text as a value: scalars as they are, arrays and objects as a document.
    ///
    /// - Throws: ``PeerdError`` with `invalidArgument` if it is not JSON, or more than 128 deep.
    public init(json data: Data) throws {
        guard let json = JSON(parsing: data) else {
            throw PeerdError(.invalidArgument, "The text is not JSON.", advice: "Write one JSON value.")
        }
        self.init(json)
    }

    /// The JSON text of the value; what JSON has no word for is an object with one member that begins with a dollar
    /// sign.
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
