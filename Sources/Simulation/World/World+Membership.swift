package import CRDTCore
internal import Engine
internal import PeerCrypto

/// Devices that become members.
extension World {
    /// One machine of so many makes its database itself; the others find one that has just been made.
    private static let madeDatabaseInterval: UInt64 = 8
    /// In what steps coarse clocks show the time.
    private static let coarseTickMilliseconds: UInt64 = 100

    /// Puts a machine with a key file and an empty disk into the world.
    package func add(keyFile: [UInt8], origin: Hash256) -> Machine {
        let disk = SimulatedDisk(seed: self.tape.seed())
        // To make a database is tried as well, though it is the same each time.
        let makesDatabase = self.tape.seed() % World.madeDatabaseInterval == 0
        if !makesDatabase, let blank = BlankDatabase.image(origin: origin) { disk.restore(blank) }
        let machine = Machine(
            number: self.machines.count,
            keyFile: keyFile,
            origin: origin,
            disk: disk,
            seed: self.tape.seed(),
            memo: self.memo
        )
        if self.plan.faults.contains(.coarseClocks) {
            self.record.count(.coarseClocks)
            machine.clock.tickMilliseconds = World.coarseTickMilliseconds
        }
        machine.clock.set(offsetMilliseconds: 0, at: self.time)
        self.machines.append(machine)
        return machine
    }

    /// The first device, which makes the workspace.
    package func found() {
        var entropy = EntropyStream.from(self.tape.seed())
        guard let identity = DeviceIdentity.founding(name: "peer0", entropy: &entropy) else {
            preconditionFailure("drawn entropy makes keys")
        }
        self.start(self.add(keyFile: World.keyFile(of: identity), origin: identity.origin))
    }

    /// One more device, by an invite of another and the real pairing handshake.
    ///
    /// Nothing disturbs a pairing here: it takes place at once, or not at all because the inviter is not there.
    ///
    /// `person`: what its user is called, if he is another one than the inviter's.
    func join(_ inviter: Machine, person: String? = nil) {
        guard inviter.isUp, inviter.hostile == nil else { return }
        let moment = inviter.moment(at: self.time)
        let guest = person.map { Guest.person($0) } ?? .device
        let invite = try? inviter.node?.makeInvite(
            for: guest,
            addresses: [inviter.host],
            port: Machine.port,
            at: moment
        )
        guard let invite, inviter.disk.ending == nil,
            var session = JoinSession(
                invite: invite,
                deviceName: "peer\(self.machines.count)",
                memo: self.memo,
                entropy: EntropyStream.from(self.tape.seed())
            )
        else { return self.lookForEnding(inviter) }
        let connection = self.newConnection()
        let stranger = NetworkAddress(host: "10.0.1.\(self.machines.count)", port: 1)
        self.handle(inviter, .accepted(connection, from: stranger))
        let outcome = session.converse(now: self.time.milliseconds) { bytes in
            let effects = inviter.node?.handle(.received(connection, bytes), at: inviter.moment(at: self.time)) ?? []
            var answer: [UInt8] = []
            for effect in effects {
                guard case .send(let receiver, let more) = effect else { continue }
                // What it tells others meanwhile is of their connections.
                if receiver == connection { answer += more } else { self.perform(effect, of: inviter) }
            }
            return answer
        }
        if case .joined(let identity, let key, let goodbye) = outcome {
            self.handle(inviter, .received(connection, goodbye))
            self.admit(World.keyFile(of: identity), identity.origin, inviter: inviter, key)
            // Of another person's device it does not know yet which it is.
            let address = NetworkAddress(host: inviter.host, port: Machine.port)
            if person != nil { self.handle(self.machines[self.machines.count - 1], .addAddress(address)) }
        }
        self.lookForEnding(inviter)
        self.handle(inviter, .closed(connection))
    }

    func admit(_ keyFile: [UInt8], _ origin: Hash256, inviter: Machine, _ key: StaticKey) {
        if self.machines.count >= self.plan.peerCount { self.record.count(.lateJoin) }
        let machine = self.add(keyFile: keyFile, origin: origin)
        self.start(machine)
        guard machine.isUp else { return }
        machine.node?.noteInviter(key, addresses: [NetworkAddress(host: inviter.host, port: Machine.port)])
        self.setAlarm(machine)
    }

    private func lookForEnding(_ machine: Machine) {
        if let ending = machine.disk.ending { self.ended(machine, ending) }
    }

    static func keyFile(of identity: borrowing DeviceIdentity) -> [UInt8] {
        identity.encoded().withBytes { Array($0) }
    }
}
