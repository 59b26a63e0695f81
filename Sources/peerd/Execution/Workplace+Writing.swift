internal import CRDTCore
internal import LocalAPI

/// The verbs that change objects. Without `--json` they print nothing but the id of a new object.
extension Workplace {
    func create(_ creation: ObjectCreation) async throws {
        var members: [ExactText: JSON] = [
            "type": .string(creation.type),
            "kind": .string(creation.kind),
            "properties": try Assignment.json(creation.assignments),
        ]
        if let parent = creation.parent { members["parent"] = .string(try ObjectArgument.checked(parent)) }
        if let key = creation.key { members["key"] = .string(key) }
        var request = APIRequest(.post, "api", "objects")
        request.query = try self.branchQuery
        request.body = .json(.object(members))
        let receipt = try await self.receipt(request)
        if self.output.format.isJSON { return try await self.output.json(receipt) }
        try await self.output.line(receipt["id"]?.text ?? "")
    }

    func set(_ object: String, _ assignments: [Assignment]) async throws {
        try await self.patch(object, ["properties": try Assignment.json(assignments)])
    }

    func unset(_ object: String, _ name: String) async throws {
        // A property that is not there is a mistake.
        var request = try ObjectArgument.request(.get, object, "export")
        request.query = [("property", name)] + (try self.query(at: nil))
        _ = try await self.caller.json(request)
        try await self.patch(object, ["remove": .array([.string(name)])])
    }

    private func patch(_ object: String, _ members: [ExactText: JSON]) async throws {
        var request = APIRequest(.patch, "api", "objects", try ObjectArgument.checked(object))
        request.query = try self.branchQuery
        request.body = .json(.object(members))
        try await self.report(try await self.receipt(request))
    }

    /// No parent is the root.
    func move(_ object: String, _ parent: String?, _ before: String?) async throws {
        var members: [ExactText: JSON] = ["parent": .null]
        if let parent { members["parent"] = .string(try ObjectArgument.checked(parent)) }
        if let before { members["before"] = .string(try ObjectArgument.checked(before)) }
        var request = try ObjectArgument.request(.post, object, "move")
        request.query = try self.branchQuery
        request.body = .json(.object(members))
        try await self.report(try await self.receipt(request))
    }

    func remove(_ object: String) async throws {
        var request = APIRequest(.delete, "api", "objects", try ObjectArgument.checked(object))
        request.query = try self.branchQuery
        try await self.report(try await self.work(request))
    }

    /// Orders held changes of the user's devices directly after what they had seen.
    func restamp(isClockRight: Bool) async throws {
        var request = APIRequest(.post, "api", "restamp")
        request.body = .json(.object(["clock_is_right": .bool(isClockRight)]))
        let restamped = try await self.caller.json(request)["restamped"]?.elements ?? []
        if self.output.format.isJSON { return try await self.output.json(.array(restamped)) }
        for entry in restamped {
            let count = PlainText.count(entry["changes"]?.integer ?? 0, "change")
            try await self.output.line("restamped \(count) of \(entry["device_name"]?.text ?? "?")")
        }
        if restamped.isEmpty { try await self.output.line("Nothing is held.") }
    }

    private func receipt(_ request: APIRequest) async throws -> JSON {
        var request = request
        request.wantsReceipt = true
        return try await self.caller.json(request)
    }

    private func report(_ receipt: JSON) async throws {
        if self.output.format.isJSON { try await self.output.json(receipt) }
    }
}

/// An object to create.
struct ObjectCreation: Hashable, Sendable {
    var type: String
    var kind: String
    var parent: String?
    var key: String?
    var assignments: [Assignment]
}
