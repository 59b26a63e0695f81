internal import CRDTCore

/// A random history: who writes what, and what arrives where and when. In the end everything arrives everywhere.
struct HistoryPlan: Hashable, Sendable {
    var peerCount: Int
    /// A peer whose clock is so far ahead that others hold what it writes.
    var fastPeer: Int?
    var steps: [HistoryStep]

    /// How many peers there may be.
    static let peerCounts = 2...7

    /// The plan as one word: `3@2:0c1,0<1.4,…`; the peers, the one whose clock is ahead, and the steps.
    var name: String {
        let fast = self.fastPeer.map { "@\($0)" } ?? ""
        return "\(self.peerCount)\(fast):" + self.steps.map(\.description).joined(separator: ",")
    }

    init(peerCount: Int, fastPeer: Int? = nil, steps: [HistoryStep]) {
        self.peerCount = peerCount
        self.fastPeer = fastPeer
        self.steps = steps
    }

    init(named name: String) throws(UnknownCase) {
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        let peers = parts[0].split(separator: "@", omittingEmptySubsequences: false)
        let steps = parts.dropFirst().first?.split(separator: ",").map { HistoryStepReader.step($0) } ?? []
        guard parts.count == 2, peers.count <= 2, let peerCount = Int(peers[0]),
            HistoryPlan.peerCounts.contains(peerCount), steps.allSatisfy({ $0 != nil })
        else { throw UnknownCase(name: name) }
        self.init(peerCount: peerCount, steps: steps.compactMap { $0 })
        if peers.count == 2 {
            guard let fastPeer = Int(peers[1]) else { throw UnknownCase(name: name) }
            self.fastPeer = fastPeer
        }
        guard self.isPossible else { throw UnknownCase(name: name) }
    }

    /// Whether all that is named exists.
    var isPossible: Bool {
        func isObject(_ number: UInt8) -> Bool { number < HistoryWorld.objectCount }
        func isPossible(_ edit: HistoryEdit) -> Bool {
            switch edit {
            case .create(let object), .delete(let object): isObject(object)
            case .set(let object, let name, let value):
                isObject(object) && HistoryWorld.names.indices.contains(Int(name))
                    && HistoryWorld.values.indices.contains(Int(value))
            case .unset(let object, let name): isObject(object) && HistoryWorld.names.indices.contains(Int(name))
            case .move(let object, let parent, let position):
                isObject(object) && parent.map { isObject($0) } ?? true
                    && HistoryWorld.positions.indices.contains(Int(position))
            }
        }
        let peers = 0..<self.peerCount
        guard self.fastPeer.map({ peers.contains($0) }) ?? true else { return false }
        return self.steps.allSatisfy { step in
            switch step {
            case .write(let peer, _, let edits): peers.contains(peer) && edits.allSatisfy { isPossible($0) }
            case .deliver(let peer, let chain, let count):
                peers.contains(peer) && peers.contains(chain) && peer != chain && count > 0
            case .synchronise(let peer, let other): peers.contains(peer) && peers.contains(other) && peer != other
            case .repeated(let peer, let chain, let sequence):
                peers.contains(peer) && peers.contains(chain) && sequence > 0
            }
        }
    }
}

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

    /// The plan of a seed.
    static func plan(seed: UInt64, peers: Int, steps: Int) -> HistoryPlan {
        let tape = ChoiceTape(seed: seed)
        var plan = HistoryPlan(peerCount: peers, steps: [])
        if tape.below(16, .plan) == 1 { plan.fastPeer = tape.below(peers, .plan) }
        var planner = HistoryPlanner(tape, peers: peers)
        plan.steps.reserveCapacity(steps)
        for _ in 0..<steps { plan.steps.append(planner.step()) }
        return plan
    }

    private init(_ tape: ChoiceTape, peers: Int) {
        self.tape = tape
        self.peerCount = peers
        // Few, so that what is done apart meets.
        self.objectCount = 2 + tape.below(HistoryWorld.objectCount - 1, .plan)
        self.written = Array(repeating: 1, count: peers)
        self.arrived = Array(repeating: 0, count: peers * peers)
        for peer in 0..<peers { self.arrived[peer * peers + peer] = 1 }
    }

    private func below(_ bound: Int) -> Int { self.tape.below(bound, .plan) }

    private mutating func step() -> HistoryStep {
        let peer = self.below(self.peerCount)
        switch self.below(100) {
        case 0..<12: return self.synchronisation(peer) ?? self.write(peer)
        case 12..<37: return self.delivery(peer) ?? self.write(peer)
        case 37..<40: return self.repetition(peer)
        default: return self.write(peer)
        }
    }

    private func other(_ peer: Int) -> Int { (peer + 1 + self.below(self.peerCount - 1)) % self.peerCount }

    private mutating func synchronisation(_ peer: Int) -> HistoryStep? {
        let other = self.other(peer)
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

    private mutating func delivery(_ peer: Int) -> HistoryStep? {
        let chain = self.other(peer)
        let missing = self.written[chain] - self.arrived[peer * self.peerCount + chain]
        guard missing > 0 else { return nil }
        let count = 1 + self.below(missing)
        self.arrived[peer * self.peerCount + chain] += count
        return .deliver(to: peer, chain: chain, count: count)
    }

    private mutating func repetition(_ peer: Int) -> HistoryStep {
        let chain = self.other(peer)
        let sequence = 1 + self.below(self.written[chain])
        let place = peer * self.peerCount + chain
        if sequence == self.arrived[place] + 1 { self.arrived[place] += 1 }
        return .repeated(to: peer, chain: chain, sequence: sequence)
    }

    private mutating func write(_ peer: Int) -> HistoryStep {
        self.written[peer] += 1
        self.arrived[peer * self.peerCount + peer] += 1
        // Often no time passes, so that stamps of different replicas are equal.
        let pause = UInt8(max(0, self.below(5) - 2))
        var edits = [self.edit()]
        if self.below(4) == 1 {
            edits.append(self.edit())
            if self.below(2) == 1 { edits.append(self.edit()) }
        }
        return .write(peer: peer, pause: pause, edits: edits)
    }

    private func edit() -> HistoryEdit {
        let object = UInt8(self.below(self.objectCount))
        switch self.below(100) {
        case 0..<12: return .create(object)
        case 12..<48: return .set(object, name: self.name(), value: UInt8(self.below(HistoryWorld.values.count)))
        case 48..<55: return .unset(object, name: self.name())
        case 55..<83:
            let parent = self.below(self.objectCount + 1)
            return .move(
                object,
                parent: parent == 0 ? nil : UInt8(parent - 1),
                position: UInt8(self.below(HistoryWorld.positions.count))
            )
        default: return .delete(object)
        }
    }

    private func name() -> UInt8 { UInt8(self.below(HistoryWorld.names.count)) }
}
