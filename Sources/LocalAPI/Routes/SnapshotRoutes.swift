internal import CRDTCore
internal import Foundation
internal import NIOHTTP1
internal import PeerdKit

/// Snapshots of objects, which belong to this machine.
struct SnapshotRoutes: Sendable {
    let workspace: Workspace

    var routes: [Route] {
        [
            Route(.GET, "/api/snapshots", query: .only(["object"])) { try await self.list($0) },
            Route(.POST, "/api/snapshots", query: .branch) { try await self.take($0) },
            Route(.POST, "/api/snapshots/import") { try await self.importSnapshot($0) },
            Route(.GET, "/api/snapshots/{id}") { try await self.export($0) },
            Route(.POST, "/api/snapshots/{id}/restore", query: .branch) { try await self.restore($0) },
            Route(.DELETE, "/api/snapshots/{id}") { request in
                try await self.workspace.deleteSnapshot(try await self.snapshot(request).id)
                return Response.noContent
            },
        ]
    }

    private func snapshot(_ request: Request) async throws -> ObjectSnapshot {
        try await self.workspace.snapshot(named: request.parameters[0])
    }

    private func list(_ request: Request) async throws -> SnapshotList {
        var object: ObjectID?
        if let text = try request.head.query.one("object") {
            // The object may be gone, and its snapshots be wanted all the more.
            object = try await ObjectLookup.id(text, in: self.workspace)
        }
        return SnapshotList(snapshots: try await self.workspace.snapshots(of: object).map { SnapshotAnswer($0) })
    }

    private func take(_ request: Request) async throws -> Created<SnapshotAnswer> {
        let members = try Members(try await request.json(), of: "The body")
        let (object, name) = (try members.requiredText("object"), try members.text("name"))
        try members.requireNoOthers()
        let branch = try await request.branch(in: self.workspace)
        let moment = branch.map { Moment.branch($0) }
        let id = try await ObjectLookup.object(object, in: self.workspace, at: moment).id
        return Created(SnapshotAnswer(try await self.workspace.takeSnapshot(of: id, name: name, on: branch)))
    }

    private func importSnapshot(_ request: Request) async throws -> Created<SnapshotAnswer> {
        try request.requireJSON()
        let bytes = try await request.body.collect(upTo: ObjectSnapshot.byteCountMax)
        return Created(SnapshotAnswer(try await self.workspace.importSnapshot(from: Data(bytes))))
    }

    private func export(_ request: Request) async throws -> Response {
        let content = try await self.workspace.exportSnapshot(try await self.snapshot(request).id)
        return Response(.ok, [UInt8](content), type: "application/json")
    }

    private func restore(_ request: Request) async throws -> Work<SnapshotRestorationAnswer> {
        let members = try Members(try await request.jsonOrNothing(), of: "The body")
        try members.requireNoOthers()
        let id = try await self.snapshot(request).id
        let branch = try await request.branch(in: self.workspace)
        return Work { progress in
            let restoration = try await self.workspace.restoreSnapshot(id, on: branch) { part in
                let count = part.createdCount + part.changedCount + part.movedCount
                progress("restored \(PlainText.count(count, "object"))")
            }
            return SnapshotRestorationAnswer(restoration)
        }
    }
}
