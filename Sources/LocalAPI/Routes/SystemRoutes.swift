internal import CRDTCore
package import Engine
internal import NIOHTTP1
internal import PeerdKit

/// This machine and the others: the sync, invites, and health.
struct SystemRoutes: Sendable {
    let workspace: Workspace
    let server: ServerDescription
    let metrics: Metrics

    var routes: [Route] {
        [
            Route(.GET, "/healthz", query: .any) { _ in Response(json: .object(["status": .string("ok")])) },
            Route(.GET, "/metrics", query: .any) { _ in try await self.showMetrics() },
            Route(.GET, "/api/server-info") { _ in try await self.info() },
            Route(.GET, "/api/status") { _ in Response(json: try await self.workspace.statusJSON(self.server)) },
            Route(.GET, "/api/sync/status") { _ in try await self.syncStatus() },
            Route(.GET, "/api/peers") { _ in try await self.peers() },
            Route(.POST, "/api/invites") { _ in try await self.invite() },
        ]
    }

    private func info() async throws -> Response {
        let status = try await self.workspace.nodeStatus()
        return Response(
            json: .object([
                "name": .string("peerd"),
                "version": .string(self.server.version),
                "platform": .string(self.server.platform),
                "workspace": .string(status.workspace.description),
                "device": .string(status.device.description),
                "device_name": .string(status.deviceName),
                "listen": .text(self.server.listen?.description),
                "origins": .array(self.server.origins.map { .string($0) }),
                "files": .string(self.server.filesDirectory),
                "allowed_paths": .array([.string("/api/file/"), .string("/audio/")]),
                "limits": .object([
                    "body_bytes": .int(Int64(APILimits.bodyByteCountMax)),
                    "import_bytes": .int(Int64(APILimits.importByteCountMax)),
                    "message_bytes": .int(Int64(APILimits.messageByteCountMax)),
                    "page_objects": .int(Int64(APILimits.pageCountMax)),
                    "transaction_edits": .int(Int64(APILimits.editCountMax)),
                ]),
            ])
        )
    }

    private func peers() async throws -> Response {
        let status = try await self.workspace.nodeStatus()
        return Response(
            json: .object([
                "peers": .array(status.peers.map(\.json)),
                "addresses": .array(status.failingAddresses.map(\.json)),
            ])
        )
    }

    private func syncStatus() async throws -> Response {
        let status = try await self.workspace.nodeStatus()
        let pending = status.peers.reduce(UInt64(0)) { sum, peer in
            sum.addingReportingOverflow(peer.missingThereCount ?? 0).partialValue
        }
        return Response(
            json: .object([
                "in_sync": .bool(status.isInSync),
                "pending": .int(Int64(clamping: pending)),
                "peers": .array(status.peers.map(\.json)),
                "waiting": .array(status.waits.map(\.json)),
            ])
        )
    }

    private func invite() async throws -> Response {
        guard let port = self.server.invitePort else {
            throw PeerdError(
                .notSyncing,
                "No daemon runs for \(self.workspace.paths.directory), so no machine could join.",
                advice: "Start one."
            )
        }
        let (invite, endsOldest) = try await self.workspace.makeInvite(
            addresses: self.server.reachableHosts,
            port: port
        )
        return Response(
            .created,
            json: .object([
                "invite": .string(invite.text),
                "addresses": .array(invite.addresses.map { .string($0) }),
                "port": .int(Int64(invite.port)),
                "lifetime_ms": .int(Int64(Invite.lifetimeMilliseconds)),
                "ends_oldest": .bool(endsOldest),
                "qr": QRCode(text: invite.text)?.json ?? .null,
            ])
        )
    }

    private func showMetrics() async throws -> Response {
        let status = try await self.workspace.nodeStatus()
        let counts = try await self.workspace.counts()
        return Response(
            .ok,
            Array(self.metrics.text(status, counts).utf8),
            type: "text/plain; version=0.0.4; charset=utf-8"
        )
    }
}

/// What the server knows of itself.
package struct ServerDescription: Sendable {
    /// The version of the program.
    package var version: String
    package var platform: String
    /// Where other machines reach this one; nil if the sync does not run.
    package var listen: NetworkAddress?
    /// The hosts that an invite names, and their port; without a port there are no invites.
    package var reachableHosts: [String]
    package var invitePort: UInt16?
    /// The origins of the API on loopback.
    package var origins: [String] = []
    package var filesDirectory: String
    /// The folder of the user's own pages; nil if none is served.
    package var pagesDirectory: String?

    package init(
        version: String,
        platform: String,
        listen: NetworkAddress?,
        reachableHosts: [String],
        invitePort: UInt16? = nil,
        filesDirectory: String
    ) {
        self.version = version
        self.platform = platform
        self.listen = listen
        self.reachableHosts = reachableHosts
        self.invitePort = invitePort ?? listen?.port
        self.filesDirectory = filesDirectory
    }
}

extension Workspace {
    func statusJSON(_ server: ServerDescription) async throws -> JSON {
        let json = try await self.nodeStatus().json(try await self.counts(), listen: server.listen)
        guard case .object(var members) = json else { return json }
        members["backup"] = self.backupStatus().json
        return .object(members)
    }
}
