// Codings of ids and values for applications: an id is text, a value is JSON.

extension ObjectID: Codable {
    /// Reads an id from its text.
    ///
    /// - Throws: `DecodingError` if the text is not a UUID.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = ObjectID(text: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "This is not a UUID.")
        }
        self = id
    }

    /// Writes the id as its text.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.description)
    }
}

extension Value: Codable {
    /// Reads a value from JSON, in the form that ``encode(to:)`` writes.
    ///
    /// - Throws: `DecodingError` if it is nested more than 128 levels deep.
    public init(from decoder: any Decoder) throws {
        self.init(try JSON(from: decoder))
        if case .document(let text) = self, JSON(parsing: text.utf8) == nil {
            let context = DecodingError.Context(
                codingPath: decoder.codingPath,
                debugDescription: "This JSON has a value more than \(JSON.depthMax) levels below its top."
            )
            throw DecodingError.dataCorrupted(context)
        }
    }

    /// Writes the value as JSON.
    ///
    /// Every value is read back as it was. Bytes, blobs, and doubles without a fraction (which encoders write like
    /// integers) become objects with one member whose name begins with `$`. In a document, 1.0 becomes 1.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        if case .double(let bits) = self, Double(bitPattern: bits).rounded() == Double(bitPattern: bits) {
            return try Value.exact(bits).encode(to: encoder)
        }
        try self.json.encode(to: encoder)
    }
}

extension JSON: Codable {
    private struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    package init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Key.self) {
            var members: [ExactText: JSON] = [:]
            for key in container.allKeys {
                members[ExactText(key.stringValue)] = try container.decode(JSON.self, forKey: key)
            }
            self = .object(members)
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [JSON] = []
            while !container.isAtEnd { elements.append(try container.decode(JSON.self)) }
            self = .array(elements)
        } else {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let flag = try? container.decode(Bool.self) {
                self = .bool(flag)
            } else if let number = try? container.decode(Int64.self) {
                self = .int(number)
            } else if let number = try? container.decode(Double.self) {
                self = .double(number)
            } else {
                self = .string(try container.decode(String.self))
            }
        }
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            var container = encoder.container(keyedBy: Key.self)
            for (name, member) in members { try container.encode(member, forKey: Key(stringValue: name.text)) }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        default:
            var container = encoder.singleValueContainer()
            switch self {
            case .bool(let flag): try container.encode(flag)
            case .int(let number): try container.encode(number)
            case .double(let number): try container.encode(number)
            case .string(let text): try container.encode(text)
            default: try container.encodeNil()
            }
        }
    }
}
