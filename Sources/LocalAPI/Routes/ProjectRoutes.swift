internal import CRDTCore
internal import FileServing
internal import NIOHTTP1
internal import PeerdKit

/// JSON documents by name, each kept as an object of the type `project`.
struct ProjectRoutes: Sendable {
    let workspace: Workspace

    private static let type = "project"
    private static let name = Property<String>("name")
    private static let document = Property<Value>("document")
    private static let nameByteCountMax = 255

    var routes: [Route] {
        [
            Route(.GET, "/api/projects", query: .only(["limit", "after"])) { try await self.list($0) },
            Route(.GET, "/api/projects/{name}") { try await self.get($0) },
            Route(.PUT, "/api/projects/{name}") { try await self.put($0) },
            Route(.DELETE, "/api/projects/{name}") { try await self.delete($0) },
        ]
    }

    private func list(_ request: Request) async throws -> ProjectPageAnswer {
        let query = Query.objects(type: Self.type)
        let limit = try request.head.query.limit
        let cursor = try request.head.query.after(in: "this list") { Cursor($0, of: query) }
        let page = try await self.workspace.page(query, after: cursor, limit: limit)
        let projects = page.objects.compactMap { object -> ProjectAnswer? in
            guard let name = try? object[Self.name] else { return nil }
            let (id, time) = (object.id.description, object.updatedAt.millisecondsSince1970)
            return ProjectAnswer(name: name, id: id, updatedAt: time, version: object.version)
        }
        return ProjectPageAnswer(projects: projects, next: page.next?.text)
    }

    private func find(_ name: String) async throws -> Object? {
        guard let object = try await self.workspace.object(self.workspace.objectID(Self.type, key: name)),
            object.properties[Self.document.name] != nil || object.missingProperties.contains(Self.document.name)
        else { return nil }
        return object
    }

    private func found(_ name: String) async throws -> Object {
        if let object = try await self.find(name) { return object }
        throw Problem(
            .notFound,
            "not-found",
            "There is no project “\(name)”.",
            advice: "/api/projects lists them; PUT makes one."
        )
    }

    private func get(_ request: Request) async throws -> Response {
        let object = try await self.found(request.parameters[0])
        guard let document = object.properties[Self.document.name] else {
            throw Problem.noSuchProperty(Self.document.name, of: object.id, isMissing: true)
        }
        let response = Response(document.json)
        return response.tagged(EntityTag(version: object.version), for: request.head)
    }

    private func put(_ request: Request) async throws -> Response {
        let name = request.parameters[0]
        guard name.utf8.count <= Self.nameByteCountMax else {
            throw Problem.invalid("A project's name has at most \(Self.nameByteCountMax) bytes.")
        }
        let document = Value(try await request.json())
        let old = try await self.check(request, name)
        let wanted = old?.version
        let isConditional = !request.head.headers["If-Match"].isEmpty || !request.head.headers["If-None-Match"].isEmpty
        try await self.workspace.write { transaction in
            let id = self.workspace.objectID(Self.type, key: name)
            if isConditional, try transaction.committedObject(id)?.version != wanted {
                throw Problem.versionChanged("The project has changed meanwhile. Nothing was written.")
            }
            let object = try transaction.create(Self.type, key: name)
            try transaction.set(Self.name, to: name, on: object)
            try transaction.set(Self.document, to: document, on: object)
        }
        let tag = EntityTag(version: try await self.found(name).version)
        return Response(old == nil ? .created : .noContent, headers: ["ETag": tag.text])
    }

    private func delete(_ request: Request) async throws -> Response {
        let name = request.parameters[0]
        let object = try await self.found(name)
        _ = try await self.check(request, name)
        let isConditional = !request.head.headers["If-Match"].isEmpty
        try await self.workspace.write { transaction in
            if isConditional, try transaction.committedObject(object.id)?.version != object.version {
                throw Problem.versionChanged("The project has changed meanwhile. Nothing was deleted.")
            }
            try transaction.delete(object.id)
        }
        return .noContent
    }

    /// Checks the conditions of a request, and returns the project as it is; nil if there is none.
    private func check(_ request: Request, _ name: String) async throws -> Object? {
        let object = try await self.find(name)
        let (match, noneMatch) = (request.head.headers["If-Match"], request.head.headers["If-None-Match"])
        let isThere = object.map { EntityTag.any(of: match, match: EntityTag(version: $0.version)) } ?? false
        if !match.isEmpty, !isThere {
            throw Problem.versionChanged("The project is not at the version of If-Match. Nothing was written.")
        }
        if let object, EntityTag.none(of: noneMatch, match: EntityTag(version: object.version)) {
            throw Problem.versionChanged("The project is there already. Nothing was written.")
        }
        return object
    }
}
