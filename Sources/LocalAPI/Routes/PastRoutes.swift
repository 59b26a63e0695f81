internal import CRDTCore
internal import NIOHTTP1
internal import PeerdKit

/// History: what was, what differs, and ways back.
struct PastRoutes: Sendable {
    let workspace: Workspace

    private static let entryCount = 100

    var routes: [Route] {
        [
            Route(.GET, "/api/moment") { _ in
                Response(json: .object(["moment": .string(try await self.workspace.moment().description)]))
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

    private func history(_ request: Request) async throws -> Response {
        let query = request.head.query
        let property = try query.one("property")
        let limit = try query.number("limit", in: 1...APILimits.pageCountMax) ?? Self.entryCount
        let after = try query.one("after").map { text throws(Problem) in
            guard let cursor = HistoryCursor(text) else { throw .badRequest("“after” is not a cursor of a history.") }
            return cursor
        }
        let name = request.parameters[0]
        let object = try await self.workspace.reading { transaction in
            let found: FoundObject = try ObjectLookup.find(name, includingDeleted: true, in: &transaction)
            return found.id
        }
        let page = try await self.workspace.history(of: object, property: property, after: after, limit: limit)
        if let property, after == nil, page.entries.isEmpty { throw Self.neverWritten(property, of: object) }
        return Response(
            json: .object(["entries": .array(page.entries.map(\.json)), "next": .text(page.next?.text)])
        )
    }

    private func differences(_ request: Request) async throws -> Response {
        let query = request.head.query
        guard let from = try query.one("from") else {
            throw Problem.badRequest("The parameter “from” is missing: the moment to compare with.")
        }
        let (first, second) = (try Moment(from), try query.one("to").map { try Moment($0) })
        var under: ObjectID?
        if let name = try query.one("under") {
            under = try await self.workspace.reading { transaction in
                let found: FoundObject = try ObjectLookup.find(name, includingDeleted: true, in: &transaction)
                return found.id
            }
        }
        let found = try await self.workspace.differences(from: first, to: second, under: under)
        guard request.wantsLines else {
            return Response(json: .object(["objects": .array(found.map(\.json))]))
        }
        return LineStream.response { writer in
            var lines = LineBuffer()
            for difference in found {
                guard let piece = lines.add(difference.json) else { continue }
                try await writer.write(piece)
            }
            try await writer.write(lines.rest())
        }
    }

    // MARK: - Ways back

    private func restore(_ request: Request) async throws -> Response {
        let members = try Members(try await request.json(), of: "The body")
        let moment = try Moment(try members.requiredText("at"))
        let property = try members.text("property")
        try members.requireNoOthers()
        let branch = try await request.branch(in: self.workspace)
        let name = request.parameters[0]
        let object = try await self.workspace.reading(at: branch.map { .branch($0) }) { state in
            let found: FoundObject = try ObjectLookup.find(name, includingDeleted: true, in: &state)
            return found.id
        }
        let restoration: Restoration
        if let property {
            guard try await !self.workspace.history(of: object, property: property, limit: 1).entries.isEmpty else {
                throw Self.neverWritten(property, of: object)
            }
            restoration = try await self.workspace.restore(property, of: object, to: moment, on: branch)
        } else {
            restoration = try await self.workspace.restore(object, to: moment, on: branch)
        }
        return Response(
            json: .object([
                "object": .string(object.description),
                "object_count": .int(Int64(restoration.objectCount)),
                "revived_count": .int(Int64(restoration.revivedCount)),
                "stays_in_place": .bool(restoration.staysInPlace),
            ])
        )
    }

    /// A slip of the pen must not look like an answer.
    private static func neverWritten(_ property: String, of object: ObjectID) -> Problem {
        .noSuchObject("The object \(object) never had a property \(JSON.string(property).canonicalText).")
    }

    private func reverse(
        _ request: Request,
        _ body: (Int, BranchID?) async throws -> [ReversedTransaction]
    ) async throws -> Response {
        let members = try Members(try await request.jsonOrNothing(), of: "The body")
        let count = try members.number("count", in: 1...Workspace.reversedCountMax) ?? 1
        try members.requireNoOthers()
        let reversed = try await body(count, try await request.branch(in: self.workspace))
        return Response(json: .object(["transactions": .array(reversed.map(\.json))]))
    }
}

extension HistoryEntry {
    fileprivate var json: JSON {
        guard case .object(var members) = self.entry.apiJSON else { return .null }
        members["moment"] = .string(self.moment.description)
        members["replaced"] = self.replaced?.json ?? .null
        members["erases_past"] = .bool(self.erasesPast)
        return .object(members)
    }
}

extension ObjectDifference {
    /// The difference as the API shows it.
    fileprivate var json: JSON {
        var properties: [ExactText: JSON] = [:]
        for name in self.changedProperties {
            var sides: [ExactText: JSON] = [:]
            if let value = self.before?.properties[name] { sides["before"] = value.json }
            if let value = self.after?.properties[name] { sides["after"] = value.json }
            properties[ExactText(name)] = .object(sides)
        }
        let change = self.before == nil ? "created" : self.after == nil ? "deleted" : "changed"
        var members: [ExactText: JSON] = [
            "id": .string(self.id.description),
            "change": .string(change),
            "type": .string(self.after?.type ?? self.before?.type ?? ""),
            "kind": .string(self.after?.kind ?? self.before?.kind ?? ""),
            "properties": .object(properties),
            "moved": .null,
        ]
        if self.isMoved {
            members["moved"] = .object([
                "before": .text(self.before?.parent?.description), "after": .text(self.after?.parent?.description),
            ])
        }
        return .object(members)
    }
}

extension ReversedTransaction {
    /// The transaction as the API shows it.
    fileprivate var json: JSON {
        .object([
            "moment": .string(self.moment.description),
            "time_ms": .milliseconds(self.date),
            "device_name": .text(self.author),
            "edits": .array(
                self.edits.map { edit in
                    .object(["object": .text(edit.object?.description), "action": edit.action.json])
                }
            ),
            "kept": .array(self.kept.map(\.json)),
            "has_effect": .bool(self.hasEffect),
        ])
    }
}

extension ReversedTransaction.Kept {
    fileprivate var json: JSON {
        var members: [ExactText: JSON] = [
            "object": .string(self.object.description),
            "property": .null,
            "reason": .string(self.reasonText),
            "author": self.author?.json ?? .null,
        ]
        switch self.part {
        case .object: members["part"] = .string("object")
        case .place: members["part"] = .string("place")
        case .property(let name):
            members["part"] = .string("property")
            members["property"] = .string(name)
        }
        return .object(members)
    }

    private var reasonText: String {
        switch self.reason {
        case .edited: "edited"
        case .deleted: "deleted"
        case .hasChildren: "has-children"
        case .parentGone: "parent-gone"
        case .unknown: "unknown"
        case .tooLarge: "too-large"
        }
    }
}
