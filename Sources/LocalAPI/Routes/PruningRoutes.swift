internal import CRDTCore
internal import NIOHTTP1
internal import PeerdKit

/// Taking values out of the history: what nobody needs here, and the past of a property on all machines.
///
/// Only the owner does that: whatever else comes over loopback can be taken back.
struct PruningRoutes: Sendable {
    let workspace: Workspace

    var routes: [Route] {
        [
            Route(.POST, "/api/compaction") { try await self.compact($0) },
            Route(.POST, "/api/erasure") { try await self.erase($0) },
        ]
    }

    private func compact(_ request: Request) async throws -> Work<CompactionAnswer> {
        try request.requireOwner("A history is compacted", advice: "Use “peerd compact”.")
        let members = try Members(try await request.json(), of: "The body")
        let seconds = try members.number("keep_seconds", in: Workspace.keptSecondsRange)
        let isDryRun = try members.flag("dry_run")
        try members.requireNoOthers()
        guard let seconds else { throw Problem.badRequest("The body needs “keep_seconds”.") }
        return Work { progress in
            let report = try await self.workspace.compact(keepingSeconds: seconds, isDryRun: isDryRun) { count in
                progress("examined \(count) changes")
            }
            return CompactionAnswer(report)
        }
    }

    private func erase(_ request: Request) async throws -> Work<ErasureAnswer> {
        try request.requireOwner("A past is erased", advice: "Use “peerd erase”.")
        let members = try Members(try await request.json(), of: "The body")
        let object = try members.requiredText("object")
        let property = try members.requiredText("property")
        try members.requireNoOthers()
        let id = try await ObjectLookup.id(object, in: self.workspace)
        return Work { _ in ErasureAnswer(try await self.workspace.erase(property, of: id)) }
    }
}
