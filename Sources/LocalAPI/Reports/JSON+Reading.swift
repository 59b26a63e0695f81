package import CRDTCore

extension JSON {
    /// The text; nil if this is another kind of value.
    package var text: String? { if case .string(let text) = self { text } else { nil } }

    /// Values of properties lie so much deeper in answers than they may by themselves.
    private static let depthAroundValues = 8

    /// Parses an answer of the API.
    package static func answer<Answer: Decodable>(_ bytes: [UInt8], as type: Answer.Type = Answer.self) throws -> Answer
    {
        guard case .success(let json) = JSON.parse(bytes, depthMax: JSON.depthMax + self.depthAroundValues) else {
            throw APIConnectionError.notUnderstood
        }
        return try json.decoded()
    }

    /// The canonical text.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        self.append(to: &bytes)
        return bytes
    }

    /// Whether something in it lies deeper than some number of arrays and objects.
    func isDeeper(than depth: Int) -> Bool {
        if depth < 0 { return true }
        return switch self {
        case .array(let elements): elements.contains { $0.isDeeper(than: depth - 1) }
        case .object(let members): members.values.contains { $0.isDeeper(than: depth - 1) }
        default: false
        }
    }
}

/// The members of a JSON object that a client sent, read one by one.
///
/// Every function throws a ``Problem`` that names the member.
struct Members {
    private let members: [ExactText: JSON]
    /// What the members belong to, for error messages.
    private let owner: String
    private let names = AskedNames()

    /// The members that somebody has asked for.
    private final class AskedNames {
        var all: Set<ExactText> = []
    }

    init(_ json: JSON, of owner: String) throws(Problem) {
        guard case .object(let members) = json else { throw .badRequest("\(owner) must be a JSON object.") }
        self.members = members
        self.owner = owner
    }

    func has(_ name: String) -> Bool { self.members[ExactText(name)] != nil }

    subscript(_ name: String) -> JSON? {
        self.names.all.insert(ExactText(name))
        return self.members[ExactText(name)]
    }

    /// Throws if there is a member of another name.
    func requireOnly(_ names: Set<String>) throws(Problem) {
        for name in names { self.names.all.insert(ExactText(name)) }
        try self.requireNoOthers()
    }

    /// Throws if there is a member that nobody has asked for: a slip of the pen would be lost without a word.
    func requireNoOthers() throws(Problem) {
        guard let other = self.members.keys.filter({ !self.names.all.contains($0) }).min() else { return }
        let owner = self.owner.prefix(1).lowercased() + self.owner.dropFirst()
        throw .badRequest("There is no member “\(other.text)” of \(owner).")
    }

    /// The text of a member; nil if it is missing or null.
    func text(_ name: String) throws(Problem) -> String? { try self.read(name, "text") { $0.text } }

    func requiredText(_ name: String) throws(Problem) -> String {
        guard let text = try self.text(name) else { throw self.wrong(name, "text") }
        return text
    }

    func flag(_ name: String) throws(Problem) -> Bool {
        try self.read(name, "true or false") { if case .bool(let flag) = $0 { flag } else { nil } } ?? false
    }

    func number(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        try self.read(name, "a number from \(range.lowerBound) to \(range.upperBound)") { json in
            guard case .int(let number) = json, range.contains(Int(clamping: number)) else { return nil }
            return Int(clamping: number)
        }
    }

    func texts(_ name: String) throws(Problem) -> [String] {
        try self.array(name).map { element throws(Problem) in
            guard let text = element.text else { throw self.wrong(name, "an array of texts") }
            return text
        }
    }

    func array(_ name: String) throws(Problem) -> [JSON] {
        try self.read(name, "an array") { if case .array(let elements) = $0 { elements } else { nil } } ?? []
    }

    /// The members of a member that is an object; none if it is missing or null.
    func object(_ name: String) throws(Problem) -> [(name: String, value: JSON)] {
        let members = try self.read(name, "an object") { if case .object(let members) = $0 { members } else { nil } }
        return (members ?? [:]).map { ($0.key.text, $0.value) }.sorted { $0.0 < $1.0 }
    }

    /// A member of some kind; nil if it is missing or null.
    private func read<Content>(
        _ name: String,
        _ kind: @autoclosure () -> String,
        _ content: (JSON) -> Content?
    ) throws(Problem) -> Content? {
        guard let json = self[name], json != .null else { return nil }
        guard let content = content(json) else { throw self.wrong(name, kind()) }
        return content
    }

    private func wrong(_ name: String, _ what: String) -> Problem {
        let owner = self.owner.prefix(1).lowercased() + self.owner.dropFirst()
        return .badRequest("The member “\(name)” of \(owner) must be \(what).")
    }
}
