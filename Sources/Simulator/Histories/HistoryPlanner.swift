/// Draws plans.
///
/// It counts what is written and what has arrived, so that every step does something.
struct HistoryPlanner {
    private let tape: ChoiceTape
    private let peerCount: Int
    private let objectCount: Int
    /// How many changes each chain has; the first introduces the device.
    private var written: [Int]
    /// Which changes have arrived at each peer, and had when its database was last copied.
    private var arrived: [HistoryHoldings]
    private var copied: [HistoryHoldings]
    /// What may go wrong.
    private let hasRestores: Bool
    /// Whether no time passes, so that what is written on two branches is stamped alike.
    private let standsStill: Bool
    private let hasClocks: Bool
    private let hasRestamps: Bool

    /// Choices that are made together, as the digits of one number from the tape.
    private struct Digits {
        private var rest: UInt64

        init(_ tape: ChoiceTape) { self.rest = tape.seed() }

        mutating func below(_ bound: Int) -> Int {
            let (quotient, remainder) = self.rest.quotientAndRemainder(dividingBy: UInt64(bound))
            self.rest = quotient
            return Int(remainder)
        }
    }

    /// The plan of a seed.
    static func plan(seed: UInt64, peers: Int, steps: Int) -> HistoryPlan {
        let tape = ChoiceTape(seed: seed)
        var digits = Digits(tape)
        var plan = HistoryPlan(peerCount: peers, steps: [])
        // Of most histories nothing of it, so that little is mixed up in what fails.
        let trouble = digits.below(16)
        let hasRestores = [0, 1, 3, 5].contains(trouble)
        let hasClocks = [2, 3, 4].contains(trouble)
        let hasRestamps = hasClocks || trouble == 5 || trouble == 6
        if trouble == 7 || hasClocks && digits.below(3) == 0 { plan.fastPeer = digits.below(peers) }
        // Few objects, so that what is done apart meets.
        let objectCount = 2 + digits.below(HistoryWorld.objectCount - 1)
        var planner = HistoryPlanner(
            tape,
            peers: peers,
            objectCount: objectCount,
            hasRestores: hasRestores,
            standsStill: trouble < 2,
            hasClocks: hasClocks,
            hasRestamps: hasRestamps
        )
        plan.steps.reserveCapacity(steps)
        for _ in 0..<steps { plan.steps.append(planner.step()) }
        return plan
    }

    private init(
        _ tape: ChoiceTape,
        peers: Int,
        objectCount: Int,
        hasRestores: Bool,
        standsStill: Bool,
        hasClocks: Bool,
        hasRestamps: Bool
    ) {
        self.tape = tape
        self.peerCount = peers
        self.objectCount = objectCount
        self.hasRestores = hasRestores
        self.standsStill = standsStill
        self.hasClocks = hasClocks
        self.hasRestamps = hasRestamps
        self.written = Array(repeating: 1, count: peers)
        self.arrived = (0..<peers).map { peer in
            var holdings = HistoryHoldings(chainCount: peers)
            holdings.add(HistoryHoldings.Place(chain: peer, position: 0))
            return holdings
        }
        self.copied = self.arrived
    }

    private mutating func step() -> HistoryStep {
        var digits = Digits(self.tape)
        let peer = digits.below(self.peerCount)
        let other = (peer + 1 + digits.below(self.peerCount - 1)) % self.peerCount
        let choice = digits.below(100)
        var step: HistoryStep?
        switch choice {
        case 0..<20: step = self.synchronisation(peer, other)
        case 20..<60: step = self.delivery(peer, other, &digits)
        case 60..<64: step = self.repetition(peer, other, &digits)
        case 64..<68 where self.hasRestores:
            self.copied[peer] = self.arrived[peer]
            step = .backUp(peer: peer)
        case 68..<72 where self.hasRestores:
            self.arrived[peer] = self.copied[peer]
            step = .restore(peer: peer)
        case 72..<76 where self.hasClocks:
            let settings: [HistoryClock] = [.right, .right, .ahead, .behind]
            step = .setClock(peer: peer, settings[digits.below(settings.count)])
        default: break
        }
        return step ?? self.write(peer, &digits)
    }

    private mutating func synchronisation(_ peer: Int, _ other: Int) -> HistoryStep? {
        let news = self.arrived[peer].missing(from: self.arrived[other], first: other)
        for place in news { self.arrived[peer].add(place) }
        return news.isEmpty ? nil : .synchronise(to: peer, from: other)
    }

    private mutating func delivery(_ peer: Int, _ chain: Int, _ digits: inout Digits) -> HistoryStep? {
        let total = self.written[chain]
        let missing = self.arrived[peer].missing(of: chain, count: total, total: total)
        guard !missing.isEmpty else { return nil }
        let count = 1 + digits.below(missing.count)
        for place in missing.prefix(count) { self.arrived[peer].add(place) }
        return .deliver(to: peer, chain: chain, count: count)
    }

    /// Whether it is taken in is not followed up where chains fork: what comes later then does less than was meant.
    private mutating func repetition(_ peer: Int, _ chain: Int, _ digits: inout Digits) -> HistoryStep {
        let number = 1 + digits.below(self.written[chain])
        let place = HistoryHoldings.Place(chain: chain, position: number - 1)
        if number == self.arrived[peer].counts[chain] + 1 { self.arrived[peer].add(place) }
        return .repeated(to: peer, chain: chain, number: number)
    }

    private mutating func write(_ peer: Int, _ digits: inout Digits) -> HistoryStep {
        self.arrived[peer].add(HistoryHoldings.Place(chain: peer, position: self.written[peer]))
        self.written[peer] += 1
        // Often no time passes, so that stamps of different replicas are equal.
        let pause = self.standsStill ? 0 : UInt8(max(0, digits.below(5) - 2))
        let count = [1, 1, 1, 1, 1, 1, 2, 3][digits.below(8)]
        var edits: [HistoryEdit] = []
        edits.reserveCapacity(count)
        for _ in 0..<count { edits.append(self.edit()) }
        if self.hasRestamps, digits.below(6) == 0 {
            // By right or without, of what is there or is not yet.
            let chain = digits.below(self.peerCount)
            let last = 1 + digits.below(min(255, self.written[chain] + 1))
            let first = 1 + digits.below(last)
            edits.append(.restamp(UInt8(chain), from: UInt8(first), to: UInt8(last)))
        }
        return .write(peer: peer, pause: pause, edits: edits)
    }

    private func edit() -> HistoryEdit {
        var digits = Digits(self.tape)
        let object = UInt8(digits.below(self.objectCount))
        switch digits.below(100) {
        case 0..<12: return .create(object)
        case 12..<48:
            let name = UInt8(digits.below(HistoryWorld.names.count))
            return .set(object, name: name, value: UInt8(digits.below(HistoryWorld.values.count)))
        case 48..<55: return .unset(object, name: UInt8(digits.below(HistoryWorld.names.count)))
        case 55..<83:
            let parent = digits.below(self.objectCount + 1)
            let position = UInt8(digits.below(HistoryWorld.positions.count))
            return .move(object, parent: parent == 0 ? nil : UInt8(parent - 1), position: position)
        default: return .delete(object)
        }
    }
}
