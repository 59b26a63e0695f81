internal import CRDTCore
internal import Engine
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
            Route(.POST, "/api/undo", query: .branch) { try await self.reverse($0, isRedo: false) },
            Route(.POST, "/api/redo", query: .branch) { try await self.reverse($0, isRedo: true) },
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

    private func reverse(_ request: Request, isRedo: Bool) async throws -> Work<UndoAnswer> {
        let members = try Members(try await request.jsonOrNothing(), of: "The body")
        let count = try members.number("count", in: 1...Workspace.undoneCountMax) ?? 1
        var scope = ActionScope.own
        switch try members.text("device") {
        case nil: break
        case "all": scope.machine = .all
        case let text?: scope.machine = .other(try await self.device(text))
        }
        let program = try members.text("program")
        if try members.flag("all_programs") {
            guard program == nil else {
                throw Problem.badRequest("“program” names one, and “all_programs” means all.")
            }
            scope.program = .all
        } else if let program {
            scope.program = .named(program)
        }
        try members.requireNoOthers()
        let branch = try await request.branch(in: self.workspace)
        let (workspace, scoped, verb) = (self.workspace, scope, isRedo ? "did again" : "took back")
        return Work { progress in
            let tell: Workspace.UndoProgress = { actionCount, doneCount, leftCount in
                var part = ""
                if leftCount > 0 { part = ", and \(doneCount) of \(doneCount + leftCount) transactions of the next" }
                progress("\(verb) \(actionCount) of \(count) \(count == 1 ? "action" : "actions")\(part)")
            }
            let reversed =
                isRedo
                ? try await workspace.redo(count, of: scoped, on: branch, progress: tell)
                : try await workspace.undo(count, of: scoped, on: branch, progress: tell)
            return UndoAnswer(actions: reversed.map { UndoneAnswer($0) })
        }
    }

    /// The id of a machine that is named by it, by its beginning, or by its name.
    private func device(_ text: String) async throws -> String {
        let status = try await self.workspace.nodeStatus()
        let known = status.peers.map { ($0.device, $0.name) } + [(status.device, status.deviceName)]
        return try SyncRoutes.device(text, of: known).device.description
    }
}
