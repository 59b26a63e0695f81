internal import CRDTCore
internal import Engine
internal import PeerCrypto

/// Pairings that things go wrong in.
extension World {
    /// How long a newcomer waits.
    private static let patience = VirtualTime.seconds(20)
    private static let downtime = VirtualTime.seconds(2)

    func pair(_ inviter: Machine, _ trouble: PairingTrouble) {
        guard inviter.isUp, inviter.hostile == nil else { return }
        var moment = inviter.moment(at: self.time)
        if trouble == .expired {
            moment.wall.milliseconds -= min(moment.wall.milliseconds, Invite.lifetimeMilliseconds)
        }
        let made = try? inviter.node?.makeInvite(addresses: [inviter.host], port: Machine.port, at: moment)
        if let ending = inviter.disk.ending {
            self.ended(inviter, ending)
            return
        }
        guard var invite = made else { return }
        if trouble == .wrongSecret { invite.secret = Bytes32(1, 2, 3, UInt64(self.newcomers.count)) }
        self.record.count(trouble.fault)
        if case .inviterEnds(let call) = trouble {
            inviter.plannedDowntime = World.downtime
            inviter.disk.faults.ending = (inviter.disk.callCount + call, .kill)
        }
        self.come(to: inviter, with: invite, trouble)
        if trouble == .usedTwice {
            self.newcomers.last?.partner = self.newcomers.count
            self.come(to: inviter, with: invite, trouble)
        }
    }

    private func come(to inviter: Machine, with invite: Invite, _ trouble: PairingTrouble) {
        let number = self.newcomers.count
        let end = WireEnd(of: nil, connection: self.newConnection())
        let session = JoinSession(
            invite: invite,
            deviceName: Newcomer.name(number, trouble),
            memo: self.memo,
            entropy: EntropyStream.from(self.tape.seed())
        )
        guard let session else { return }
        let newcomer = Newcomer(number: number, inviter: inviter, trouble: trouble, session: session, end: end)
        self.newcomers.append(newcomer)
        end.newcomer = newcomer
        let wire = self.connect(end, to: inviter)
        if case .cut(let isOwn, let byteCount) = trouble { wire.lanes[isOwn ? 0 : 1].bytesUntilCut = byteCount }
        self.schedule(after: World.patience) { $0.giveUp(newcomer) }
    }

    // MARK: - What reaches a newcomer

    func hear(_ event: Event, _ newcomer: Newcomer) {
        switch event {
        case .connected:
            self.mark(newcomer)
            if let bytes = newcomer.session?.start() { self.say(bytes, newcomer) }
        case .received(_, let bytes): self.hear(bytes, newcomer)
        default: break
        }
    }

    /// What is to happen after so many messages.
    private func mark(_ newcomer: Newcomer) {
        switch newcomer.trouble {
        case .inviterKilled(newcomer.heardCount): self.end(newcomer.inviter, .kill, downtime: World.downtime)
        case .newcomerGone(newcomer.heardCount): self.giveUp(newcomer)
        default: break
        }
    }

    private func hear(_ bytes: [UInt8], _ newcomer: Newcomer) {
        guard let outcome = newcomer.session?.received(bytes, now: self.time.milliseconds) else { return }
        newcomer.heardCount += 1
        switch consume outcome {
        case .send(let more):
            self.mark(newcomer)
            if newcomer.session != nil { self.say(more, newcomer) }
        case .failed: self.giveUp(newcomer)
        case .joined(let identity, let key, let goodbye):
            let isGone = newcomer.trouble == .newcomerGone(afterMessageCount: newcomer.heardCount)
            self.mark(newcomer)
            if isGone { return }
            self.say(goodbye, newcomer)
            newcomer.session = nil
            self.record.mark(.pairedUnderFaults)
            self.checkInviterKnows(identity.device, newcomer)
            self.admit(World.keyFile(of: identity), identity.origin, inviter: newcomer.inviter, key)
            guard newcomer.trouble == .replayed else { return }
            self.connectStranger(to: newcomer.inviter, newcomer.spoken, every: .milliseconds(20))
        }
    }

    private func say(_ bytes: [UInt8], _ newcomer: Newcomer) {
        guard !bytes.isEmpty, newcomer.end.state == .open, let wire = newcomer.end.wire else { return }
        newcomer.note(bytes)
        for piece in self.pieces(of: bytes) { self.enqueue(.bytes(piece), on: wire, lane: 0) }
    }

    func giveUp(_ newcomer: Newcomer) {
        if newcomer.session != nil { self.record.mark(.pairingFailed) }
        newcomer.session = nil
        guard newcomer.end.state == .open, let wire = newcomer.end.wire else { return }
        newcomer.end.state = .closed
        self.enqueue(.end, on: wire, lane: 0)
    }

    // MARK: - What must hold

    /// Whoever was told that he is a member is one to the machine that said so.
    private func checkInviterKnows(_ device: DeviceID, _ newcomer: Newcomer) {
        let inviter = newcomer.inviter
        guard inviter.isUp, !inviter.isTainted, let status = inviter.observedStatus(at: self.time) else { return }
        if !status.peers.contains(where: { $0.device == device }), !self.record.saw(.restoredMachine, .restoredDatabase)
        {
            let message = "machine \(inviter.number) does not know \(newcomer.number), whom it has made a member"
            self.record.find(.membership, message)
        }
    }

    /// Nobody is a member who did not hold an invite that was good, and nobody by an invite that was used.
    func checkMembership(of machine: Machine) {
        guard !self.newcomers.isEmpty, let status = machine.observedStatus(at: self.time) else { return }
        let hasWrongClock = self.record.saw(
            .clockOffset,
            .clockHourAhead,
            .clockDayBehind,
            .clockYearsAhead,
            .clockAtEpoch,
            .clockJump,
            .clockBackAtRestart
        )
        let intruder = status.peers.first {
            $0.name.hasPrefix(Newcomer.intruderPrefix) || $0.name.hasPrefix(Newcomer.latePrefix) && !hasWrongClock
        }
        if let intruder {
            self.record.find(.membership, "machine \(machine.number) knows \(intruder.name), who held no good invite")
        }
        var guests: Set<String> = []
        for newcomer in self.newcomers where newcomer.trouble == .usedTwice {
            let name = Newcomer.name(newcomer.number, .usedTwice)
            guard status.peers.contains(where: { $0.name == name }) else { continue }
            // The two that share an invite have numbers that follow each other.
            if newcomer.number > 0, guests.contains(Newcomer.name(newcomer.number - 1, .usedTwice)),
                self.newcomers[newcomer.number - 1].partner == newcomer.number
            {
                self.record.find(.membership, "machine \(machine.number) let two in by one invite")
            }
            guests.insert(name)
        }
    }
}

extension PairingTrouble {
    /// The fault it is an occurrence of.
    package var fault: Fault {
        switch self {
        case .none, .cut: .pairingCut
        case .inviterKilled, .inviterEnds: .pairingInviterEnds
        case .newcomerGone: .pairingNewcomerGone
        case .replayed: .pairingReplayed
        case .wrongSecret: .wrongInvite
        case .expired: .expiredInvite
        case .usedTwice: .inviteUsedTwice
        }
    }
}
