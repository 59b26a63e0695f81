/// Makes a failing plan smaller as long as it fails in the same way.
struct Shrinker {
    private let seed: UInt64
    private let property: Property
    private(set) var plan: Plan
    /// How many plans were run.
    private(set) var runCount = 0
    private let deadline: Double

    /// - Returns: nil if the plan does not fail.
    init?(_ plan: Plan, seed: UInt64, seconds: Double) {
        guard let finding = Simulation.run(plan, ChoiceTape(seed: seed), seed: seed).record.findings.first else {
            return nil
        }
        self.seed = seed
        self.plan = plan
        self.property = finding.property
        self.deadline = WallClock.seconds() + seconds
    }

    /// Tries to take away actions, many at a time first, then what is left of the surroundings.
    mutating func shrink() {
        var size = max(1, self.plan.actions.count / 2)
        while !self.isOutOfTime {
            let before = self.plan.actions.count
            self.removeActions(by: size)
            if size == 1, self.plan.actions.count == before { break }
            size = max(1, size / 2)
        }
        self.simplifyWrites()
        self.simplifySurroundings()
    }

    private var isOutOfTime: Bool { WallClock.seconds() > self.deadline }

    private mutating func removeActions(by size: Int) {
        var start = 0
        while start < self.plan.actions.count, !self.isOutOfTime {
            var smaller = self.plan
            smaller.actions.removeSubrange(start..<min(start + size, smaller.actions.count))
            if !self.adopt(smaller) { start += size }
        }
    }

    /// Fewer steps in each transaction.
    private mutating func simplifyWrites() {
        for position in self.plan.actions.indices {
            guard case .write(let peer, var steps) = self.plan.actions[position].action else { continue }
            for step in steps.indices.reversed() where steps.count > 1 && !self.isOutOfTime {
                var fewer = steps
                fewer.remove(at: step)
                var smaller = self.plan
                smaller.actions[position].action = .write(peer: peer, fewer)
                if self.adopt(smaller) { steps = fewer }
            }
        }
    }

    /// Plain links, and no faults that change how they are.
    private mutating func simplifySurroundings() {
        var plainer = self.plan
        plainer.topology = .mesh
        plainer.links = .lan
        plainer.faults = []
        _ = self.adopt(plainer)
        var fewer = self.plan
        fewer.peerCount = 1 + (fewer.actions.compactMap(\.action.highestPeer) + fewer.core).reduce(1) { max($0, $1) }
        _ = self.adopt(fewer)
        var shorter = self.plan
        if let last = shorter.actions.last { shorter.duration = last.time + .seconds(1) }
        _ = self.adopt(shorter)
    }

    private mutating func adopt(_ smaller: Plan) -> Bool {
        self.runCount += 1
        let record = Simulation.run(smaller, ChoiceTape(seed: self.seed), seed: self.seed).record
        guard record.findings.first?.property == self.property else { return false }
        self.plan = smaller
        return true
    }
}

extension Action {
    /// The highest number of a peer in it.
    var highestPeer: Int? {
        switch self {
        case .write(let peer, _), .stranger(let peer, _), .clock(let peer, _), .process(let peer, _),
            .disk(let peer, _), .join(let peer), .pair(let peer, _), .leave(let peer):
            return peer
        case .hostile(let peer, let victim, let action):
            if case .equivocate(_, let other, _, _) = action { return max(peer, victim, other) }
            return max(peer, victim)
        case .network(let action):
            switch action {
            case .partition(let groups): return groups.joined().max()
            case .healPartition: return nil
            case .stall(let left, let right, _), .reset(let left, let right), .oneSidedCut(let left, let right, _),
                .dialTogether(let left, let right), .halfOpen(let left, let right, _), .truncate(let left, let right),
                .cut(let left, let right, _), .flipBit(let left, let right, _):
                return max(left, right)
            case .impersonate(let left, let right, _): return max(left, right)
            case .refuseDials(let peer, _): return peer
            }
        }
    }
}
