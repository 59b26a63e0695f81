internal import CRDTCore

/// What may happen in a generated history beyond honest peers with good clocks.
package struct HistoryTraits: OptionSet, Sendable {
    package var rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// Some peers' clocks are far ahead, so that what they write is held.
    package static let fastClocks = HistoryTraits(rawValue: 1)
    /// Peers come back under a new replica id and take back part of what the old one wrote.
    package static let retirements = HistoryTraits(rawValue: 2)
    /// One peer stamps and claims to have seen what it likes.
    package static let hostile = HistoryTraits(rawValue: 4)
    /// One replica writes two different changes with one sequence, and goes on from both.
    package static let forks = HistoryTraits(rawValue: 8)
    /// The names of properties differ only in how a letter is put together.
    package static let lookalikes = HistoryTraits(rawValue: 16)
}

/// Lets peers write and exchange parts of what they know, all drawn from one seed.
package struct HistoryGenerator {
    /// One machine.
    private struct Peer {
        var device: TestDevice
        var replica: ReplicaID
        var nonce: Bytes16
        var clockOffset: UInt64
        /// How much of each chain has arrived.
        var known: [ReplicaID: Int] = [:]
        /// The context of the last change written.
        var context: [ReplicaID: UInt64] = [:]
    }

    private var random: SplitMix64
    private let traits: HistoryTraits
    private let generator: EditGenerator
    private var peers: [Peer] = []
    private var history = GeneratedHistory()
    private var now = WallTime(milliseconds: 1_000_000_000_000)

    package static func history(seed: UInt64, changes: Int, traits: HistoryTraits = []) -> GeneratedHistory {
        var generator = HistoryGenerator(seed: seed, traits: traits)
        return generator.generate(changes)
    }

    private init(seed: UInt64, traits: HistoryTraits) {
        self.random = SplitMix64(seed: seed)
        self.traits = traits
        self.generator = EditGenerator(&self.random, lookalikes: traits.contains(.lookalikes))
        self.history.objects = self.generator.objects
        for number in 0..<2 + self.random.below(4) {
            self.addPeer(TestDevice(number: UInt64(number)))
        }
    }

    private mutating func generate(_ changes: Int) -> GeneratedHistory {
        var written = 0
        while written < changes {
            // Often not at all, so that stamps of different replicas are equal.
            if self.random.chance(40) { self.now = self.now.advanced(byMilliseconds: UInt64(self.random.below(3))) }
            if self.random.chance(2) { self.now = self.now.advanced(byMilliseconds: 400_000) }
            let peer = self.random.below(self.peers.count)
            if self.random.chance(45) {
                self.synchronise(peer)
            } else {
                self.write(peer)
                written += 1
            }
        }
        if self.traits.contains(.forks) { self.fork() }
        self.history.end = self.now
        return self.history
    }

    private mutating func addPeer(_ device: TestDevice) {
        let nonce = Bytes16(high: self.random.next(), low: self.random.next())
        let isFast = self.traits.contains(.fastClocks) && self.random.chance(30)
        let offset = isFast ? 1_500_000 : self.random.chance(50) ? 0 : UInt64(self.random.below(100_000))
        let replica = device.replica(nonce: nonce)
        self.history.devices[replica] = device
        self.history.nonces[replica] = nonce
        self.peers.append(Peer(device: device, replica: replica, nonce: nonce, clockOffset: offset))
    }

    /// A peer learns more of some chains from another.
    private mutating func synchronise(_ number: Int) {
        let other = self.random.below(self.peers.count)
        for (replica, count) in self.peers[other].known.sorted(by: { $0.key < $1.key }) {
            let mine = self.peers[number].known[replica] ?? 0
            guard count > mine, !self.random.chance(15) else { continue }
            let arrived = self.random.chance(75) ? count : mine + 1 + self.random.below(count - mine)
            self.peers[number].known[replica] = arrived
        }
    }

    private mutating func write(_ number: Int) {
        var edits = self.generator.edits(&self.random)
        if self.traits.contains(.retirements), self.random.chance(8) {
            edits.insert(.retire(self.reopen(number)), at: 0)
        }
        let peer = self.peers[number]
        if peer.known[peer.replica] == nil {
            edits.insert(.introduce(peer.device.introduction(nonce: peer.nonce)), at: 0)
        }
        let wall = self.now.advanced(byMilliseconds: peer.clockOffset)
        let counted = self.history.naive(upTo: peer.known, now: wall).verdicts().counted
        var highest: UInt64 = 0
        for (replica, last) in counted where last > 0 {
            highest = max(highest, self.history.chains[replica]?[Int(last) - 1].stamp.rawValue ?? 0)
        }
        let own = self.history.chains[peer.replica] ?? []
        highest = max(highest, own.last?.stamp.rawValue ?? 0)
        let stamp = Stamp(rawValue: max(wall.milliseconds << 16, highest == .max ? .max : highest + 1))
        var difference: [Dot] = []
        for (replica, last) in counted where replica != peer.replica && last > peer.context[replica] ?? 0 {
            difference.append(Dot(replica: replica, sequence: last))
        }
        var change = NaiveChange(
            dot: Dot(replica: peer.replica, sequence: UInt64(own.count) + 1),
            stamp: stamp,
            contextDifference: difference.sorted(),
            edits: edits
        )
        if number == 0, self.traits.contains(.hostile), self.random.chance(25) { self.distort(&change) }
        for seen in change.contextDifference {
            self.peers[number].context[seen.replica] = max(peer.context[seen.replica] ?? 0, seen.sequence)
        }
        self.history.append(change)
        self.peers[number].known[peer.replica] = own.count + 1
    }

    /// A peer goes on under a new replica id; the retirement of the old one may take back some of it.
    private mutating func reopen(_ number: Int) -> Retirement {
        let old = self.peers[number]
        let nonce = Bytes16(high: self.random.next(), low: self.random.next())
        self.peers[number].nonce = nonce
        self.peers[number].replica = old.device.replica(nonce: nonce)
        self.peers[number].context = [:]
        self.peers[number].clockOffset = 0
        self.history.devices[self.peers[number].replica] = old.device
        self.history.nonces[self.peers[number].replica] = nonce
        let known = old.known[old.replica] ?? 0
        let last = UInt64(max(0, known - self.random.below(4)))
        return Retirement(replica: old.replica, nonce: old.nonce, lastSequence: last)
    }

    /// Makes a lie of a change.
    private mutating func distort(_ change: inout NaiveChange) {
        let anHour: UInt64 = 3_600_000 << 16
        switch self.random.below(8) {
        case 0:
            let back = UInt64(self.random.below(1 << 18))
            change.stamp = Stamp(rawValue: change.stamp.rawValue - min(back, change.stamp.rawValue))
        case 1: change.stamp = Stamp(rawValue: min(change.stamp.rawValue, .max - anHour) + anHour)
        case 2: change.stamp = Stamp(rawValue: self.random.chance(50) ? .max : 0)
        case 3:
            // Claims to have seen what is not there yet, or never will be.
            let replicas = self.history.replicas.filter { $0 != change.dot.replica }
            guard !replicas.isEmpty else { return }
            let replica = self.random.pick(replicas)
            change.contextDifference.removeAll { $0.replica == replica }
            let length = self.history.chains[replica]?.count ?? 0
            let claimed = UInt64(length + 1 + self.random.below(3))
            change.contextDifference.append(Dot(replica: replica, sequence: claimed))
            change.contextDifference.sort()
        case 4:
            // Says less than before.
            let replicas = self.history.replicas.filter { $0 != change.dot.replica }
            change.contextDifference = replicas.filter { _ in self.random.chance(50) }.map { replica in
                Dot(replica: replica, sequence: 1 + UInt64(self.random.below(3)))
            }
        case 5:
            // Takes back something of any replica of the device, this one too.
            let device = self.history.devices[change.dot.replica]
            let own = self.history.devices.keys.sorted().filter { self.history.devices[$0] == device }
            let replica = self.random.pick(own)
            let nonce = self.history.nonces[replica] ?? Bytes16(high: 0, low: 0)
            let last = UInt64(self.random.below(5))
            change.edits.append(.retire(Retirement(replica: replica, nonce: nonce, lastSequence: last)))
        default:
            // Hides part of what it has seen.
            change.contextDifference = change.contextDifference.filter { _ in self.random.chance(50) }
        }
    }

    /// Gives one chain a second branch.
    private mutating func fork() {
        let replica = self.random.pick(self.history.replicas)
        let chain = self.history.chains[replica] ?? []
        let position = self.random.below(chain.count)
        var branch: [NaiveChange] = []
        for place in 0..<1 + self.random.below(3) {
            var change = chain[position]
            change.dot.sequence += UInt64(place)
            change.stamp = Stamp(rawValue: min(change.stamp.rawValue, .max - 9) + UInt64(place + self.random.below(2)))
            if place > 0 { change.contextDifference = [] }
            change.edits = self.generator.edits(&self.random)
            if position + place == 0, let device = self.history.devices[replica] {
                let nonce = self.history.nonces[replica] ?? Bytes16(high: 0, low: 0)
                change.edits.insert(.introduce(device.introduction(nonce: nonce)), at: 0)
            }
            branch.append(change)
        }
        guard branch[0] != chain[position] else { return }
        self.history.forks[replica] = (position + 1, branch)
    }
}
