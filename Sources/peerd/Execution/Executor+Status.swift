internal import CRDTCore
internal import Engine
internal import LocalAPI
internal import PeerTransport
internal import PeerdKit

/// The verbs that tell of this machine and its peers.
extension Executor {
    func status(_ output: CommandOutput) async throws {
        let counts = try await self.workspace.counts()
        let report = StatusReport(node: try await self.driver.status(), counts: counts, daemon: self.daemon)
        if output.format.isJSON {
            try await output.json(report.json)
        } else {
            try await output.table(report.rows)
        }
    }

    func peers(_ output: CommandOutput) async throws {
        let status = try await self.driver.status()
        let (peers, addresses) = (status.peers, status.failingAddresses)
        if output.format.isJSON {
            let entries = peers.map(\.json) + addresses.map(\.json)
            return try await output.json(.array(entries))
        }
        if peers.isEmpty {
            try await output.line("No other machine is known. \"peerd invite\" prints a line that lets one join.")
        } else {
            try await output.table(peers.map { PeerReport.row($0) })
        }
        for address in addresses { try await output.line(AddressReport.sentence(address)) }
    }

    func invite(_ output: CommandOutput) async throws {
        let hosts: [String]
        let port: UInt16
        if let daemon = self.daemon {
            hosts = daemon.reachableHosts
            port = daemon.listen.port
        } else {
            guard let listen = Settings.load(self.paths).listen, let address = try? PeerAddress.parse(listen) else {
                throw CommandFailure(
                    .busy,
                    "No daemon runs for \(self.paths.directory), so no machine could join; "
                        + "start \"peerd run\" first."
                )
            }
            hosts = ListenAddress.reachableHosts(address.host)
            port = address.port
        }
        let invite = try await self.driver.makeInvite(addresses: hosts, port: port)
        if output.format.isJSON {
            let json = JSON.object([
                "invite": .string(invite.text),
                "addresses": .array(invite.addresses.map { .string($0) }),
                "port": .int(Int64(invite.port)),
                "lifetime_ms": .int(Int64(Invite.lifetimeMilliseconds)),
            ])
            return try await output.json(json)
        }
        try await output.line(invite.text)
        try await output.qrCode(of: invite.text)
        if self.daemon == nil {
            try await output.note("No daemon runs yet; start \"peerd run\" before the other machine joins.")
        }
    }
}

/// Everything `status` says.
struct StatusReport {
    let node: NodeStatus
    let counts: WorkspaceCounts
    let daemon: Executor.Daemon?

    private var online: [PeerStatus] { self.node.peers.filter(\.isConnected) }

    var json: JSON { self.node.json(self.counts, listen: self.daemon?.listen) }

    var rows: [[String]] {
        var rows = [
            ["workspace", self.node.workspace.description],
            ["device", "\(self.node.deviceName) (\(self.node.device.description.prefix(16)))"],
            ["replica", self.node.replica?.description ?? "none yet; the first write makes one"],
            ["daemon", self.daemon.map { "listening on \($0.listen)" } ?? "not running"],
            ["objects", "\(self.counts.objects)"],
            ["changes", "\(self.counts.changes) by \(PlainText.count(self.counts.replicas, "replica"))"],
            ["conflicts", "\(self.counts.conflicts)"],
            ["peers", "\(self.online.count) of \(self.node.peers.count) online"],
        ]
        for peer in self.online { rows.append(["", PeerReport.sentence(peer)]) }
        for wait in self.node.waits { rows.append(["waiting", WaitReport.sentence(wait)]) }
        for fork in self.node.forks { rows.append(["forked", ForkReport.sentence(fork)]) }
        for finding in ClockReport.findings(self.node) { rows.append(["clock", finding]) }
        if let failure = self.node.storeFailure { rows.append(["store", CommandFailure(failure).message]) }
        return rows
    }
}

/// One other machine, as it is shown.
enum PeerReport {
    static func row(_ peer: PeerStatus) -> [String] {
        [
            peer.name,
            String(peer.device.description.prefix(16)),
            peer.isConnected ? "online" : "offline",
            peer.address?.description ?? "no address",
            peer.isConnected ? self.exchange(peer) : self.lastSeen(peer),
        ]
    }

    static func sentence(_ peer: PeerStatus) -> String {
        "\(peer.name): \(self.exchange(peer))"
    }

    private static func exchange(_ peer: PeerStatus) -> String {
        if peer.isInSync { return "in sync" }
        guard let there = peer.missingThereCount, let here = peer.missingHereCount else { return "comparing" }
        return "lacks \(PlainText.count(there, "change")); \(PlainText.count(here, "change")) to come from it"
    }

    private static func lastSeen(_ peer: PeerStatus) -> String {
        guard let time = peer.lastSeen else { return "not seen since the start" }
        return "last seen \(PlainText.time(milliseconds: time.milliseconds))"
    }
}

/// Addresses that were named and lead to no machine.
enum AddressReport {
    static func sentence(_ status: AddressStatus) -> String {
        "\(status.address) \(status.failure.text)."
    }
}

/// What is known of clocks, as sentences.
enum ClockReport {
    /// One for each clock that may be wrong.
    static func findings(_ node: NodeStatus) -> [String] {
        var findings: [String] = []
        if let former = node.clockSetBackFrom { findings.append(self.setBack(from: former)) }
        for peer in node.peers {
            guard let ahead = peer.clockAheadMilliseconds, ahead.isNoticeableClockDifference else { continue }
            let difference = self.difference(ahead, of: peer.name)
            findings.append(
                node.isClockConfirmed ? "\(difference) The clock of another machine agrees with this one." : difference
            )
        }
        return findings
    }

    static func setBack(from former: WallTime) -> String {
        """
        The clock of this machine has shown \(PlainText.time(milliseconds: former.milliseconds)), and shows an earlier \
        time now. Correct it. If it is right, another machine's clock will confirm it, or run \
        "peerd restamp --clock-is-right".
        """
    }

    static func difference(_ millisecondsAhead: Int64, of name: String) -> String {
        let direction = millisecondsAhead > 0 ? "ahead of" : "behind"
        return """
            The clock of \(name) is \(millisecondsAhead.magnitude / 1000) seconds \(direction) the one of this machine.
            """
    }
}

enum WaitReport {
    static func sentence(_ wait: ReplicaWait) -> String {
        let what = "\(PlainText.count(wait.changeCount, "change")) of \(wait.deviceName)"
        switch wait.reason {
        case .held(let until):
            return """
                \(what), stamped in the future, until \(PlainText.time(milliseconds: until.milliseconds)); \
                "peerd restamp" orders them by what they had seen
                """
        case .missing(let point):
            return "\(what), which need change \(point.sequence) of replica \(point.replica)"
        }
    }
}

enum ForkReport {
    static func sentence(_ fork: ReplicaFork) -> String {
        """
        \(fork.deviceName): its database was restored or copied, and its chain has \
        \(fork.branchCount) branches; the changes of all count
        """
    }
}
