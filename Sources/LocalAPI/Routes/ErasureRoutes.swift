internal import CRDTCore
internal import NIOHTTP1
internal import PeerdKit

/// Erasing the past of a property on all machines.
struct ErasureRoutes: Sendable {
    let workspace: Workspace

    var routes: [Route] {
        [Route(.POST, "/api/erasure") { try await self.erase($0) }]
    }

    /// Only the owner erases: whatever else comes over loopback can be taken back.
    private func erase(_ request: Request) async throws -> Work<ErasureAnswer> {
        try request.requireOwner("A past is erased", advice: "Use “peerd erase”.")
        let members = try Members(try await request.json(), of: "The body")
        let object = try members.requiredText("object")
        let property = try members.requiredText("property")
        try members.requireNoOthers()
        let id = try await ObjectLookup.id(object, in: self.workspace)
        let workspace = self.workspace
        return Work { _ in ErasureAnswer(try await workspace.erase(property, of: id)) }
    }
}
