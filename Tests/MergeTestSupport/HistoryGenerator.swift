internal import CRDTCore

/// What may happen in a generated history beyond honest peers with good clocks.
package struct HistoryTraits: OptionSet, Sendable {
    package var rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// Some peers' clocks are far ahead, so that what they write is held, and are put right later.
    package static let fastClocks = HistoryTraits(rawValue: 1)
    /// Peers restamp stretches of chains, by right and without.
    package static let restamps = HistoryTraits(rawValue: 2)
    /// One peer stamps and claims to have seen what it likes.
    package static let hostile = HistoryTraits(rawValue: 4)
    /// Peers are copied, or put back to what they were, and go on from there.
    package static let forks = HistoryTraits(rawValue: 8)
    /// The names of properties differ only in how a letter is put together.
    package static let lookalikes = HistoryTraits(rawValue: 16)
    /// The clocks of those who receive are set back now and then.
    package static let clocksSetBack = HistoryTraits(rawValue: 32)

    package static let all: HistoryTraits = [.fastClocks, .restamps, .hostile, .forks, .clocksSetBack]
}

/// Lets peers write and exchange parts of what they know, all drawn from one seed.
package struct HistoryGenerator {
    /// One machine.
    private struct Peer {
        var device: TestDevice
        var replica: ReplicaID
        var nonce: Bytes16
        var clockOffset: UInt64
        /// What its database holds.
        var content = Content()
        /// What it held after each change that it wrote.
        var past = [Content()]
    }

    private struct Content {
        /// What has arrived.
        var known: Set<Hash256> = []
        /// The last change of its own chain.
        var tip: Hash256?
        /// What that one had seen, and itself.
        var covered: Set<Hash256> = []
    }

    private var random: SplitMix64
    private let traits: HistoryTraits
    private let generator: EditGenerator
    private var peers: [Peer] = []
    private var history = GeneratedHistory()
    private var now = WallTime(milliseconds: 1_000_000_000_000)
    /// How coarse clocks are: the coarser, the more stamps are equal.
    private let granularity: UInt64

    private static let peerCountMax = 8

    package static func history(seed: UInt64, changes: Int, traits: HistoryTraits = []) -> GeneratedHistory {
        var generator = HistoryGenerator(seed: seed, traits: traits)
        return generator.generate(changes)
    }

    private init(seed: UInt64, traits: HistoryTraits) {
        self.random = SplitMix64(seed: seed)
        self.traits = traits
        self.generator = EditGenerator(&self.random, lookalikes: traits.contains(.lookalikes))
        self.granularity = self.random.chance(30) ? 1_000 : 1
        self.history.objects = self.generator.objects
        for number in 0..<2 + self.random.below(4) {
            // The first is of the founder.
            let isOther = number > 0 && self.random.chance(40)
            self.addPeer(TestDevice(number: UInt64(number), user: isOther ? TestDevice.otherUser : TestDevice.user))
        }
    }

    private mutating func generate(_ changes: Int) -> GeneratedHistory {
        var written = 0
        while written < changes {
            // Often not at all, so that stamps of different replicas are equal.
            if self.random.chance(40) { self.now = self.now.advanced(byMilliseconds: UInt64(self.random.below(3))) }
            if self.random.chance(2) { self.now = self.now.advanced(byMilliseconds: 400_000) }
            let peer = self.random.below(self.peers.count)
            if self.traits.contains(.forks), self.random.chance(8) {
                self.fork(peer)
            } else if self.random.chance(45) {
                self.synchronise(peer)
            } else {
                self.write(peer)
                written += 1
            }
        }
        self.history.end = self.now
        return self.history
    }

    private mutating func addPeer(_ device: TestDevice) {
        let nonce = Bytes16(high: self.random.next(), low: self.random.next())
        let isFast = self.traits.contains(.fastClocks) && self.random.chance(30)
        let offset = isFast ? 1_500_000 : self.random.chance(50) ? 0 : UInt64(self.random.below(100_000))
        let replica = device.replica(nonce: nonce)
        self.history.devices[replica] = device
        self.peers.append(Peer(device: device, replica: replica, nonce: nonce, clockOffset: offset))
    }

    /// A peer is put back to what it was before some of its changes, or copied as it was then.
    private mutating func fork(_ number: Int) {
        var peer = self.peers[number]
        let kept = self.random.below(peer.past.count)
        peer.content = peer.past[kept]
        peer.past.removeLast(peer.past.count - kept - 1)
        if self.peers.count < HistoryGenerator.peerCountMax, self.random.chance(50) {
            self.peers.append(peer)
        } else {
            self.peers[number] = peer
        }
    }

    /// A peer learns more of some chains from another.
    private mutating func synchronise(_ number: Int) {
        let known = self.peers[self.random.below(self.peers.count)].content.known
        var blocked: Set<ReplicaID> = []
        for change in self.history.changes where known.contains(change.hash) {
            guard !self.peers[number].content.known.contains(change.hash) else { continue }
            if self.random.chance(10) { blocked.insert(change.replica) }
            if !blocked.contains(change.replica) { self.peers[number].content.known.insert(change.hash) }
        }
    }

    private mutating func write(_ number: Int) {
        if self.traits.contains(.fastClocks), self.random.chance(8) { self.reopen(number) }
        let peer = self.peers[number]
        let wall = self.now.advanced(byMilliseconds: peer.clockOffset)
        let history = self.history.naive(peer.content.known, now: wall)
        let verdicts = history.verdicts()
        var edits = self.generator.edits(&self.random)
        if self.traits.contains(.restamps), self.random.chance(20) {
            edits.insert(contentsOf: self.restamp(history, verdicts), at: 0)
        }
        if peer.content.tip == nil { edits.insert(.introduce(peer.device.introduction(nonce: peer.nonce)), at: 0) }
        var highest = verdicts.stamps.values.max() ?? .zero
        if let tip = peer.content.tip.flatMap({ self.history[$0] }) { highest = max(highest, tip.stamp) }
        let coarse = wall.milliseconds - wall.milliseconds % self.granularity
        var stamp = max(Stamp(milliseconds: coarse), highest.successor ?? highest)
        let applied = verdicts.stamps.keys.map { history.changes[$0] }
        let news = applied.filter { !peer.content.covered.contains($0.hash) }
        let extended = Set(news.compactMap(\.previous))
        var context = Set(news.filter { !extended.contains($0.hash) }.map(\.point)).sorted()
        if number == 0, self.traits.contains(.hostile), self.random.chance(25) {
            self.distort(&stamp, &context, &edits)
        }
        let change = self.history.append(
            peer.replica,
            after: peer.content.tip,
            stamp: stamp,
            context: context,
            salt: UInt64(self.history.changes.count),
            edits
        )
        self.peers[number].content.covered.formUnion(applied.map(\.hash) + [change.hash])
        self.peers[number].content.tip = change.hash
        self.peers[number].content.known.insert(change.hash)
        self.peers[number].past.append(self.peers[number].content)
    }

    /// A peer goes on under a new replica id, with a clock that is right.
    private mutating func reopen(_ number: Int) {
        let nonce = Bytes16(high: self.random.next(), low: self.random.next())
        self.peers[number].nonce = nonce
        self.peers[number].replica = self.peers[number].device.replica(nonce: nonce)
        self.peers[number].content.tip = nil
        self.peers[number].content.covered = []
        self.peers[number].clockOffset = 0
        self.peers[number].past = [self.peers[number].content]
        self.history.devices[self.peers[number].replica] = self.peers[number].device
    }

    /// Restamps a stretch of any chain, most often one that is held.
    private mutating func restamp(_ history: NaiveHistory, _ verdicts: NaiveHistory.Verdicts) -> [Edit] {
        let held = verdicts.held.keys.map { history.changes[$0] }
        let candidates = (held.isEmpty || self.random.chance(30) ? history.changes : held)
            .sorted { ($0.replica, $0.sequence, $0.hash) < ($1.replica, $1.sequence, $1.hash) }
        guard !candidates.isEmpty else { return [] }
        let last = self.random.pick(candidates)
        let first = self.random.chance(50) ? 1 : 1 + UInt64(self.random.below(Int(last.sequence)))
        let restamp = Restamp(
            replica: last.replica,
            firstSequence: first,
            lastSequence: last.sequence,
            lastHash: last.hash
        )
        return [.restamp(restamp)]
    }

    /// Makes a lie of a change.
    private mutating func distort(_ stamp: inout Stamp, _ context: inout [Point], _ edits: inout [Edit]) {
        let anHour: UInt64 = 3_600_000 << 16
        switch self.random.below(9) {
        case 0:
            let back = UInt64(self.random.below(1 << 18))
            stamp = Stamp(rawValue: stamp.rawValue - min(back, stamp.rawValue))
        case 1: stamp = Stamp(rawValue: min(stamp.rawValue, .max - anHour) + anHour)
        case 2: stamp = Stamp(rawValue: self.random.chance(50) ? .max : 0)
        case 3:
            // The last stamp that is not held by a clock, so that what follows it is.
            let last = self.now.advanced(byMilliseconds: HybridClock.skewMaxMilliseconds).milliseconds
            stamp = Stamp(rawValue: last << 16 | 0xffff)
        case 4:
            // Claims to have seen what is not there yet, or never will be.
            let replica = self.random.pick(self.history.devices.keys.sorted())
            let sequence = UInt64(1 + self.random.below(5))
            context.append(Point(replica: replica, sequence: sequence, name: ChangeName(rawValue: self.random.next())))
            context.sort()
        case 5:
            // Names anything at all.
            guard !self.history.changes.isEmpty else { return }
            context = Set((0..<3).map { _ in self.random.pick(self.history.changes).point }).sorted()
        case 6:
            // Restamps what is not there.
            let last = self.history.changes.last
            let replica = self.random.pick(self.history.devices.keys.sorted())
            let sequence = UInt64(1 + self.random.below(5))
            edits.append(
                .restamp(
                    Restamp(
                        replica: replica,
                        firstSequence: 1,
                        lastSequence: sequence,
                        lastHash: last?.hash ?? .zero
                    )
                )
            )
        case 7: stamp = Stamp(milliseconds: self.now.milliseconds - 3_600_000)
        default:
            // Hides part of what it has seen.
            context = context.filter { _ in self.random.chance(50) }
        }
    }
}
