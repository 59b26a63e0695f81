internal import CRDTCore
internal import NIOHTTP1
internal import PeerdKit

/// History: what was, what differs, and ways back.
struct PastRoutes: Sendable {
    let workspace: Workspace

    var routes: [Route] {
        [
            Route(.GET, "/api/moment") { _ in
                MomentAnswer(moment: try await self.workspace.moment().description)
            },
            Route(.GET, "/api/objects/{id}/history", query: .only(["property", "limit", "after"])) {
                try await self.history($0)
            },
            Route(.GET, "/api/diff", query: .only(["from", "to", "under"])) { try await self.differences($0) },
            Route(.POST, "/api/objects/{id}/restore", query: .branch) { try await self.restore($0) },
            Route(.POST, "/api/undo", query: .branch) {
                try await self.reverse($0) { try await self.workspace.undo($0, on: $1) }
            },
            Route(.POST, "/api/redo", query: .branch) {
                try await self.reverse($0) { try await self.workspace.redo($0, on: $1) }
            },
        ]
    }

    // MARK: - Reading

    private func history(_ request: Request) async throws -> HistoryPageAnswer {
        let query = request.head.query
        let property = try query.one("property")
        let limit = try query.limit
        let after = try query.after(in: "a history") { HistoryCursor($0) }
        let name = request.parameters[0]
        let object = try await ObjectLookup.idOfAny(name, in: self.workspace)
        let page = try await self.workspace.history(of: object, property: property, after: after, limit: limit)
        if let property, after == nil, page.entries.isEmpty { throw Self.neverWritten(property, of: object) }
        return HistoryPageAnswer(page)
    }

    private func differences(_ request: Request) async throws -> Shaped<DifferenceList> {
        let query = request.head.query
        guard let from = try query.one("from") else {
            throw Problem.badRequest("The parameter “from” is missing: the moment to compare with.")
        }
        let (first, second) = (try Moment(from), try query.one("to").map { try Moment($0) })
        var under: ObjectID?
        if let name = try query.one("under") { under = try await ObjectLookup.idOfAny(name, in: self.workspace) }
        let found = try await self.workspace.differences(from: first, to: second, under: under)
        guard request.wantsLines else {
            return Shaped(Response(DifferenceList(objects: found.map { DifferenceAnswer($0) })))
        }
        let lines = LineStream.response { writer in
            var lines = LineBuffer()
            for difference in found {
                guard let piece = lines.add(DifferenceAnswer(difference)) else { continue }
                try await writer.write(piece)
            }
            try await writer.write(lines.rest())
        }
        return Shaped(lines)
    }

    // MARK: - Ways back

    private func restore(_ request: Request) async throws -> RestorationAnswer {
        let members = try Members(try await request.json(), of: "The body")
        let moment = try Moment(try members.requiredText("at"))
        let property = try members.text("property")
        try members.requireNoOthers()
        let branch = try await request.branch(in: self.workspace)
        let name = request.parameters[0]
        let object = try await ObjectLookup.idOfAny(name, in: self.workspace, at: branch.map { .branch($0) })
        let restoration: Restoration
        if let property {
            guard try await !self.workspace.history(of: object, property: property, limit: 1).entries.isEmpty else {
                throw Self.neverWritten(property, of: object)
            }
            restoration = try await self.workspace.restore(property, of: object, to: moment, on: branch)
        } else {
            restoration = try await self.workspace.restore(object, to: moment, on: branch)
        }
        return RestorationAnswer(
            object: object.description,
            objectCount: restoration.objectCount,
            revivedCount: restoration.revivedCount,
            staysInPlace: restoration.staysInPlace
        )
    }

    /// A slip of the pen must not look like an answer.
    private static func neverWritten(_ property: String, of object: ObjectID) -> Problem {
        .noSuchObject("The object \(object) never had a property \(JSON.string(property).canonicalText).")
    }

    private func reverse(
        _ request: Request,
        _ body: (Int, BranchID?) async throws -> [UndoneTransaction]
    ) async throws -> UndoAnswer {
        let members = try Members(try await request.jsonOrNothing(), of: "The body")
        let count = try members.number("count", in: 1...Workspace.undoneCountMax) ?? 1
        try members.requireNoOthers()
        let reversed = try await body(count, try await request.branch(in: self.workspace))
        return UndoAnswer(transactions: reversed.map { UndoneAnswer($0) })
    }
}
