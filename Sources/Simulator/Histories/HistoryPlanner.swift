/// Draws plans.
///
/// It counts what is written and what has arrived, so that every step does something.
struct HistoryPlanner {
    private let tape: ChoiceTape
    private let peerCount: Int
    private let objectCount: Int
    /// How many changes each chain has; the first introduces the device.
    private var written: [Int]
    /// How many changes of each chain have arrived at each peer, one peer after the other.
    private var arrived: [Int]

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
        if digits.below(16) == 1 { plan.fastPeer = digits.below(peers) }
        // Few objects, so that what is done apart meets.
        let objectCount = 2 + digits.below(HistoryWorld.objectCount - 1)
        var planner = HistoryPlanner(tape, peers: peers, objectCount: objectCount)
        plan.steps.reserveCapacity(steps)
        for _ in 0..<steps { plan.steps.append(planner.step()) }
        return plan
    }

    private init(_ tape: ChoiceTape, peers: Int, objectCount: Int) {
        self.tape = tape
        self.peerCount = peers
        self.objectCount = objectCount
        self.written = Array(repeating: 1, count: peers)
        self.arrived = Array(repeating: 0, count: peers * peers)
        for peer in 0..<peers { self.arrived[peer * peers + peer] = 1 }
    }

    private mutating func step() -> HistoryStep {
        var digits = Digits(self.tape)
        let peer = digits.below(self.peerCount)
        let other = (peer + 1 + digits.below(self.peerCount - 1)) % self.peerCount
        let delivery: HistoryStep?
        switch digits.below(100) {
        case 0..<20: delivery = self.synchronisation(peer, other)
        case 20..<60: delivery = self.delivery(peer, other, &digits)
        case 60..<64: delivery = self.repetition(peer, other, &digits)
        default: delivery = nil
        }
        return delivery ?? self.write(peer, &digits)
    }

    private mutating func synchronisation(_ peer: Int, _ other: Int) -> HistoryStep? {
        var hasNews = false
        for chain in 0..<self.peerCount {
            let there = self.arrived[other * self.peerCount + chain]
            if there > self.arrived[peer * self.peerCount + chain] {
                self.arrived[peer * self.peerCount + chain] = there
                hasNews = true
            }
        }
        return hasNews ? .synchronise(to: peer, from: other) : nil
    }

    private mutating func delivery(_ peer: Int, _ chain: Int, _ digits: inout Digits) -> HistoryStep? {
        let missing = self.written[chain] - self.arrived[peer * self.peerCount + chain]
        guard missing > 0 else { return nil }
        let count = 1 + digits.below(missing)
        self.arrived[peer * self.peerCount + chain] += count
        return .deliver(to: peer, chain: chain, count: count)
    }

    private mutating func repetition(_ peer: Int, _ chain: Int, _ digits: inout Digits) -> HistoryStep {
        let sequence = 1 + digits.below(self.written[chain])
        let place = peer * self.peerCount + chain
        if sequence == self.arrived[place] + 1 { self.arrived[place] += 1 }
        return .repeated(to: peer, chain: chain, sequence: sequence)
    }

    private mutating func write(_ peer: Int, _ digits: inout Digits) -> HistoryStep {
        self.written[peer] += 1
        self.arrived[peer * self.peerCount + peer] += 1
        // Often no time passes, so that stamps of different replicas are equal.
        let pause = UInt8(max(0, digits.below(5) - 2))
        let count = [1, 1, 1, 1, 1, 1, 2, 3][digits.below(8)]
        var edits: [HistoryEdit] = []
        edits.reserveCapacity(count)
        for _ in 0..<count { edits.append(self.edit()) }
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
