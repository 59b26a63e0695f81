internal import CRDTCore
internal import LocalAPI

/// The verbs that change objects. Without `--json` they print nothing but the id of a new object.
extension Workplace {
    /// No parent is the root.
    func create(
        _ type: String,
        kind: String,
        in parent: String?,
        key: String?,
        _ assignments: [Assignment]
    ) async throws {
        let members: [ExactText: JSON?] = [
            "type": .string(type),
            "kind": .string(kind),
            "parent": try parent.map { .string(try ObjectArgument.checked($0)) },
            "properties": try Assignment.json(assignments),
            "key": key.map { .string($0) },
        ]
        let request = APIRequest(.post, "api", "objects", query: try await self.branchQuery, body: members)
        let receipt = try await self.receipt(request)
        try self.output.show(receipt, receipt.id)
    }

    func set(_ object: String, _ assignments: [Assignment]) async throws {
        let (id, branch) = (try ObjectArgument.checked(object), try await self.branchQuery)
        let members: [ExactText: JSON?] = ["properties": try Assignment.json(assignments)]
        try self.report(try await self.receipt(APIRequest(.patch, "api", "objects", id, query: branch, body: members)))
    }

    func unset(_ object: String, _ name: String) async throws {
        let (id, branch) = (try ObjectArgument.checked(object), try await self.branchQuery)
        let request = APIRequest(.delete, "api", "objects", id, "properties", name, query: branch)
        try self.report(try await self.receipt(request))
    }

    /// No parent is the root.
    func move(_ object: String, _ parent: String?, _ before: String?) async throws {
        let parent = try parent.map { JSON.string(try ObjectArgument.checked($0)) } ?? .null
        let before = try before.map { JSON.string(try ObjectArgument.checked($0)) }
        let members: [ExactText: JSON?] = ["parent": parent, "before": before]
        let branch = try await self.branchQuery
        let request = try ObjectArgument.request(.post, object, "move", query: branch, body: members)
        try self.report(try await self.receipt(request))
    }

    func remove(_ object: String) async throws {
        let (id, branch) = (try ObjectArgument.checked(object), try await self.branchQuery)
        try self.report(try await self.work(APIRequest(.delete, "api", "objects", id, query: branch)))
    }

    /// Orders held changes of the user's devices directly after what they had seen.
    func restamp(isClockRight: Bool) async throws {
        let request = APIRequest(.post, "api", "restamp", body: ["clock_is_right": .bool(isClockRight)])
        let restamped = try await self.caller.answer(request, as: RestampAnswer.self).restamped
        if self.output.isJSON { return try self.output.json(restamped) }
        for entry in restamped {
            try self.output.line("restamped \(PlainText.count(entry.changes, "change")) of \(entry.deviceName)")
        }
        if restamped.isEmpty { try self.output.line("Nothing is held.") }
    }

    private func receipt(_ request: APIRequest) async throws -> ReceiptAnswer {
        var request = request
        request.wantsReceipt = true
        return try await self.caller.answer(request)
    }

    private func report(_ receipt: ReceiptAnswer) throws {
        if self.output.isJSON { try self.output.json(receipt) }
    }
}
