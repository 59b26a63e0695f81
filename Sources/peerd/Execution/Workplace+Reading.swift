internal import CRDTCore
internal import LocalAPI

/// The verbs that show objects.
extension Workplace {
    func get(_ object: String, _ name: String?, at moment: String?) async throws {
        let query = try await self.query(at: moment) + [("property", name)]
        let request = try ObjectArgument.request(.get, object, "export", query: query)
        guard let name else { return try self.describe(try await self.caller.answer(request)) }
        let answer: ExportedProperty = try await self.caller.answer(request)
        guard case .object(let properties) = answer.properties, let value = properties[ExactText(name)] else {
            throw APIConnectionError.notUnderstood
        }
        if case .string(let text) = value, !self.output.isJSON {
            // Byte for byte, for scripts.
            try self.output.write((text + "\n").utf8)
        } else {
            try self.output.json(value)
        }
    }

    /// An object with all its properties.
    private func describe(_ object: ExportedObject) throws {
        if self.output.isJSON {
            guard case .object(var members) = JSON(object) else { return }
            members["created_by"] = nil
            if object.missing.isEmpty { members["missing"] = nil }
            return try self.output.json(JSON.object(members))
        }
        var rows = [["id", object.id], ["type", object.type ?? ""]]
        if let kind = object.kind, !kind.isEmpty { rows.append(["kind", kind]) }
        if let parent = object.parent { rows.append(["parent", parent]) }
        if let time = object.createdAt.map({ PlainText.time($0) }) {
            rows.append(["created", object.createdBy.map { "\(time) on \($0)" } ?? time])
        }
        rows.append(["updated", PlainText.time(object.updatedAt)])
        try self.output.table(rows)
        guard case .object(let properties) = object.properties else { return }
        var texts = properties.mapValues { PlainText.of(Value($0)) }
        for name in object.missing { texts[ExactText(name)] = "(not here)" }
        guard !texts.isEmpty else { return }
        try self.output.line("")
        try self.output.table(texts.sorted { $0.key < $1.key }.map { [$0.key.text, $0.value] })
    }

    func list(_ object: String?, at moment: String?) async throws {
        let query = try await self.query(at: moment) + [("fields", "summary")]
        let request = try ObjectArgument.request(.get, object, "children", query: query)
        try await self.printElements(request) { (object: ObjectSummary) in [object.line] }
    }

    /// Prints the elements that the API answers with, as they come: as an array, or each in lines for people.
    func printElements<Element: Answer>(_ request: APIRequest, _ lines: (Element) -> [String]) async throws {
        let isJSON = self.output.isJSON
        var array = ArrayText(self.output)
        try await self.caller.lines(request) { line in
            if isJSON { return try array.add(line) }
            for text in lines(try JSON.answer(line)) { try self.output.line(text) }
        }
        if isJSON { try array.end() }
    }

    func tree(_ object: String?, at moment: String?) async throws {
        let query = try await self.query(at: moment) + [("fields", "summary"), ("top", "true")]
        let request = try ObjectArgument.request(.get, object, "tree", query: query)
        let isJSON = self.output.isJSON
        var drawing = TreeDrawing(self.output, beginsWithTop: object != nil)
        var text = TreeText(self.output)
        try await self.caller.elements(request) { (object: Joined<ObjectSummary, TreePlace>) in
            if isJSON { return try text.add(object.first, depth: object.depth) }
            try drawing.add(object.first, depth: object.depth, isLast: object.isLast ?? false)
        }
        if isJSON { try text.end() }
    }

    func export(_ object: String?, at moment: String?) async throws {
        let under = try object.map { try ObjectArgument.checked($0) }
        let request = APIRequest(.get, "api", "export", query: try await self.query(at: moment) + [("under", under)])
        try await self.caller.pieces(request) { try self.output.write($0) }
    }

    /// The parameter that names a moment to the routes; without one, that of the current branch.
    func query(at moment: String?) async throws -> [(name: String, value: String?)] {
        [("at", try await self.moment(moment))]
    }

    /// Prints operations in the order of their chains, fork by fork.
    func log(_ object: String?) async throws {
        let request = try ObjectArgument.request(.get, object, "log")
        let isJSON = self.output.isJSON
        try await self.caller.lines(request) { line in
            if isJSON {
                try self.output.write(line + [UInt8(ascii: "\n")])
            } else {
                try self.output.line(try JSON.answer(line, as: LogEntryAnswer.self).text)
            }
        }
    }
}

/// Objects as command lines name them.
enum ObjectArgument {
    /// The text itself, if it can name an object.
    static func checked(_ text: String) throws -> String {
        try ObjectLookup.checkForm(text)
        return text
    }

    /// A request for a part of what the API shows of an object, or of everything.
    static func request(
        _ method: APIRequest.Method,
        _ object: String?,
        _ part: String,
        query: [(name: String, value: String?)] = [],
        body: [ExactText: JSON?]? = nil
    ) throws -> APIRequest {
        guard let object else { return APIRequest(method, "api", part, query: query, body: body) }
        return APIRequest(method, "api", "objects", try self.checked(object), part, query: query, body: body)
    }
}

/// A JSON array, one element a line, in the form of an export.
struct ArrayText {
    private let output: CommandOutput
    private var isEmpty = true

    init(_ output: CommandOutput) { self.output = output }

    /// Adds the canonical JSON of an element.
    mutating func add(_ element: some Sequence<UInt8>) throws {
        try self.output.write((self.isEmpty ? "[\n" : ",\n").utf8)
        try self.output.write(element)
        self.isEmpty = false
    }

    func end() throws { try self.output.write((self.isEmpty ? "[]\n" : "\n]\n").utf8) }
}
