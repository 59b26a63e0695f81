internal import CRDTCore
internal import NIOHTTP1
internal import PeerdKit

/// Dropping what nobody needs of the history.
struct CompactionRoutes: Sendable {
    let workspace: Workspace

    var routes: [Route] {
        [Route(.POST, "/api/compaction") { try await self.compact($0) }]
    }

    private func compact(_ request: Request) async throws -> Work<CompactionAnswer> {
        try request.requireOwner("A history is compacted", advice: "Use “peerd compact”.")
        let members = try Members(try await request.json(), of: "The body")
        let seconds = try members.number("keep_seconds", in: Workspace.keptSecondsRange)
        let isDryRun = try members.flag("dry_run")
        try members.requireNoOthers()
        guard let seconds else { throw Problem.badRequest("The body needs “keep_seconds”.") }
        let workspace = self.workspace
        return Work { progress in
            let report = try await workspace.compact(keepingSeconds: seconds, isDryRun: isDryRun) { count in
                progress("examined \(count) changes")
            }
            return CompactionAnswer(report)
        }
    }
}
