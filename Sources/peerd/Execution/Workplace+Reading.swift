internal import CRDTCore
internal import LocalAPI

/// The verbs that show objects.
extension Workplace {
    func get(_ object: String, _ name: String?, at moment: String?) async throws {
        var request = try ObjectArgument.request(.get, object, "export")
        request.query = try self.query(at: moment)
        if let name { request.query.append(("property", name)) }
        let json = try await self.caller.json(request)
        guard let name else { return try await self.describe(json) }
        guard let value = json["properties"]?[name] else { throw APIConnectionError.notUnderstood }
        if case .string(let text) = value, !self.output.format.isJSON {
            // Byte for byte, for scripts.
            try await self.output.write((text + "\n").utf8)
        } else {
            try await self.output.json(value)
        }
    }

    /// An object with all its properties.
    private func describe(_ json: JSON) async throws {
        guard case .object(var members) = json else { throw APIConnectionError.notUnderstood }
        if self.output.format.isJSON {
            members["created_by"] = nil
            return try await self.output.json(.object(members))
        }
        func time(_ name: String) -> String? {
            json[name]?.integer.map { PlainText.time(milliseconds: UInt64(clamping: $0)) }
        }
        var rows = [["id", json["id"]?.text ?? ""], ["type", json["type"]?.text ?? ""]]
        if let kind = json["kind"]?.text, !kind.isEmpty { rows.append(["kind", kind]) }
        if let parent = json["parent"]?.text { rows.append(["parent", parent]) }
        if let time = time("created_at") {
            rows.append(["created", json["created_by"]?.text.map { "\(time) on \($0)" } ?? time])
        }
        rows.append(["updated", time("updated_at") ?? ""])
        try await self.output.table(rows)
        guard case .object(let properties)? = members["properties"], !properties.isEmpty else { return }
        try await self.output.line("")
        let sorted = properties.sorted { $0.key < $1.key }
        try await self.output.table(sorted.map { [$0.key.text, $0.value.text ?? $0.value.canonicalText] })
    }

    func list(_ object: String?, at moment: String?) async throws {
        var request = try ObjectArgument.request(.get, object, "children")
        request.query = [("fields", "summary")] + (try self.query(at: moment))
        let isJSON = self.output.format.isJSON
        try await self.printWhole { spool in
            var array = isJSON ? ArrayText(spool) : nil
            try await self.caller.lines(request) { line in
                if isJSON { array?.add(line) } else { spool.line(ObjectSummary(JSON.answer(line) ?? .null).line) }
            }
            array?.end()
        }
    }

    func tree(_ object: String?, at moment: String?) async throws {
        var request = try ObjectArgument.request(.get, object, "tree")
        request.query = [("fields", "summary"), ("top", "true")] + (try self.query(at: moment))
        let isJSON = self.output.format.isJSON
        try await self.printWhole { spool in
            var drawing = TreeDrawing(spool: spool, beginsWithTop: object != nil)
            var text = isJSON ? TreeText(spool: spool) : nil
            try await self.caller.lines(request) { line in
                guard let json = JSON.answer(line), let depth = json["depth"]?.integer else {
                    throw APIConnectionError.notUnderstood
                }
                let summary = ObjectSummary(json)
                if isJSON {
                    text?.add(summary, depth: Int(depth))
                } else {
                    drawing.add(summary, depth: Int(depth), isLast: json["is_last"]?.isTrue ?? false)
                }
            }
            text?.end()
        }
    }

    func export(_ object: String?, at moment: String?) async throws {
        var request = APIRequest(.get, "api", "export")
        request.query = try self.query(at: moment)
        if let object { request.query.append(("under", try ObjectArgument.checked(object))) }
        try await self.printWhole { spool in try await self.caller.pieces(request) { spool.write($0) } }
    }

    /// The parameter that names a moment to the routes; without one, that of the current branch.
    func query(at moment: String?) throws -> [(name: String, value: String)] {
        try (moment ?? self.branchMoment).map { [("at", $0)] } ?? []
    }

    /// Prints operations in chain order, branch by branch.
    func log(_ object: String?) async throws {
        let request = try ObjectArgument.request(.get, object, "log")
        let isJSON = self.output.format.isJSON
        try await self.caller.lines(request) { line in
            if isJSON {
                try await self.output.write(line + [UInt8(ascii: "\n")])
            } else {
                guard let json = JSON.answer(line) else { throw APIConnectionError.notUnderstood }
                try await self.output.line(LogLine(json).text)
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
    static func request(_ method: APIRequest.Method, _ object: String?, _ part: String) throws -> APIRequest {
        guard let object else { return APIRequest(method, "api", part) }
        return APIRequest(method, "api", "objects", try self.checked(object), part)
    }
}

/// A JSON array, one element a line, in the form of an export.
struct ArrayText {
    private let spool: Spool
    private var isFirst = true

    init(_ spool: Spool) {
        self.spool = spool
        spool.write("[".utf8)
    }

    /// Adds the canonical JSON of an element.
    mutating func add(_ element: [UInt8]) {
        self.spool.write((self.isFirst ? "\n" : ",\n").utf8)
        self.spool.write(element)
        self.isFirst = false
    }

    func end() { self.spool.write((self.isFirst ? "]\n" : "\n]\n").utf8) }
}
