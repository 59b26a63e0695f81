internal import CRDTCore
internal import LocalAPI

/// The verbs about people, and what they may do.
extension Workplace {
    func share(_ object: String, with person: String, as role: String, only properties: [String]?) async throws {
        try await self.requireMainTimeline("share")
        let id = try ObjectArgument.checked(object)
        let names = properties.map { JSON.array($0.map { .string($0) }) }
        let body: [ExactText: JSON?] = ["role": .string(role), "properties": names]
        let request = APIRequest(.put, "api", "objects", id, "access", person, body: body)
        try self.show(try await self.caller.answer(request))
    }

    func unshare(_ object: String, with person: String) async throws {
        try await self.requireMainTimeline("unshare")
        let id = try ObjectArgument.checked(object)
        try self.show(try await self.caller.answer(APIRequest(.delete, "api", "objects", id, "access", person)))
    }

    func hide(_ name: String, of object: String) async throws {
        try await self.requireMainTimeline("hide")
        let id = try ObjectArgument.checked(object)
        try self.show(try await self.caller.answer(APIRequest(.put, "api", "objects", id, "hidden", name)))
    }

    func unhide(_ name: String, of object: String) async throws {
        try await self.requireMainTimeline("unhide")
        let id = try ObjectArgument.checked(object)
        try self.show(try await self.caller.answer(APIRequest(.delete, "api", "objects", id, "hidden", name)))
    }

    func share(_ name: String, of object: String, with person: String, as role: String) async throws {
        try await self.requireMainTimeline("share")
        let id = try ObjectArgument.checked(object)
        let path = APIRequest(
            .put,
            "api",
            "objects",
            id,
            "hidden",
            name,
            "access",
            person,
            body: ["role": .string(role)]
        )
        try self.show(try await self.caller.answer(path))
    }

    func unshare(_ name: String, of object: String, with person: String) async throws {
        try await self.requireMainTimeline("unshare")
        let id = try ObjectArgument.checked(object)
        let request = APIRequest(.delete, "api", "objects", id, "hidden", name, "access", person)
        try self.show(try await self.caller.answer(request))
    }

    func leave(_ object: String) async throws {
        try await self.requireMainTimeline("leave")
        let id = try ObjectArgument.checked(object)
        try await self.caller.send(APIRequest(.delete, "api", "objects", id, "access"))
        if !self.output.isJSON { try self.output.line("Left \(id.prefix(8)); it shows on your machines no more.") }
    }

    func why(_ object: String, _ property: String?, of person: String) async throws {
        let id = try ObjectArgument.checked(object)
        let request = APIRequest(.get, "api", "objects", id, "access", person, query: [("property", property)])
        let answer: AccessExplanationAnswer = try await self.caller.answer(request)
        if self.output.isJSON { return try self.output.json(answer) }
        try self.output.line(answer.read.text("read", answer.user))
        try self.output.line(answer.write.text("write", answer.user))
    }

    func showAccess(to object: String?) async throws {
        guard let object else { return try await self.showShares() }
        let id = try ObjectArgument.checked(object)
        try self.show(try await self.caller.answer(APIRequest(.get, "api", "objects", id, "access")))
    }

    private func showShares() async throws {
        let list: AccessList = try await self.caller.answer(APIRequest(.get, "api", "access"))
        if self.output.isJSON { return try self.output.json(list.shares) }
        if list.shares.isEmpty { return try self.output.line("Nothing is shared.") }
        try self.output.table(
            list.shares.map { share in
                let people = share.access.map { "\($0.user.text) (\($0.text))" }
                return [String(share.object.prefix(8)), people.joined(separator: ", ")]
            }
        )
    }

    private func show(_ report: AccessAnswer) throws {
        if self.output.isJSON { return try self.output.json(report) }
        if let shared = report.shared, shared != report.object {
            try self.output.line("It is shared with \(shared), which it is below.")
        }
        if report.hasEnded {
            try self.output.line("It is not shared with you any more: what is here stays, and nothing comes.")
        }
        try self.output.table(report.access.map { [$0.user.text, $0.text, $0.user.id] })
        for property in report.hidden {
            let others = property.access.dropFirst().map { "\($0.user.text) (\($0.text))" }
            let readers = others.isEmpty ? "nobody else" : others.joined(separator: ", ")
            let owner = property.access.first?.user.text ?? "?"
            try self.output.line("\(property.name) is hidden by \(owner); \(readers) may read it.")
        }
        for copy in report.copies {
            let isOwner = copy.role.known == .owner
            let words =
                isOwner
                ? "has one of this id that does not change with it. Where you delete yours, that one shows."
                : "has a copy that does not change with it: two machines moved it at once. Share it with that person "
                    + "again, or unshare it."
            try self.output.line("\(copy.user.text) \(words)")
        }
    }

    func users() async throws {
        let list: PersonList = try await self.caller.answer(APIRequest(.get, "api", "users"))
        if self.output.isJSON { return try self.output.json(list.users) }
        try self.output.table(
            list.users.map { user in
                let isKnown = user.isVerified || user.words == nil
                let state =
                    user.isFounder ? "created the workspace" : isKnown ? "verified" : "unverified: \(user.words ?? "")"
                return [user.isYou ? "\(user.name) (you)" : user.name, state, user.id]
            }
        )
    }

    func rename(user: String, to name: String) async throws {
        try await self.caller.send(APIRequest(.patch, "api", "users", user, body: ["name": .string(name)]))
        if !self.output.isJSON { try self.output.line("\(user) is called \(name) now.") }
    }

    func verify(user: String, words: String) async throws {
        let body: [ExactText: JSON?] = ["words": .string(words)]
        try await self.caller.send(APIRequest(.post, "api", "users", user, "verification", body: body))
        if !self.output.isJSON { try self.output.line("\(user) is verified.") }
    }

    func readmitUser(_ person: String) async throws {
        try await self.caller.send(APIRequest(.post, "api", "users", person, "readmission"))
        if !self.output.isJSON {
            try self.output.line("\(person) is let in again; share with that person again what was taken.")
        }
    }

    func removeUser(_ person: String) async throws {
        try await self.caller.send(APIRequest(.delete, "api", "users", person))
        if !self.output.isJSON {
            try self.output.line("Removed \(person); machines that hear of it refuse that person's machines.")
        }
    }
}

// MARK: - What counts nowhere

extension Workplace {
    func rejected(by person: String?) async throws {
        var (all, isEmpty): ([RejectedEditAnswer], Bool) = ([], true)
        var place: String?
        repeat {
            let query = [("user", person), ("after", place)]
            let request = APIRequest(.get, "api", "rejected", query: query)
            let page: RejectedPageAnswer = try await self.caller.answer(request)
            place = page.next
            if self.output.isJSON {
                all += page.edits
            } else {
                for edit in page.edits { try self.output.line(edit.text) }
                isEmpty = isEmpty && page.edits.isEmpty
            }
        } while place != nil
        if self.output.isJSON { return try self.output.json(all) }
        if isEmpty { try self.output.line("Nothing was rejected.") }
    }

    func adopt(_ changes: [String]) async throws {
        var count = 0
        for change in changes {
            let answer: AdoptionAnswer = try await self.caller.answer(
                APIRequest(.post, "api", "adopt", body: ["change": .string(change)])
            )
            count += answer.adopted
        }
        if self.output.isJSON { return try self.output.json(JSON.object(["adopted": .int(Int64(count))])) }
        try self.output.line("Adopted \(count) \(count == 1 ? "edit" : "edits").")
    }
}

extension RejectedEditAnswer {
    /// One line for people.
    fileprivate var text: String {
        let parts = self.change.split(separator: ":")
        let change = "\(parts.first?.prefix(8) ?? ""):\(parts.last ?? "")"
        let what = self.edit.action.text(self.edit.object ?? "")
        return "\(change)  \(PlainText.time(self.edit.timeMs))  \(self.user.name)  \(what)  [\(self.why)]"
    }

    private var why: String {
        switch self.reason.known {
        case .removed: "the right was taken away"
        case .machineRemoved: "the machine was removed"
        case .lessGranted: "may do less than that"
        case .notGranted, nil: "has no right"
        }
    }
}

extension AccessAnswer.Entry {
    /// What the person may do, for people.
    fileprivate var text: String {
        let role = self.role.known?.rawValue ?? "?"
        return self.properties.map { "\(role) \($0.joined(separator: ", "))" } ?? role
    }
}

extension AccessExplanationAnswer.Decision {
    /// A sentence for people.
    fileprivate func text(_ what: String, _ user: PersonAnswer) -> String {
        let may = "\(user.text) \(self.allowed ? "may" : "may not") \(what) it"
        let why =
            switch self.reason.known {
            case .owner: "as the owner"
            case .granted: "it was given"
            case .removed: "it was taken away"
            case .lessGranted: "less was given"
            case .hidden: "the property is hidden"
            case .notGranted, nil: "nobody has given it"
            }
        guard let statement else { return "\(may): \(why)." }
        let parts = statement.change.split(separator: ":")
        let change = "\(parts.first?.prefix(8) ?? ""):\(parts.last ?? "")"
        let time = PlainText.time(statement.timeMs)
        return "\(may): \(why) by \(statement.user.text) on \(statement.device), \(time) [\(change)]."
    }
}

extension PersonAnswer {
    fileprivate var text: String { self.isYou ? "\(self.name) (you)" : self.name }
}
