internal import CRDTCore
internal import LocalAPI
internal import PeerdKit

/// The verbs that tell of this machine and its peers.
extension Workplace {
    func status() async throws {
        if let damage = Settings.damage(self.paths) {
            try await self.output.note("\(damage): \(Settings.damageAdvice).")
        }
        let status = try await self.caller.json(APIRequest(.get, "api", "status"))
        let branch = try await self.branchReport()
        if self.output.format.isJSON, case .object(var members) = status {
            members["branch"] = branch
            return try await self.output.json(.object(members))
        }
        try await self.output.table(StatusTable.rows(status, branch: branch))
    }

    func peers() async throws {
        let json = try await self.caller.json(APIRequest(.get, "api", "peers"))
        let (peers, addresses) = (json["peers"]?.elements ?? [], json["addresses"]?.elements ?? [])
        if self.output.format.isJSON { return try await self.output.json(.array(peers + addresses)) }
        if peers.isEmpty {
            try await self.output.line("No other machine is known. \"peerd invite\" prints a line that lets one join.")
        } else {
            try await self.output.table(peers.map { PeerReport.row($0) })
        }
        for address in addresses { try await self.output.line(AddressReport.sentence(address)) }
    }

    /// Forgets a machine that is gone.
    func forget(_ device: String) async throws {
        _ = try await self.caller.json(APIRequest(.delete, "api", "peers", device))
        if !self.output.format.isJSON {
            try await self.output.line("Forgot \(device); nobody waits for it until it comes back by itself.")
        }
    }

    func invite() async throws {
        let invite = try await self.caller.json(APIRequest(.post, "api", "invites"))
        if self.output.format.isJSON {
            var members: [ExactText: JSON] = [:]
            for name in ["invite", "addresses", "port", "lifetime_ms"] { members[ExactText(name)] = invite[name] }
            return try await self.output.json(.object(members))
        }
        let text = invite["invite"]?.text ?? ""
        try await self.output.line(text)
        try await self.output.qrCode(of: text)
        if invite["ends_oldest"]?.isTrue ?? false {
            try await self.output.note(
                "Eight invites were open, which is the most there can be; the oldest of them does not work any more."
            )
        }
        if !self.daemonRuns {
            try await self.output.note("No daemon runs yet; start \"peerd run\" before the other machine joins.")
        }
    }

    /// Checks everything there is to check; returns whether all is well.
    func doctor() async throws -> Bool {
        let diagnosis = try await self.work(APIRequest(.post, "api", "doctor"))
        try await self.output.report(diagnosis)
        return diagnosis["healthy"]?.isTrue ?? false
    }
}

/// Everything `status` says.
private enum StatusTable {
    /// `branch`: the current branch.
    static func rows(_ status: JSON, branch: JSON) -> [[String]] {
        func text(_ name: String) -> String { status[name]?.text ?? "" }
        func count(_ name: String) -> Int64 { status[name]?.integer ?? 0 }
        let peers = status["peers"]?.elements ?? []
        var rows = [
            ["workspace", text("workspace")],
            ["branch", BranchText.current(branch)],
            ["device", "\(text("device_name")) (\(text("device").prefix(16)))"],
            ["replica", status["replica"]?.text ?? "none yet; the first write makes one"],
            ["daemon", status["listen"]?.text.map { "listening on \($0)" } ?? "not running"],
            ["objects", "\(count("objects"))"],
            ["changes", "\(count("changes")) by \(PlainText.count(count("replicas"), "replica"))"],
            ["conflicts", "\(count("conflicts"))"],
            ["peers", "\(count("peers_online")) of \(peers.count) online"],
        ]
        let waits = status["waiting"]?.elements ?? []
        for peer in peers where peer["connected"]?.isTrue ?? false {
            rows.append(["", PeerReport.sentence(peer, someWait: !waits.isEmpty)])
        }
        for peer in peers where peer["copies"]?.isTrue ?? false {
            rows.append(["copied", "\(CopyReport.sentence(peer)); \(CopyReport.advice)"])
        }
        for address in status["addresses"]?.elements ?? [] {
            rows.append(["address", AddressReport.sentence(address)])
        }
        for sentence in BackupReport.sentences(status) { rows.append(["backup", sentence]) }
        for wait in waits { rows.append(["waiting", WaitReport.sentence(wait)]) }
        for fork in status["forks"]?.elements ?? [] { rows.append(["forked", ForkReport.sentence(fork)]) }
        for finding in ClockReport.findings(status) { rows.append(["clock", finding]) }
        if let failure = status["store_failure"]?.text {
            rows.append(["store", "\(failure) \(status["store_advice"]?.text ?? "")"])
        }
        return rows
    }
}

extension PeerReport {
    fileprivate static func row(_ peer: JSON) -> [String] {
        let isConnected = peer["connected"]?.isTrue ?? false
        return [
            peer["name"]?.text ?? "?",
            String((peer["device"]?.text ?? "").prefix(16)),
            isConnected ? "online" : "offline",
            peer["address"]?.text ?? "no address",
            isConnected ? self.exchange(peer, someWait: false) : self.lastSeen(peer),
        ]
    }

    private static func lastSeen(_ peer: JSON) -> String {
        guard let time = peer["last_seen_ms"]?.integer else { return "never seen" }
        return "last seen \(PlainText.time(milliseconds: UInt64(clamping: time)))"
    }
}
