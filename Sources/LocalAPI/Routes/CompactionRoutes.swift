internal import CRDTCore
internal import NIOHTTP1
internal import PeerdKit

/// Dropping what nobody needs of the history.
struct CompactionRoutes: Sendable {
    let workspace: Workspace

    var routes: [Route] {
        [Route(.POST, "/api/compaction") { try await self.compact($0) }]
    }

    private func compact(_ request: Request) async throws -> Response {
        try request.requireOwner("A history is compacted", advice: "Use “peerd compact”.")
        let members = try Members(try await request.json(), of: "The body")
        let seconds = try members.number("keep_seconds", in: Workspace.keptSecondsRange)
        let isDryRun = try members.flag("dry_run")
        try members.requireNoOthers()
        guard let seconds else { throw Problem.badRequest("The body needs “keep_seconds”.") }
        let workspace = self.workspace
        return try await LineStream.response(to: request) { progress in
            try await workspace.compact(keepingSeconds: seconds, isDryRun: isDryRun) { count in
                progress("examined \(count) changes")
            }
            .json
        }
    }
}

extension CompactionReport {
    /// The report as the API shows it.
    var json: JSON {
        .object([
            "horizon_ms": .milliseconds(self.horizon),
            "examined_changes": .int(Int64(self.examinedChangeCount)),
            "dropped_writes": .int(Int64(self.droppedWriteCount)),
            "dropped_changes": .int(Int64(self.droppedChangeCount)),
            "dropped_bytes": .int(Int64(self.droppedByteCount)),
            "file_bytes_before": self.fileByteCounts.map { .int(Int64($0.before)) } ?? .null,
            "file_bytes_after": self.fileByteCounts.map { .int(Int64($0.after)) } ?? .null,
            "shrink_failure": .text(self.shrinkFailure),
            "lacking_machines": .array(self.lackingMachines.map { .string($0) }),
        ])
    }
}
