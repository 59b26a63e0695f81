internal import CRDTCore
internal import NIOHTTP1
internal import PeerdKit

/// The people of the workspace, and what each may do with objects.
struct SharingRoutes: Sendable {
    let workspace: Workspace

    var routes: [Route] {
        [
            Route(.GET, "/api/users") { _ in try await self.people() },
            Route(.DELETE, "/api/users/{user}") { try await self.remove($0) },
            Route(.PATCH, "/api/users/{user}") { try await self.rename($0) },
            Route(.POST, "/api/users/{user}/verification") { try await self.verify($0) },
            Route(.POST, "/api/users/{user}/readmission") { request in
                try await self.workspace.readmit(person: request.parameters[0])
                return Response.noContent
            },
            Route(.GET, "/api/access") { _ in
                AccessList(shares: try await self.workspace.shares().map { AccessAnswer($0, of: $0.shared) })
            },
            Route(.GET, "/api/objects/{id}/access") { request in
                let object = try await self.object(request)
                return AccessAnswer(try await self.workspace.access(to: object), of: object)
            },
            Route(.DELETE, "/api/objects/{id}/access") { request in
                try await self.workspace.leave(try await self.object(request))
                return Response.noContent
            },
            Route(.GET, "/api/objects/{id}/access/{user}", query: .only(["property"])) { request in
                let property = try request.head.query.one("property")
                let (object, person) = (try await self.object(request), request.parameters[1])
                return AccessExplanationAnswer(
                    try await self.workspace.explainAccess(to: object, property: property, of: person)
                )
            },
            Route(.PUT, "/api/objects/{id}/access/{user}") { try await self.share($0) },
            Route(.DELETE, "/api/objects/{id}/access/{user}") { request in
                let object = try await self.object(request)
                let report = try await self.workspace.unshare(object, with: request.parameters[1])
                return AccessAnswer(report, of: object)
            },
            Route(.PUT, "/api/objects/{id}/hidden/{name}") { request in
                let object = try await self.object(request)
                try await self.workspace.hide(request.parameters[1], of: object)
                return AccessAnswer(try await self.workspace.access(to: object), of: object)
            },
            Route(.DELETE, "/api/objects/{id}/hidden/{name}") { request in
                let object = try await self.object(request)
                try await self.workspace.unhide(request.parameters[1], of: object)
                return AccessAnswer(try await self.workspace.access(to: object), of: object)
            },
            Route(.PUT, "/api/objects/{id}/hidden/{name}/access/{user}") { try await self.shareHidden($0) },
            Route(.DELETE, "/api/objects/{id}/hidden/{name}/access/{user}") { request in
                let object = try await self.object(request)
                try await self.workspace.unshare(request.parameters[1], of: object, with: request.parameters[2])
                return AccessAnswer(try await self.workspace.access(to: object), of: object)
            },
            Route(.GET, "/api/rejected", query: .only(["user", "limit", "after"])) { request in
                let page = try await self.workspace.rejectedPage(
                    by: try request.head.query.one("user"),
                    after: try request.head.query.after(in: "rejected edits") { RejectedPlace($0) },
                    limit: try request.head.query.limit
                )
                return RejectedPageAnswer(page)
            },
            Route(.POST, "/api/adopt") { try await self.adopt($0) },
        ]
    }

    private func adopt(_ request: Request) async throws -> AdoptionAnswer {
        let members = try Members(try await request.json(), of: "The body")
        let change = try members.requiredText("change")
        try members.requireNoOthers()
        return AdoptionAnswer(adopted: try await self.workspace.adopt(change))
    }

    private func people() async throws -> PersonList {
        let people = try await self.workspace.peopleWithWords()
        return PersonList(users: people.map { PersonList.Entry($0.person, words: $0.words) })
    }

    private func rename(_ request: Request) async throws -> Response {
        let members = try Members(try await request.json(), of: "The body")
        let name = try members.requiredText("name")
        try members.requireNoOthers()
        try await self.workspace.rename(person: request.parameters[0], to: name)
        return .noContent
    }

    private func verify(_ request: Request) async throws -> Response {
        let members = try Members(try await request.json(), of: "The body")
        let words = try members.requiredText("words")
        try members.requireNoOthers()
        try await self.workspace.verify(person: request.parameters[0], words: words)
        return .noContent
    }

    private func remove(_ request: Request) async throws -> Response {
        try await self.workspace.remove(person: request.parameters[0])
        return .noContent
    }

    private func object(_ request: Request) async throws -> ObjectID {
        try await ObjectLookup.object(request.parameters[0], in: self.workspace, at: nil).id
    }

    private func share(_ request: Request) async throws -> AccessAnswer {
        let members = try Members(try await request.json(), of: "The body")
        let text = try members.requiredText("role")
        let properties = members["properties"].map { $0 != .null } ?? false ? try members.texts("properties") : nil
        try members.requireNoOthers()
        guard let role = AccessRole(rawValue: text), role != .owner else {
            throw Problem.badRequest("A “role” is “read”, “write” or “manage”.")
        }
        let (object, person) = (try await self.object(request), request.parameters[1])
        let report = try await self.workspace.share(object, with: person, as: role, only: properties)
        return AccessAnswer(report, of: object)
    }

    private func shareHidden(_ request: Request) async throws -> AccessAnswer {
        let members = try Members(try await request.json(), of: "The body")
        let text = try members.requiredText("role")
        try members.requireNoOthers()
        guard let role = AccessRole(rawValue: text), [.read, .write].contains(role) else {
            throw Problem.badRequest("The “role” for a property is “read” or “write”.")
        }
        let (object, name, person) = (try await self.object(request), request.parameters[1], request.parameters[2])
        try await self.workspace.share(name, of: object, with: person, as: role)
        return AccessAnswer(try await self.workspace.access(to: object), of: object)
    }
}
