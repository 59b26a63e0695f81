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
        let seed = self.tape.seed()
        var entropy = EntropyStream.from(seed)
        let root = World.rootKey(seed)
        guard let identity = DeviceIdentity.founding(name: "peer0", root: root, entropy: &entropy) else {
            preconditionFailure("drawn entropy makes keys")
        }
        self.rootSeeds[identity.user] = seed
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
        let seed = self.tape.seed()
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
                root: World.rootKey(seed),
                memo: self.memo,
                entropy: EntropyStream.from(seed)
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
            if person != nil { self.rootSeeds[identity.user] = seed }
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

    /// Certifies a machine anew with the words of its user, with its process at an end meanwhile.
    func recover(_ machine: Machine) {
        guard machine.isUp, !self.isHostile(machine), let seed = self.rootSeeds[machine.user] else { return }
        let user = machine.user
        let known = machine.look { transaction throws(StoreError) in transaction.latestGeneration(of: user) }
        let identity = machine.identity
        let generation = max(known ?? 0, identity.generation) + 1
        guard let recovered = identity.recovered(by: World.rootKey(seed), generation: generation) else { return }
        self.record.mark(.machineRecovered)
        self.stop(machine, downtime: .milliseconds(100))
        machine.certify(World.keyFile(of: recovered))
    }

    /// The root key of a user, who has written it down in words.
    private static func rootKey(_ seed: UInt64) -> SigningKey {
        var entropy = EntropyStream.from(~seed)
        guard let key = SigningKey(seed: entropy.secret(32)) else { preconditionFailure("a seed has 32 bytes") }
        return key
    }

    private func lookForEnding(_ machine: Machine) {
        if let ending = machine.disk.ending { self.ended(machine, ending) }
    }

    static func keyFile(of identity: borrowing DeviceIdentity) -> [UInt8] {
        identity.encoded().withBytes { Array($0) }
    }
}
