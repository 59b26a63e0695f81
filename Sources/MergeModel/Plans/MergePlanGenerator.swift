/// What may go wrong in a plan beyond honest peers that write and exchange.
package struct MergeTroubles: OptionSet, Hashable, Sendable {
    package var rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// Databases are put back to a copy.
    package static let restores = MergeTroubles(rawValue: 1)
    /// Databases are replaced by copies of other peers', which makes doubles.
    package static let doubles = MergeTroubles(rawValue: 2)
    /// No time passes, so that what is written on two branches is stamped alike.
    package static let standstill = MergeTroubles(rawValue: 4)
    /// Clocks are set ahead, back and right again.
    package static let clocks = MergeTroubles(rawValue: 8)
    /// Some peers' clocks are far ahead from the beginning, and peers open new replicas.
    package static let fastClocks = MergeTroubles(rawValue: 16)
    /// Peers restamp stretches of chains, by right and without.
    package static let restamps = MergeTroubles(rawValue: 32)
    /// One peer stamps what it likes, and claims to have seen what it likes.
    package static let lies = MergeTroubles(rawValue: 64)
    /// The names of properties differ only in how a letter is composed.
    package static let lookalikes = MergeTroubles(rawValue: 128)
    /// The clocks of the stores that all changes are handed to are set back now and then.
    package static let clocksSetBack = MergeTroubles(rawValue: 256)
    /// Two of three chains belong to branches of the workspace.
    package static let branches = MergeTroubles(rawValue: 1024)
    /// The past of properties is erased.
    package static let erasures = MergeTroubles(rawValue: 2048)
    /// Users grant and remove, and open new replicas under what is granted by then.
    package static let rights = MergeTroubles(rawValue: 4096)
    /// Everything has more variety: edits, names, coarse and slightly wrong clocks, and pauses of minutes.
    ///
    /// Without it a plan is plain, and its peers have introduced themselves before its first step.
    package static let variety = MergeTroubles(rawValue: 512)

    /// Peers are copied, or put back to what they were, and write from there.
    package static let forks: MergeTroubles = [.restores, .doubles]
    package static let all: MergeTroubles = [
        .fastClocks, .restamps, .lies, .forks, .clocksSetBack, .branches,
    ]
}

/// Draws plans.
///
/// It counts what is written and what has arrived, so that every step does something.
package struct MergePlanGenerator {
    private var random: SplitMix64
    private let troubles: MergeTroubles
    private let peerCount: Int
    private let objectCount: Int
    private let nameCount: Int
    /// The number of changes of each chain.
    private var written: [Int]
    /// The changes that were stamped by a clock that was ahead.
    private var fastChanges: [ChainHoldings.Place] = []
    private var peers: [Peer]
    /// The peers as they were when their databases were last copied.
    private var copies: [Peer]
    /// The peer that lies, if there is one.
    private let liar: Int

    private struct Peer {
        var chain: Int
        /// The changes that have arrived.
        var arrived: ChainHoldings
        var isFast = false
    }

    /// Choices that are made together, as the digits of one number.
    private struct Digits {
        private var rest: UInt64

        init(_ random: inout SplitMix64) { self.rest = random.next() % .max }

        mutating func below(_ bound: Int) -> Int {
            let (quotient, remainder) = self.rest.quotientAndRemainder(dividingBy: UInt64(bound))
            self.rest = quotient
            return Int(remainder)
        }
    }

    private static let chainCountMax = 20

    /// Returns the plan of a seed for some peers and steps, with troubles drawn too.
    package static func plan(seed: UInt64, peers: Int, steps: Int) -> MergePlan {
        var random = MergePlanGenerator.random(seed)
        var digits = Digits(&random)
        var plan = MergePlan(peerCount: peers, steps: [])
        // Most plans have none of it, so that little is mixed up in what fails.
        let trouble = digits.below(16)
        var troubles: MergeTroubles = trouble < 2 ? .standstill : []
        if [0, 1, 3, 5].contains(trouble) { troubles.insert(.restores) }
        if [2, 3, 4].contains(trouble) { troubles.insert(.clocks) }
        if (2...6).contains(trouble) { troubles.insert(.restamps) }
        if trouble == 7 || troubles.contains(.clocks) && digits.below(3) == 0 { plan.fastPeer = digits.below(peers) }
        // Few objects, so that what is done apart meets.
        let objectCount = 2 + digits.below(PlanVocabulary.objectCount - 1)
        var generator = MergePlanGenerator(random, troubles, peers: peers, objects: objectCount, names: 4, liar: 0)
        plan.steps.reserveCapacity(steps)
        for _ in 0..<steps { plan.steps.append(generator.step()) }
        return plan
    }

    /// Returns the plan of a seed for so many changes, with the troubles that are wanted and all variety.
    package static func plan(seed: UInt64, changes: Int, troubles: MergeTroubles) -> MergePlan {
        var random = MergePlanGenerator.random(seed)
        let peerCount = 2 + random.below(5)
        let objectCount = 3 + random.below(4)
        let nameCount = 3 + random.below(3)
        let liar = random.below(peerCount)
        var plan = MergePlan(peerCount: peerCount, seed: seed, steps: [])
        if random.chance(30) { plan.traits.insert(.coarseClocks) }
        // The first change of a chain must be able to fork, to wait and to be held.
        if random.chance(80) { plan.traits.insert(.introducedLate) }
        if troubles.contains(.lookalikes) { plan.traits.insert(.lookalikes) }
        if troubles.contains(.clocksSetBack) { plan.traits.insert(.clocksSetBack) }
        if troubles.contains(.branches) { plan.traits.insert(.branches) }
        if troubles.contains(.erasures) { plan.traits.insert(.erasures) }
        if troubles.contains(.rights) { plan.traits.insert(.rights) }
        var generator = MergePlanGenerator(
            random,
            troubles.union(.variety),
            peers: peerCount,
            objects: objectCount,
            names: nameCount,
            liar: liar,
            isIntroduced: !plan.traits.contains(.introducedLate)
        )
        plan.steps = (0..<peerCount).compactMap { generator.firstClock(of: $0) }
        var count = 0
        while count < changes {
            let step = generator.step()
            if case .write = step { count += 1 }
            plan.steps.append(step)
        }
        return plan
    }

    private static func random(_ seed: UInt64) -> SplitMix64 {
        SplitMix64(seed: SplitMix64.mixed(seed &+ 3 &* 0x9e37_79b9_7f4a_7c15))
    }

    private init(
        _ random: SplitMix64,
        _ troubles: MergeTroubles,
        peers: Int,
        objects: Int,
        names: Int,
        liar: Int,
        isIntroduced: Bool = true
    ) {
        self.random = random
        self.troubles = troubles
        self.peerCount = peers
        self.objectCount = objects
        self.nameCount = names
        self.liar = liar
        self.written = Array(repeating: isIntroduced ? 1 : 0, count: peers)
        self.peers = (0..<peers).map { peer in
            var arrived = ChainHoldings(chainCount: peers)
            if isIntroduced { arrived.add(ChainHoldings.Place(chain: peer, position: 0)) }
            return Peer(chain: peer, arrived: arrived)
        }
        self.copies = self.peers
    }

    /// The clock that a peer begins with; nil if that is right.
    private mutating func firstClock(of peer: Int) -> MergeStep? {
        if self.troubles.contains(.fastClocks), self.random.chance(30) {
            self.peers[peer].isFast = true
            return .setClock(peer: peer, .ahead)
        }
        guard self.random.chance(50) else { return nil }
        return .setClock(peer: peer, .aheadBy(seconds: UInt8(1 + self.random.below(100))))
    }

    private mutating func step() -> MergeStep {
        var digits = Digits(&self.random)
        let peer = digits.below(self.peerCount)
        let other = (peer + 1 + digits.below(self.peerCount - 1)) % self.peerCount
        let choice = digits.below(100)
        // Where there is variety peers meet less often, and more of what they write is concurrent.
        let hasVariety = self.troubles.contains(.variety)
        var step: MergeStep?
        switch choice {
        case 0..<12: step = self.synchronisation(peer, other)
        case 12..<20 where !hasVariety: step = self.synchronisation(peer, other)
        case 20..<40: step = self.delivery(peer, self.chain(of: other, for: peer, &digits), &digits)
        case 40..<60 where !hasVariety: step = self.delivery(peer, self.chain(of: other, for: peer, &digits), &digits)
        case 60..<64: step = self.repetition(peer, self.chain(of: other, for: peer, &digits), &digits)
        case 64..<68 where self.troubles.contains(.restores):
            self.copies[peer] = self.peers[peer]
            step = .backUp(peer: peer)
        case 68..<72 where self.troubles.contains(.restores): step = self.restoration(peer, of: peer, &digits)
        case 72..<76 where self.troubles.contains(.clocks):
            let settings: [PlannedClock] = [.right, .right, .ahead, .behind]
            step = .setClock(peer: peer, settings[digits.below(settings.count)])
        case 76..<80 where self.troubles.contains(.lies): step = self.lie(&digits)
        case 80..<84 where !self.troubles.isDisjoint(with: [.fastClocks, .rights]): step = self.reopening(peer)
        case 84..<87 where self.troubles.contains(.doubles): step = self.restoration(peer, of: other, &digits)
        case 87 where hasVariety: step = .wait(seconds: 400)
        case 88..<94 where hasVariety && self.troubles.contains(.restores):
            self.copies[peer] = self.peers[peer]
            step = .backUp(peer: peer)
        case 94..<97 where self.troubles.contains(.lies): step = self.lie(&digits)
        case 97... where hasVariety && self.troubles.contains(.restores):
            step = self.restoration(peer, of: peer, &digits)
        default: break
        }
        return step ?? self.write(peer, &digits)
    }

    /// The chain that another peer writes to; now and then any chain that replicas have left.
    private func chain(of other: Int, for peer: Int, _ digits: inout Digits) -> Int {
        guard self.troubles.contains(.variety) else { return other }
        let chain = digits.below(4) == 0 ? digits.below(self.written.count) : self.peers[other].chain
        return chain == peer ? other : chain
    }

    private mutating func synchronisation(_ peer: Int, _ other: Int) -> MergeStep? {
        let news = self.peers[peer].arrived.missing(from: self.peers[other].arrived, first: other)
        for place in news { self.peers[peer].arrived.add(place) }
        return news.isEmpty ? nil : .synchronise(to: peer, from: other)
    }

    private mutating func delivery(_ peer: Int, _ chain: Int, _ digits: inout Digits) -> MergeStep? {
        let total = self.written[chain]
        let missing = self.peers[peer].arrived.missing(of: chain, count: total, total: total)
        guard !missing.isEmpty else { return nil }
        let count = 1 + digits.below(missing.count)
        for place in missing.prefix(count) { self.peers[peer].arrived.add(place) }
        return .deliver(to: peer, chain: chain, count: count)
    }

    /// Hands one change to a peer.
    ///
    /// Where chains fork, the generator does not track if it is taken in: later steps then do less than was meant.
    private mutating func repetition(_ peer: Int, _ chain: Int, _ digits: inout Digits) -> MergeStep? {
        guard self.written[chain] > 0 else { return nil }
        let number = 1 + digits.below(self.written[chain])
        let place = ChainHoldings.Place(chain: chain, position: number - 1)
        if number == self.peers[peer].arrived.counts[chain] + 1 { self.peers[peer].arrived.add(place) }
        return .repeated(to: peer, chain: chain, number: number)
    }

    private func lie(_ digits: inout Digits) -> MergeStep {
        let kind = MergeLie.Kind.allCases[digits.below(MergeLie.Kind.allCases.count)]
        return .lie(peer: self.liar, MergeLie(kind, salt: UInt16(digits.below(1_000))))
    }

    private mutating func restoration(_ peer: Int, of other: Int, _ digits: inout Digits) -> MergeStep? {
        // Chains that fork at their beginning would else be most of those that fork.
        let copy = self.copies[other]
        if self.troubles.contains(.variety), copy.arrived.counts[copy.chain] < 2, digits.below(2) > 0 { return nil }
        let isFast = self.peers[peer].isFast
        self.peers[peer] = copy
        self.peers[peer].isFast = isFast
        return .restore(peer: peer, of: other)
    }

    /// A peer opens a new replica; one whose clock is ahead has its clock put right in the next step that it can.
    private mutating func reopening(_ peer: Int) -> MergeStep? {
        if self.peers[peer].isFast {
            self.peers[peer].isFast = false
            return .setClock(peer: peer, .right)
        }
        guard self.written.count < MergePlanGenerator.chainCountMax else { return nil }
        for number in self.peers.indices {
            self.peers[number].arrived.addChain()
            self.copies[number].arrived.addChain()
        }
        self.peers[peer].chain = self.written.count
        self.written.append(0)
        return .reopen(peer: peer)
    }

    private mutating func write(_ peer: Int, _ digits: inout Digits) -> MergeStep {
        let chain = self.peers[peer].chain
        let place = ChainHoldings.Place(chain: chain, position: self.written[chain])
        self.peers[peer].arrived.add(place)
        self.written[chain] += 1
        if self.peers[peer].isFast { self.fastChanges.append(place) }
        // Often no time passes, so that stamps of different replicas are equal.
        let pause = self.troubles.contains(.standstill) ? 0 : UInt8(max(0, digits.below(5) - 2))
        let counts = self.troubles.contains(.variety) ? [1, 2, 3] : [1, 1, 1, 1, 1, 1, 2, 3]
        let count = counts[digits.below(counts.count)]
        var edits: [PlannedEdit] = []
        edits.reserveCapacity(count)
        for _ in 0..<count { self.addEdit(to: &edits) }
        if self.troubles.contains(.restamps), digits.below(self.troubles.contains(.variety) ? 5 : 6) == 0 {
            let restamp = self.restamp(&digits)
            edits.insert(restamp, at: self.troubles.contains(.variety) && digits.below(2) == 0 ? 0 : edits.count)
        }
        return .write(peer: peer, pause: pause, edits: edits)
    }

    /// Restamps, by right or without, what is there or is not yet; most often what is held, if there is any.
    private func restamp(_ digits: inout Digits) -> PlannedEdit {
        var chain = digits.below(self.written.count)
        var last = 1 + digits.below(min(255, self.written[chain] + 1))
        if !self.fastChanges.isEmpty, digits.below(4) > 0 {
            let held = self.fastChanges[digits.below(self.fastChanges.count)]
            (chain, last) = (held.chain, min(255, held.position + 1))
        }
        let first = 1 + digits.below(last)
        return .restamp(UInt8(chain), from: UInt8(first), to: UInt8(last))
    }

    private mutating func addEdit(to edits: inout [PlannedEdit]) {
        var digits = Digits(&self.random)
        let hasVariety = self.troubles.contains(.variety)
        let object = UInt8(digits.below(self.objectCount))
        let choice = digits.below(100)
        switch choice {
        case 0..<12:
            let sort = hasVariety ? digits.below(PlanVocabulary.sorts.count) : 0
            edits.append(.create(object, sort: UInt8(sort)))
        case 12..<48:
            let name = UInt8(digits.below(self.nameCount))
            if hasVariety, digits.below(2) == 0 {
                edits.append(.setNumber(object, name: name, digits.below(1_000)))
            } else {
                edits.append(.set(object, name: name, value: UInt8(digits.below(PlanVocabulary.values.count))))
            }
        case 48..<55: edits.append(.unset(object, name: UInt8(digits.below(self.nameCount))))
        case 55..<83:
            let parent = digits.below(self.objectCount + 1)
            let position = UInt8(digits.below(PlanVocabulary.positions.count))
            edits.append(.move(object, parent: parent == 0 ? nil : UInt8(parent - 1), position: position))
        case 95..<98 where hasVariety: edits += (0..<UInt8(self.objectCount)).map { .delete($0) }
        case 98... where hasVariety:
            let kind = PlanVocabulary.unknownKinds.lowerBound + UInt8(digits.below(PlanVocabulary.unknownKinds.count))
            let byteCount = UInt8(digits.below(Int(PlanVocabulary.unknownByteCountMax) + 1))
            edits.append(.unknown(kind: kind, byteCount: byteCount))
        default: edits.append(.delete(object))
        }
    }
}
