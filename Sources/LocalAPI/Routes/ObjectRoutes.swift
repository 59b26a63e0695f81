internal import CRDTCore
internal import Engine
internal import FileServing
internal import NIOHTTP1
internal import PeerdKit

/// Objects, their properties, and their places in the tree.
struct ObjectRoutes: Sendable {
    let workspace: Workspace
    private let readTexts = ReadTexts()

    init(workspace: Workspace) { self.workspace = workspace }

    private static let pageParameters: Set = ["limit", "after", "fields", "at"]
    private static let treeParameters: Set = ["limit", "after", "fields", "depth", "top", "at"]

    var routes: [Route] {
        [
            Route(.GET, "/api/objects/{id}", query: .only(["at"]), answers: [ObjectAnswer.self]) { try self.get($0) },
            Route(.GET, "/api/objects", query: .objects + Self.pageParameters) { try await self.list($0) },
            Route(.POST, "/api/objects", query: .branch) { try await self.create($0) },
            Route(.GET, "/api/objects/count", query: .objects + ["at"]) { try await self.count($0) },
            Route(.PATCH, "/api/objects/{id}", query: .branch) { try await self.patch($0) },
            Route(.DELETE, "/api/objects/{id}", query: .branch) { try await self.delete($0) },
            Route(.POST, "/api/objects/{id}/move", query: .branch) { try await self.move($0) },
            Route(.GET, "/api/objects/{id}/properties/{name?}", query: .only(["at"])) { request in
                try await self.property(request, at: try request.moment)
            },
            Route(.PUT, "/api/objects/{id}/properties/{name?}", query: .branch) { try await self.setProperty($0) },
            Route(.DELETE, "/api/objects/{id}/properties/{name?}", query: .branch) {
                try await self.unsetProperty($0)
            },
            Route(.GET, "/api/children", query: .only(Self.pageParameters)) { try await self.children($0) },
            Route(.GET, "/api/objects/{id}/children", query: .only(Self.pageParameters)) {
                try await self.children($0)
            },
            Route(.GET, "/api/tree", query: .only(Self.treeParameters)) { try await self.tree($0) },
            Route(.GET, "/api/objects/{id}/tree", query: .only(Self.treeParameters)) { try await self.tree($0) },
            Route(.POST, "/api/transactions", query: .branch) { try await self.transaction($0) },
        ]
    }

    // MARK: - Reading

    /// Answers at once what is named by its whole id, and shows now.
    private func get(_ request: Request) throws -> Answering {
        let (name, moment) = (request.parameters[0], try request.moment)
        if moment == nil, let id = ObjectID(text: name), let text = self.readTexts.text(of: id, in: self.workspace) {
            return .now(self.answer(text, to: request.head))
        }
        return .later(to: request.head) {
            self.answer(
                ObjectText(try await ObjectLookup.object(name, in: self.workspace, at: moment)),
                to: request.head
            )
        }
    }

    /// An object with its version; nothing but the status if the client has it already.
    private func answer(_ text: ObjectText, to head: RequestHead, _ status: HTTPResponseStatus = .ok) -> Response {
        var response = text.response
        response.status = status
        if head.method == .GET || head.method == .HEAD,
            EntityTag.none(of: head.headers["If-None-Match"], match: text.tag)
        {
            (response.status, response.body) = (.notModified, .none)
            response.headers.remove(name: "Content-Type")
        }
        return response
    }

    private typealias Objects = Shaped<ObjectPageAnswer<ObjectAnswer>, ObjectPageAnswer<ObjectSummary>>
    private typealias Edited = Shaped<ObjectAnswer, ReceiptAnswer>

    private func list(_ request: Request) async throws -> Objects {
        let query = try await ObjectQuery.read(request.head.query, in: self.workspace)
        return try await self.page(of: query, request)
    }

    private func children(_ request: Request) async throws -> Objects {
        if request.wantsLines { return Shaped(try await LineRoutes(workspace: self.workspace).children(request)) }
        var parent: ObjectID?
        if let name = request.parameters.first {
            parent = try await ObjectLookup.object(name, in: self.workspace, at: try request.moment).id
        }
        return try await self.page(of: .children(of: parent), request)
    }

    private func page(of query: Query, _ request: Request) async throws -> Objects {
        let limit = try request.head.query.limit
        let cursor = try request.head.query.after(in: "this list") { Cursor($0, of: query) }
        let fields = try ObjectFields(request.head.query)
        let page: Page
        if let moment = try request.moment {
            page = try await self.workspace.page(query, at: moment, after: cursor, limit: limit)
        } else {
            page = try await self.workspace.page(query, after: cursor, limit: limit)
        }
        var bytes = Array("{\"objects\":[".utf8)
        for (index, object) in page.objects.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            fields.append(object, to: &bytes)
        }
        bytes += "],\"next\":".utf8
        JSON(page.next?.text).append(to: &bytes)
        bytes.append(UInt8(ascii: "}"))
        return Shaped(Response(json: bytes))
    }

    private func count(_ request: Request) async throws -> CountAnswer {
        let query = try await ObjectQuery.read(request.head.query, in: self.workspace)
        var count = 0
        if let moment = try request.moment {
            count = try await self.workspace.read(at: moment) { try $0.count(query) }
        } else {
            count = try await self.workspace.count(query)
        }
        return CountAnswer(count: count)
    }

    private func property(_ request: Request, at moment: Moment?) async throws -> Response {
        let name = request.parameters[0]
        let object = try await ObjectLookup.object(name, in: self.workspace, at: moment)
        guard let value = object.properties[request.parameters[1]] else {
            let isMissing = object.missingProperties.contains(request.parameters[1])
            throw Problem.noSuchProperty(request.parameters[1], of: object.id, isMissing: isMissing)
        }
        return Response(value.json).tagged(EntityTag(version: object.version), for: request.head)
    }

    private func tree(
        _ request: Request
    ) async throws -> Shaped<
        ObjectPageAnswer<Joined<ObjectAnswer, TreePlace>>, ObjectPageAnswer<Joined<ObjectSummary, TreePlace>>
    > {
        if request.wantsLines { return Shaped(try await LineRoutes(workspace: self.workspace).tree(request)) }
        var root: ObjectID?
        if let name = request.parameters.first {
            root = try await ObjectLookup.object(name, in: self.workspace, at: try request.moment).id
        }
        let limit = try request.head.query.limit
        let depth = try request.head.query.number("depth", in: 0...1_000_000)
        let after = try request.head.query.after(in: "a tree") { ObjectID(text: $0) }
        let fields = try ObjectFields(request.head.query)
        // It adds to lines alone; a value that is wrong is wrong here, too.
        _ = try request.head.query.flag("top")
        let page = try await self.workspace.treePage(
            under: root,
            at: try request.moment,
            after: after,
            depthMax: depth,
            limit: limit
        )
        if page.hasLostPlace { throw Problem.placeLost }
        let next = page.hasMore ? page.objects.last?.object.id.description : nil
        switch fields {
        case .all:
            let objects = page.objects.map { Joined(ObjectAnswer($0), TreePlace(depth: $1)) }
            return Shaped(Response(ObjectPageAnswer(objects: objects, next: next)))
        case .summary:
            let objects = page.objects.map { Joined(ObjectSummary($0), TreePlace(depth: $1)) }
            return Shaped(Response(ObjectPageAnswer(objects: objects, next: next)))
        }
    }

    // MARK: - Writing

    private func create(_ request: Request) async throws -> Edited {
        let members = try Members(try await request.json(valueDepth: RequestedEdit.valueDepth), of: "The body")
        let creation = try RequestedEdit.Creation(type: try members.requiredText("type"), members)
        try members.requireNoOthers()
        let branch = try await request.branch(in: self.workspace)
        let batch = EditBatch([.create(creation)])
        let (created, receipt) = try await batch.writeWithReceipt(to: self.workspace, on: branch)
        guard let id = created.first else { throw Problem.invalid("Nothing was created.") }
        var response = await self.answer(to: request, receipt, id, on: branch, .created)
        if !request.wantsReceipt {
            let place = branch.map { "?at=\(Moment.branch($0))" } ?? ""
            response.headers.add(name: "Location", value: "/api/objects/\(id)\(place)")
        }
        return Shaped(response)
    }

    /// The answer to a write that is on the disk: the object as it is now, or the receipt.
    ///
    /// Whatever goes wrong from here on, it was written: an error would have the client write it again. So the receipt
    /// is the answer as well if the object cannot be read, or is gone already; the header says so.
    private func answer(
        to request: Request,
        _ receipt: WriteReceipt,
        _ id: ObjectID,
        on branch: BranchID?,
        _ status: HTTPResponseStatus = .ok
    ) async -> Response {
        let moment = branch.map { Moment.branch($0) }
        if !request.wantsReceipt,
            let object = try? await ObjectLookup.object(id.description, in: self.workspace, at: moment)
        {
            return self.answer(ObjectText(object), to: request.head, status)
        }
        var response = Response(status, ReceiptAnswer(receipt, id))
        if !request.wantsReceipt { response.headers.add(name: "Preference-Applied", value: "return=minimal") }
        return response
    }

    private func patch(_ request: Request) async throws -> Edited {
        let name = request.parameters[0]
        let members = try Members(try await request.json(valueDepth: RequestedEdit.valueDepth), of: "The body")
        let edits: [RequestedEdit] = [
            .set(name, try RequestedEdit.properties(members)), .unset(name, try members.texts("remove")),
        ]
        try members.requireNoOthers()
        return try await self.edit(name, edits, request)
    }

    private func move(_ request: Request) async throws -> Edited {
        let name = request.parameters[0]
        let members = try Members(try await request.json(valueDepth: RequestedEdit.valueDepth), of: "The body")
        guard members.has("parent") else {
            throw Problem.badRequest("The body needs a “parent”: an id, or null for the root.")
        }
        let destination = try RequestedEdit.Destination(members)
        try members.requireNoOthers()
        return try await self.edit(name, [.move(name, destination)], request)
    }

    private func setProperty(_ request: Request) async throws -> Edited {
        let (name, property) = (request.parameters[0], request.parameters[1])
        let value = Value(try await request.json())
        return try await self.edit(name, [.set(name, [(property, value)])], request)
    }

    private func unsetProperty(_ request: Request) async throws -> Shaped<ReceiptAnswer> {
        let (name, property) = (request.parameters[0], request.parameters[1])
        let moment = try await request.branch(in: self.workspace).map { Moment.branch($0) }
        let object = try await ObjectLookup.object(name, in: self.workspace, at: moment)
        guard object.properties[property] != nil || object.missingProperties.contains(property) else {
            throw Problem.noSuchProperty(property, of: object.id, isMissing: false)
        }
        let edited = try await self.edit(name, [.unset(name, [property])], request)
        return Shaped(request.wantsReceipt ? edited.response : .noContent)
    }

    private func delete(_ request: Request) async throws -> Shaped<ReceiptAnswer> {
        let branch = try await request.branch(in: self.workspace)
        let name = request.parameters[0]
        let object = try await ObjectLookup.object(name, in: self.workspace, at: branch.map { .branch($0) })
        let conditions = try self.conditions(request, object, object.id.description)
        let (workspace, id) = (self.workspace, object.id)
        guard request.wantsReceipt || request.wantsLines else {
            _ = try await workspace.remove(id, on: branch, if: conditions) { _ in }
            return Shaped(.noContent)
        }
        let response = try await LineStream.response(to: request) { progress in
            ReceiptAnswer(try await workspace.remove(id, on: branch, if: conditions, progress: progress), id)
        }
        return Shaped(response)
    }

    /// Edits an object, and answers with what it is then.
    private func edit(_ name: String, _ edits: [RequestedEdit], _ request: Request) async throws -> Edited {
        var batch = EditBatch(edits)
        let branch = try await request.branch(in: self.workspace)
        let moment = branch.map { Moment.branch($0) }
        if request.head.headers.contains(name: "If-Match") {
            let object = try await ObjectLookup.object(name, in: self.workspace, at: moment)
            // It may change before the write begins, so the write looks again.
            batch.conditions = try self.conditions(request, object, name)
        }
        // Behind the write it may be impossible to read what an abbreviation stands for.
        let id = try await ObjectLookup.id(name, in: self.workspace, at: moment)
        let receipt = try await batch.writeWithReceipt(to: self.workspace, on: branch).receipt
        return Shaped(await self.answer(to: request, receipt, id, on: branch))
    }

    /// The versions that a write needs, if its request names some.
    private func conditions(
        _ request: Request,
        _ object: Object,
        _ name: String
    ) throws(Problem) -> [(object: String, version: String)] {
        let wanted = request.head.headers["If-Match"]
        if wanted.isEmpty { return [] }
        guard EntityTag.any(of: wanted, match: EntityTag(version: object.version)) else {
            throw .versionChanged(
                "You named \(wanted.joined(separator: ", ")); the object is at \"\(object.version)\". "
                    + "Nothing was written."
            )
        }
        return [(name, object.version)]
    }

    private func transaction(_ request: Request) async throws -> CreatedAnswer {
        let members = try Members(try await request.json(valueDepth: RequestedEdit.valueDepth), of: "The body")
        let branch = try await request.branch(in: self.workspace)
        let created: [ObjectID]
        if let name = try members.text("id") {
            let write = try IdempotentWrite(name, members, on: branch)
            try members.requireNoOthers()
            created = try await write.write(to: self.workspace)
        } else {
            let batch = try EditBatch(members)
            try members.requireNoOthers()
            created = try await batch.writeWithReceipt(to: self.workspace, on: branch).created
        }
        return CreatedAnswer(created: created.map(\.description))
    }
}
