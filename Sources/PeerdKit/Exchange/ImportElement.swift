internal import CRDTCore

/// One object of a file to import, as its members say.
struct ImportElement {
    let element: ImportScanner.Element
    let members: [ExactText: JSON]
    let type: String
    let kind: String
    let id: ObjectID?
    let key: String?
    let parent: ObjectID?
    let parentKey: String?
    let parentType: String?
    let position: String

    /// Values lie so much deeper in an object than they may by themselves.
    private static let depthAroundValues = 2
    private static let knownMembers: Set<String> = [
        "type", "kind", "id", "key", "parent", "parent_key", "parent_type", "position", "properties", "created_at",
        "updated_at", "creator", "owner", "missing",
    ]

    init(_ element: ImportScanner.Element) throws {
        let members = try Self.members(of: element)
        func text(_ name: String) throws -> String? {
            switch members[ExactText(name)] {
            case nil, .null?: return nil
            case .string(let text)?: return text
            default: throw ImportFile.failure(element, "has a \"\(name)\" that is not text")
            }
        }
        func identifier(_ name: String) throws -> ObjectID? {
            guard let text = try text(name) else { return nil }
            guard let id = ObjectID(text: text) else {
                throw ImportFile.failure(element, "has a \"\(name)\" that is not a UUID")
            }
            return id
        }
        self.element = element
        self.members = members
        self.type = try text("type") ?? ""
        self.kind = try text("kind") ?? ""
        self.id = try identifier("id")
        self.key = try text("key")
        self.parent = try identifier("parent")
        self.parentKey = try text("parent_key")
        self.parentType = try text("parent_type")
        self.position = try text("position") ?? ""
        if self.id == nil, self.type.isEmpty { throw ImportFile.failure(element, "has no \"type\"") }
        for (name, size) in [("type", self.type.utf8.count), ("kind", self.kind.utf8.count)]
        where size > Limits.nameByteCountMax {
            throw ImportFile.failure(element, "has a \"\(name)\" of more than \(Limits.nameByteCountMax) bytes")
        }
    }

    /// JSON texts by property name.
    func properties() throws -> [ExactText: String] {
        switch self.members["properties"] {
        case nil, .null?: return [:]
        case .object(let members)?:
            for (name, value) in members { try self.check(name.text, value) }
            return members.mapValues(\.canonicalText)
        default: throw ImportFile.failure(self.element, "has \"properties\" that are not a JSON object")
        }
    }

    /// The names of properties whose values the file lacks.
    func missing() throws -> Set<ExactText> {
        let failure = ImportFile.failure(self.element, "has a \"missing\" that is no list of names")
        switch self.members["missing"] {
        case nil, .null?: return []
        case .array(let names)?:
            return Set(
                try names.map { name in
                    guard case .string(let text) = name else { throw failure }
                    return ExactText(text)
                }
            )
        default: throw failure
        }
    }

    private func check(_ name: String, _ value: JSON) throws {
        guard name.utf8.count <= Limits.nameByteCountMax else {
            throw ImportFile.failure(
                self.element,
                "has a property whose name has more than \(Limits.nameByteCountMax) bytes: \"\(name.prefix(40))…\""
            )
        }
        guard case .string(let text) = value, text.utf8.count > Limits.valueByteCountMax else { return }
        throw ImportFile.failure(
            self.element,
            "has a property \"\(name)\" with a text of more than \(Limits.valueByteCountMax) bytes"
        )
    }

    private static func members(of element: ImportScanner.Element) throws -> [ExactText: JSON] {
        switch JSON.parse(element.bytes, depthMax: JSON.depthMax + self.depthAroundValues, numbers: .exact) {
        case .success(.object(let members)):
            if let unknown = members.keys.map(\.text).filter({ !self.knownMembers.contains($0) }).min() {
                throw ImportFile.failure(element, "has an unknown member \"\(unknown)\"")
            }
            return members
        case .success: throw ImportFile.failure(element, "is not a JSON object")
        case .failure(let failure): throw ImportFile.failure(element, self.text(of: failure, in: element))
        }
    }

    /// Which property it is, on which line, and what is wrong with it.
    private static func text(of failure: JSON.ParseFailure, in element: ImportScanner.Element) -> String {
        let line = element.line + element.bytes.prefix(failure.offset).count { $0 == UInt8(ascii: "\n") }
        let isProperty = failure.path.first == "properties" && failure.path.count > 1
        let subject =
            isProperty ? "property \"\(failure.path[1])\"" : failure.path.first.map { "member \"\($0)\"" } ?? "text"
        switch failure.reason {
        case .notJSON: return "is not JSON from its \(subject) on line \(line) on"
        case .tooDeep:
            return "has a \(subject) on line \(line) with more than \(JSON.depthMax) levels of arrays and objects"
        case .numberTooLarge:
            return "has a number in its \(subject) on line \(line) that is beyond the range of a double"
        case .numberTooSmall:
            return "has a number in its \(subject) on line \(line) that would be stored as zero"
        case .integerTooLarge:
            return "has an integer beyond 64 bits in its \(subject) on line \(line), which would lose digits"
        case .repeatedMember:
            let name = (failure.path.last ?? "").prefix(40)
            return "has two members \"\(name)\" in one JSON object on line \(line)"
        }
    }
}

extension ImportFile {
    static let advice = "Correct the file; nothing was imported."

    static func failure(_ element: ImportScanner.Element, _ what: String) -> PeerdError {
        self.failure(element.number, line: element.line, what)
    }

    static func failure(_ number: Int, line: Int, _ what: String) -> PeerdError {
        PeerdError(
            .importInvalid,
            "Object \(number) of the file, on line \(line), \(what).",
            advice: self.advice
        )
    }
}
