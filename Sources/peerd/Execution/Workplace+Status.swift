internal import CRDTCore
internal import LocalAPI
internal import PeerdKit

/// The verbs that tell of this machine and its peers.
extension Workplace {
    func status() async throws {
        if let damage = try Settings.damage(self.paths) {
            try self.output.note("\(damage): \(Settings.damageAdvice).")
        }
        let status: StatusAnswer = try await self.caller.answer(APIRequest(.get, "api", "status"))
        let branch = try await self.branchReport()
        if self.output.isJSON { return try self.output.json(JSON(status).with(["branch": branch])) }
        try self.output.table(status.rows(branch))
    }

    func peers() async throws {
        let list: PeerList = try await self.caller.answer(APIRequest(.get, "api", "peers"))
        if self.output.isJSON {
            return try self.output.json(list.peers.map { JSON($0) } + list.addresses.map { JSON($0) })
        }
        if list.peers.isEmpty {
            try self.output.line("No other machine is known. \"peerd invite\" prints a line that lets one join.")
        } else {
            try self.output.table(list.peers.map(\.row))
        }
        for address in list.addresses { try self.output.line(address.sentence) }
    }

    /// Forgets a machine that is gone.
    func forget(_ device: String) async throws {
        try await self.caller.send(APIRequest(.delete, "api", "peers", device))
        if !self.output.isJSON {
            try self.output.line("Forgot \(device); nobody waits for it until it comes back by itself.")
        }
    }

    /// Removes a machine that is lost or stolen.
    func remove(_ device: String, keeping kept: [String], withInvited: Bool, since: String?) async throws {
        let body: [ExactText: JSON?] = [
            "keep": .array(kept.map { .string($0) }), "with_invited": .bool(withInvited),
            "since": since.map { .string($0) },
        ]
        let request = APIRequest(.post, "api", "peers", device, "removal", body: body)
        let answer: MachineRemovalAnswer = try await self.caller.answer(request)
        if self.output.isJSON { return try self.output.json(answer) }
        for machine in answer.removed {
            let text = "Removed \(machine.name) (\(machine.id.prefix(8))); machines that hear of it refuse it."
            try self.output.line(text)
        }
        if answer.cutTransactions > 0 {
            let count = PlainText.count(answer.cutTransactions, "transaction")
            try self.output.line("\(count) count no more; \"peerd rejected\" lists the edits in them.")
        }
        for name in answer.stillRemoved {
            try self.output.line("\(name) was removed by it, and stays so; --keep \(name) would put it back.")
        }
    }

    /// Lists the erasures of other machines that wait.
    func erasures() async throws {
        let status: StatusAnswer = try await self.caller.answer(APIRequest(.get, "api", "status"))
        if self.output.isJSON { return try self.output.json(status.waitingErasures.map { JSON($0) }) }
        if status.waitingErasures.isEmpty { try self.output.line("No erasure of another machine waits here.") }
        for erasures in status.waitingErasures { try self.output.line("\(erasures.sentence).") }
    }

    /// Lets the erasures of a machine through, or stops them.
    func decideErasures(of device: String, areAllowed: Bool) async throws {
        let decision = areAllowed ? "allow" : "stop"
        let body = ["device": JSON.string(device), "decision": .string(decision)] as [ExactText: JSON?]
        try await self.caller.send(APIRequest(.post, "api", "erasures", body: body))
        guard !self.output.isJSON else { return }
        try self.output.line(
            areAllowed
                ? "What \(device) erases is erased here, too."
                : "What \(device) erases stays here, from now on, until it is allowed again."
        )
    }

    /// `person`: what another person is called; nil for a machine of this user.
    func invite(_ person: String?, isBack: Bool) async throws {
        let body: [ExactText: JSON?] = ["person": person.map { .string($0) }, "back": isBack ? .bool(true) : nil]
        let request = APIRequest(.post, "api", "invites", body: body)
        let invite: InviteAnswer = try await self.caller.answer(request)
        if self.output.isJSON {
            return try self.output.json(JSON(invite).only(["invite", "addresses", "port", "lifetime_ms"]))
        }
        try self.output.line(invite.invite)
        try self.output.qrCode(of: invite.invite)
        if invite.endsOldest {
            try self.output.note(
                "Eight invites were open, which is the most there can be; the oldest of them does not work any more."
            )
        }
        if !self.daemonRuns {
            try self.output.note("No daemon runs yet; start \"peerd run\" before the other machine joins.")
        }
    }

    /// Checks everything there is to check; returns whether all is well.
    func doctor() async throws -> Bool {
        var diagnosis: DiagnosisAnswer = try await self.work(APIRequest(.post, "api", "doctor"))
        do {
            _ = try CurrentBranch.load(self.paths)
        } catch {
            guard let failure = CommandFailure(error) else { throw error }
            diagnosis.addProblem("branch", failure.message)
        }
        try self.output.report(diagnosis)
        return diagnosis.healthy
    }
}

extension JSON {
    /// The object with some of its members alone.
    func only(_ names: Set<ExactText>) -> JSON {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { names.contains($0.key) })
    }
}

extension StatusAnswer {
    /// Everything `status` says; `branch`: the current one.
    fileprivate func rows(_ branch: BranchReport?) -> [[String]] {
        var rows = [
            ["workspace", self.workspace],
            ["branch", branch.text],
            ["device", "\(self.deviceName) (\(self.device.prefix(16)))"],
            ["replica", self.replica ?? "none yet; the first write makes one"],
            ["daemon", self.listen.map { "listening on \($0)" } ?? "not running"],
            ["objects", "\(self.objects)"],
            ["changes", "\(self.changes) by \(PlainText.count(self.replicas, "replica"))"],
            ["conflicts", "\(self.conflicts)"],
            ["peers", "\(self.peersOnline) of \(self.peers.count) online"],
        ]
        for peer in self.peers where peer.connected {
            rows.append(["", peer.sentence(someWait: !self.waiting.isEmpty)])
        }
        for peer in self.peers {
            guard let sentence = peer.differenceSentence else { continue }
            rows.append(["differs", "\(sentence); \(PeerAnswer.differenceAdvice)"])
        }
        for peer in self.peers where peer.copies {
            rows.append(["copied", "\(peer.copiesSentence); \(PeerAnswer.copiesAdvice)"])
        }
        for address in self.addresses { rows.append(["address", address.sentence]) }
        for sentence in self.backup.sentences { rows.append(["backup", sentence]) }
        for wait in self.waiting { rows.append(["waiting", wait.sentence]) }
        for branch in self.branchesKept { rows.append(["branch", branch.keptSentence]) }
        for erasures in self.waitingErasures { rows.append(["erasures", erasures.sentence]) }
        for fork in self.forks { rows.append(["forked", fork.sentence]) }
        for finding in self.clockFindings { rows.append(["clock", finding]) }
        if let removed { rows.append(["removed", removed]) }
        if let storeFailure { rows.append(["store", "\(storeFailure) \(self.storeAdvice ?? "")"]) }
        for copy in self.damagedCopies {
            let text = "the log of the database was found damaged, and writes may be missing here; as it was: \(copy)"
            rows.append(["damaged", "\(text); \"peerd doctor\" says what to do"])
        }
        return rows
    }
}

extension PeerAnswer {
    fileprivate var row: [String] {
        let lastSeen = self.lastSeenMs.map { "last seen \(PlainText.time($0))" } ?? "never seen"
        return [
            self.name,
            String(self.device.prefix(16)),
            self.connected ? "online" : "offline",
            self.address ?? "no address",
            self.connected ? self.exchange(someWait: false) : lastSeen,
        ]
    }
}
