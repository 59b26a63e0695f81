internal import CRDTCore
internal import NIOHTTP1
internal import PeerdKit

/// Branches of the workspace: listed, created, merged and deleted.
struct BranchRoutes: Sendable {
    let workspace: Workspace

    var routes: [Route] {
        [
            Route(.GET, "/api/branches") { _ in
                BranchList(branches: try await self.workspace.branches().map { BranchAnswer($0) })
            },
            Route(.POST, "/api/branches") { try await self.create($0) },
            Route(.GET, "/api/branches/{id}") { request in
                BranchAnswer(try await self.workspace.branch(request.parameters[0]))
            },
            Route(.DELETE, "/api/branches/{id}", query: .only(["discard"])) { try await self.delete($0) },
            Route(.GET, "/api/branches/{id}/conflicts", query: .only(["into"])) { try await self.conflicts($0) },
            Route(.POST, "/api/branches/{id}/merge") { try await self.merge($0) },
        ]
    }

    private func create(_ request: Request) async throws -> Created<BranchAnswer> {
        let members = try Members(try await request.json(), of: "The body")
        let name = try members.requiredText("name")
        let (parent, moment) = (try members.text("parent"), try members.text("at"))
        try members.requireNoOthers()
        let branch = try await self.workspace.createBranch(
            named: name,
            leaving: try await BranchReference.id(parent, in: self.workspace),
            at: try moment.map { try Moment($0) }
        )
        return Created(BranchAnswer(branch), at: "/api/branches/\(branch.id)")
    }

    private func delete(_ request: Request) async throws -> BranchDeletion {
        let branch = try await self.workspace.branch(request.parameters[0])
        let count = try request.head.query.number("discard", in: 0...Int(Int32.max)) ?? 0
        let rest = try await self.workspace.deleteBranch(branch.id, discardingAtMost: count)
        return BranchDeletion(remains: rest.map { BranchAnswer($0) })
    }

    private func conflicts(_ request: Request) async throws -> MergeConflictList {
        let branch = try await BranchReference.id(request.parameters[0], in: self.workspace)
        let target = try await BranchReference.id(try request.head.query.one("into"), in: self.workspace)
        try Self.requireDifferent(branch, target)
        let conflicts = try await self.workspace.conflicts(merging: branch, into: target)
        return MergeConflictList(conflicts: conflicts.map { MergeConflictAnswer($0) })
    }

    private func merge(_ request: Request) async throws -> MergeAnswer {
        let members = try Members(try await request.jsonOrNothing(), of: "The body")
        let into = try members.text("into")
        try members.requireNoOthers()
        let branch = try await BranchReference.id(request.parameters[0], in: self.workspace)
        let target = try await BranchReference.id(into, in: self.workspace)
        try Self.requireDifferent(branch, target)
        // Once it is merged, nobody can tell any more what both sides had changed.
        let conflicts = try await self.knownConflicts(merging: branch, into: target)
        let isNew = try await self.workspace.merge(branch, into: target)
        return MergeAnswer(merged: isNew, conflicts: conflicts.map { MergeConflictAnswer($0) })
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
