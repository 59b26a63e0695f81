internal import CRDTCore
internal import LocalAPI

/// The verbs about people, and what they may do.
extension Workplace {
    func share(_ object: String, with person: String, as role: String) async throws {
        try await self.requireMainTimeline("share")
        let id = try ObjectArgument.checked(object)
        let request = APIRequest(.put, "api", "objects", id, "access", person, body: ["role": .string(role)])
        try self.show(try await self.caller.answer(request))
    }

    func unshare(_ object: String, with person: String) async throws {
        try await self.requireMainTimeline("unshare")
        let id = try ObjectArgument.checked(object)
        try self.show(try await self.caller.answer(APIRequest(.delete, "api", "objects", id, "access", person)))
    }

    func showAccess(to object: String) async throws {
        let id = try ObjectArgument.checked(object)
        try self.show(try await self.caller.answer(APIRequest(.get, "api", "objects", id, "access")))
    }

    private func show(_ report: AccessAnswer) throws {
        if self.output.isJSON { return try self.output.json(report) }
        if let shared = report.shared, shared != report.object {
            try self.output.line("It is shared with \(shared), which it is below.")
        }
        try self.output.table(report.access.map { [$0.user.text, $0.role.known?.rawValue ?? "?", $0.user.id] })
    }

    func users() async throws {
        let list: PersonList = try await self.caller.answer(APIRequest(.get, "api", "users"))
        if self.output.isJSON { return try self.output.json(list.users) }
        try self.output.table(list.users.map { [$0.text, $0.isFounder ? "created the workspace" : "", $0.id] })
    }

    func removeUser(_ person: String) async throws {
        try await self.caller.send(APIRequest(.delete, "api", "users", person))
        if !self.output.isJSON {
            try self.output.line("Removed \(person); machines that hear of it refuse that person's machines.")
        }
    }
}

extension PersonAnswer {
    fileprivate var text: String { self.isYou ? "\(self.name) (you)" : self.name }
}
