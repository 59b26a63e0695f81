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
            Route(.GET, "/healthz", query: .any) { _ in try await self.health() },
            Route(.GET, "/metrics", query: .any) { _ in try await self.showMetrics() },
            Route(.GET, "/api/server-info") { _ in
                ServerInfo(self.server, try await self.workspace.nodeStatus())
            },
            Route(.GET, "/api/status") { _ in try await self.workspace.status(self.server) },
            Route(.GET, "/api/sync/status") { _ in try await self.syncStatus() },
            Route(.GET, "/api/peers") { _ in try await self.peers() },
            Route(.POST, "/api/invites") { try await self.invite($0) },
        ]
    }

    /// Anybody may ask, so it costs little and tells no more than whether something is wrong.
    private func health() async throws -> HealthAnswer {
        if try await self.workspace.storeFails() {
            throw Problem(
                .serviceUnavailable,
                "store-failing",
                "The last write to the disk failed.",
                advice: "“peerd status” says why."
            )
        }
        guard self.workspace.damagedCopies.isEmpty else {
            throw Problem(
                .serviceUnavailable,
                "log-damaged",
                "The database was found damaged, and writes may be missing.",
                advice: "“peerd doctor” says what to do."
            )
        }
        return HealthAnswer()
    }

    private func peers() async throws -> PeerList {
        let status = try await self.workspace.nodeStatus()
        return PeerList(
            peers: status.peers.map { PeerAnswer($0) },
            addresses: status.failingAddresses.map { AddressAnswer($0) }
        )
    }

    private func syncStatus() async throws -> SyncStatusAnswer {
        let status = try await self.workspace.nodeStatus()
        return SyncStatusAnswer(
            inSync: status.isInSync,
            pending: status.pendingCount,
            peers: status.peers.map { PeerAnswer($0) },
            waiting: status.waits.map { WaitAnswer($0) }
        )
    }

    private func invite(_ request: Request) async throws -> Created<InviteAnswer> {
        let members = try Members(try await request.jsonOrNothing(), of: "The body")
        let (person, isBack) = (try members.text("person"), try members.flag("back"))
        try members.requireNoOthers()
        if let person { try await self.workspace.check(newPerson: person) }
        guard person == nil || !isBack else {
            throw Problem.badRequest("An invite is for a new “person”, or for somebody who comes “back”.")
        }
        guard let address = self.server.inviteAddress else {
            throw PeerdError(
                .notSyncing,
                "No daemon runs for \(self.workspace.paths.directory), so no machine could join.",
                advice: "Start one."
            )
        }
        let (invite, endsOldest) = try await self.workspace.driver().makeInvite(
            for: person.map { .person($0) } ?? (isBack ? .returning : .device),
            // A machine that was moved, or was started without a network, has other addresses than when it started.
            addresses: try ListenAddress.reachableHosts(address.host),
            port: address.port
        )
        return Created(InviteAnswer(invite, endsOldest: endsOldest))
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
    /// Where the sync listens that an invite leads to; nil if there are no invites.
    package var inviteAddress: NetworkAddress?
    /// The origins of the API on loopback.
    package var origins: [String] = []
    package var filesDirectory: String
    /// The folder of the user's own pages; nil if none is served.
    package var pagesDirectory: String?

    package init(
        version: String,
        platform: String,
        listen: NetworkAddress?,
        inviteAddress: NetworkAddress? = nil,
        filesDirectory: String
    ) {
        self.version = version
        self.platform = platform
        self.listen = listen
        self.inviteAddress = inviteAddress ?? listen
        self.filesDirectory = filesDirectory
    }
}

extension Workspace {
    func status(_ server: ServerDescription, _ counts: WorkspaceCounts? = nil) async throws -> StatusAnswer {
        let current = if let counts { counts } else { try await self.counts() }
        return StatusAnswer(
            try await self.nodeStatus(),
            current,
            try await self.branchesDeletedElsewhere(),
            listen: server.listen,
            damagedCopies: self.damagedCopies,
            self.backupStatus()
        )
    }
}
