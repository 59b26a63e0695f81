internal import CRDTCore
internal import NIOHTTP1
internal import PeerdKit

/// Branches of the workspace: listed, created, merged and deleted.
struct BranchRoutes: Sendable {
    let workspace: Workspace

    var routes: [Route] {
        [
            Route(.GET, "/api/branches") { _ in try await self.list() },
            Route(.POST, "/api/branches") { try await self.create($0) },
            Route(.GET, "/api/branches/{id}") { request in
                Response(json: try await self.workspace.branch(request.parameters[0]).json)
            },
            Route(.DELETE, "/api/branches/{id}") { request in
                try await self.workspace.deleteBranch(try await self.workspace.branch(request.parameters[0]).id)
                return .noContent
            },
            Route(.GET, "/api/branches/{id}/conflicts", query: .only(["into"])) { try await self.conflicts($0) },
            Route(.POST, "/api/branches/{id}/merge") { try await self.merge($0) },
        ]
    }

    private func list() async throws -> Response {
        let branches = try await self.workspace.branches()
        return Response(json: .object(["branches": .array(branches.map(\.json))]))
    }

    private func create(_ request: Request) async throws -> Response {
        let members = try Members(try await request.json(), of: "The body")
        let name = try members.requiredText("name")
        let (parent, moment) = (try members.text("parent"), try members.text("at"))
        try members.requireNoOthers()
        let branch = try await self.workspace.createBranch(
            named: name,
            leaving: try await BranchReference.id(parent, in: self.workspace),
            at: try moment.map { try Moment($0) }
        )
        var response = Response(.created, json: branch.json)
        response.headers.add(name: "Location", value: "/api/branches/\(branch.id)")
        return response
    }

    private func conflicts(_ request: Request) async throws -> Response {
        let branch = try await BranchReference.id(request.parameters[0], in: self.workspace)
        let target = try await BranchReference.id(try request.head.query.one("into"), in: self.workspace)
        try Self.requireDifferent(branch, target)
        let conflicts = try await self.workspace.conflicts(merging: branch, into: target)
        return Response(json: .object(["conflicts": .array(conflicts.map(\.json))]))
    }

    private func merge(_ request: Request) async throws -> Response {
        let members = try Members(try await request.jsonOrNothing(), of: "The body")
        let into = try members.text("into")
        try members.requireNoOthers()
        let branch = try await BranchReference.id(request.parameters[0], in: self.workspace)
        let target = try await BranchReference.id(into, in: self.workspace)
        try Self.requireDifferent(branch, target)
        // Once it is merged, nobody can tell any more what both sides had changed.
        let conflicts = try await self.knownConflicts(merging: branch, into: target)
        let isNew = try await self.workspace.merge(branch, into: target)
        return Response(json: .object(["merged": .bool(isNew), "conflicts": .array(conflicts.map(\.json))]))
    }
}

extension BranchRoutes {
    private static func requireDifferent(_ branch: BranchID?, _ target: BranchID?) throws(Problem) {
        guard branch != target else { throw Problem.invalid("A branch cannot be merged into itself.") }
    }

    /// What both sides changed; none if a compaction has dropped what the branch began with, which hinders no merge.
    private func knownConflicts(merging branch: BranchID?, into target: BranchID?) async throws -> [MergeConflict] {
        do {
            return try await self.workspace.conflicts(merging: branch, into: target)
        } catch let error as PeerdError where error.code == .noSuchMoment {
            return []
        }
    }
}

/// A branch as a client names it: by its id or its name.
enum BranchReference {
    /// The id that a text names; nil for the main timeline.
    static func id(_ text: String?, in workspace: Workspace) async throws -> BranchID? {
        guard let text, !Branch.isMain(text) else { return nil }
        return try await workspace.branch(text).id
    }
}

extension Request {
    /// The branch that a request writes to; nil for the main timeline.
    func branch(in workspace: Workspace) async throws -> BranchID? {
        try await BranchReference.id(try self.head.query.one("branch"), in: workspace)
    }
}

extension Branch {
    /// The branch as lists show it.
    fileprivate var json: JSON {
        .object([
            "id": .string(self.id.description),
            "name": .string(self.name),
            "parent": .text(self.parent?.description),
            "author": self.author.json,
            "time_ms": .milliseconds(self.date),
            "unmerged": .int(Int64(self.unmergedCount)),
        ])
    }
}

extension MergeConflict {
    fileprivate var json: JSON {
        var members: [ExactText: JSON] = ["object": .string(self.object.description)]
        switch self.kind {
        case .property(let name, let branch, let target):
            members["kind"] = .string("property")
            members["property"] = .string(name)
            // A side that has no value is missing, since null is a value.
            if let branch { members["branch"] = branch.json }
            if let target { members["target"] = target.json }
        case .place(let branch, let target):
            members["kind"] = .string("place")
            members["branch"] = JSON.text(branch?.description)
            members["target"] = JSON.text(target?.description)
        case .deletedOnBranch: members["kind"] = .string("deleted-on-branch")
        case .deletedOnTarget: members["kind"] = .string("deleted-on-target")
        }
        return .object(members)
    }
}
