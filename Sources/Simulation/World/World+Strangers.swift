internal import Engine
internal import PeerCrypto
internal import SyncProtocol

/// People without keys, who connect all the same.
extension World {
    func sendStranger(_ action: StrangerAction, to machine: Machine) {
        guard machine.isUp else { return }
        switch action {
        case .replayHandshake:
            guard let first = machine.recording.first else { return }
            self.record.count(.replayedHandshake)
            self.connectStranger(to: machine, [first], every: .milliseconds(5))
        case .replayStream:
            guard !machine.recording.isEmpty else { return }
            self.record.count(.replayedStream)
            self.connectStranger(to: machine, machine.recording, every: .milliseconds(20))
        case .garbage(let byteCount):
            self.record.count(.garbageStranger)
            var random = LossGenerator(seed: self.tape.seed())
            let greeting = random.below(2) == 0 ? Array("peerd/1k".utf8) : []
            self.connectStranger(to: machine, [greeting + random.bytes(byteCount)], every: .milliseconds(5))
        case .silence:
            self.record.count(.silentStranger)
            let slow = Array("peerd/1k".utf8).map { [$0] }
            self.connectStranger(to: machine, slow, every: .milliseconds(900))
        case .knock(let count):
            self.record.count(.strangerFlood)
            guard let first = self.knock(at: machine) else { return }
            for number in 0..<count {
                let start = VirtualTime.milliseconds(UInt64(number) * 20)
                self.schedule(after: start) { $0.connectStranger(to: machine, [first], every: .milliseconds(5)) }
            }
        case .flood(let count):
            self.record.count(.strangerFlood)
            for _ in 0..<count { self.connectStranger(to: machine, [], every: .seconds(30)) }
        }
    }

    /// What somebody who knows a machine's static key, and has keys of his own, says first.
    private func knock(at machine: Machine) -> [UInt8]? {
        var entropy = EntropyStream.from(self.tape.seed())
        let key = machine.identity.publicStaticKey
        guard let own = AgreementKey(seed: entropy.secret(32)), let ephemeral = AgreementKey(seed: entropy.secret(32)),
            let start = PeerLink.dialling(key, own: own, ephemeral: ephemeral)
        else { return nil }
        return start.bytes
    }

    func connectStranger(to machine: Machine, _ chunks: [[UInt8]], every pause: VirtualTime) {
        let wire = self.connect(WireEnd(of: nil, connection: self.newConnection()), to: machine)
        self.schedule(after: pause) { $0.continueStranger(wire, chunks, every: pause) }
    }

    func continueStranger(_ wire: Wire, _ chunks: [[UInt8]], every pause: VirtualTime) {
        guard wire.ends[1].state == .open else { return }
        guard let next = chunks.first else {
            wire.ends[0].state = .closed
            self.enqueue(.end, on: wire, lane: 0)
            return
        }
        self.enqueue(.bytes(next), on: wire, lane: 0)
        self.schedule(after: pause) { $0.continueStranger(wire, Array(chunks.dropFirst()), every: pause) }
    }
}
