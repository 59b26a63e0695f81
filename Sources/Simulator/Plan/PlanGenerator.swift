/// What a caller wants of the plans that are drawn.
struct PlanLimits: Hashable, Sendable {
    /// The number of peers; nil to draw it.
    var peerCount: Int?
    /// The faults to choose from.
    var faults: [Fault] = Fault.usual
    /// Whether each of them may be switched off.
    var usesAll = false
    /// One edit after another at this rate, in place of bursts.
    var editsPerSecond: UInt64?
}

/// Draws a plan from a tape.
struct PlanGenerator {
    let tape: ChoiceTape
    var plan: Plan
    /// Who last touched each object, so that others are drawn to it.
    private var lastTouch: [Int: Int] = [:]
    /// The one whose clock may be far ahead, where only one may.
    let aheadPeer: Int

    private static let objectCount = 6

    static func plan(_ tape: ChoiceTape, _ limits: PlanLimits) -> Plan {
        var generator = PlanGenerator(tape, limits)
        if let rate = limits.editsPerSecond { generator.addSteadyWork(rate) } else { generator.addWork() }
        generator.addFaults()
        // A stable order: what was drawn first comes first.
        let indexed = generator.plan.actions.enumerated().sorted {
            ($0.element.time, $0.offset) < ($1.element.time, $1.offset)
        }
        // What comes when the faults are over never happens, and a fault that is an action is on by being there.
        generator.plan.actions = indexed.map(\.element).filter { $0.time <= generator.plan.duration }
        generator.plan.faults.formIntersection(Fault.switches)
        return generator.plan
    }

    /// All the faults that are on in the plan that a tape makes.
    static func faults(_ tape: ChoiceTape, _ limits: PlanLimits) -> Set<Fault> {
        PlanGenerator(tape, limits).plan.faults
    }

    private init(_ tape: ChoiceTape, _ limits: PlanLimits) {
        self.tape = tape
        // Small wins: half of all runs have at most three peers.
        let drawn = tape.chance(50, .plan) ? 2 + tape.below(2, .plan) : 2 + tape.below(6, .plan)
        let peerCount = limits.peerCount ?? drawn
        var faults = limits.faults.filter { _ in limits.usesAll || tape.chance(50, .plan) }
        let dropped = tape.chance(50, .plan) ? Fault.copies : Fault.wrongClocks
        let hasBoth = !Fault.copies.isDisjoint(with: faults) && !Fault.wrongClocks.isDisjoint(with: faults)
        if hasBoth, !faults.contains(.clocksBeyondRepair) { faults.removeAll { dropped.contains($0) } }
        var topology = tape.pick(Topology.allCases, .plan)
        if topology == .sneakernet, !faults.contains(.sneakernet) { topology = .mesh }
        var links: [LinkClass] = [.lan]
        if faults.contains(.slowLinks) { links.append(.wifi) }
        if faults.contains(.mobileLinks) { links += [.mobile, .mixed] }
        if faults.contains(.satelliteLinks) { links.append(.satellite) }
        let coreCount = 2 + tape.below(peerCount - 1, .plan)
        var core = Array(0..<peerCount)
        while core.count > coreCount { core.remove(at: tape.below(core.count, .plan)) }
        self.aheadPeer = tape.below(peerCount, .plan)
        self.plan = Plan(
            peerCount: peerCount,
            topology: topology,
            links: tape.pick(links, .plan),
            faults: Set(faults),
            checkpointPageCount: tape.pick([1_000, 200, 40], .plan),
            duration: .seconds(tape.between(20, 180, .plan)),
            actions: [],
            core: core
        )
    }

    mutating func add(_ action: Action, at time: VirtualTime) {
        self.plan.actions.append(TimedAction(time: time, action: action))
    }

    /// Any time while the faults go on.
    func time() -> VirtualTime {
        .milliseconds(self.tape.draw(.plan, below: self.plan.duration.milliseconds))
    }

    func peer() -> Int { self.tape.below(self.plan.peerCount, .plan) }

    /// Two different peers.
    func pair() -> (Int, Int) {
        let first = self.peer()
        let second = (first + 1 + self.tape.below(self.plan.peerCount - 1, .plan)) % self.plan.peerCount
        return (first, second)
    }

    // MARK: - Work

    /// Bursts of writes: half of them short, few of them long.
    private mutating func addWork() {
        let burstCount = 3 + self.tape.below(12, .plan)
        for _ in 0..<burstCount {
            let peer = self.peer()
            var time = self.time()
            let length = self.tape.chance(70, .plan) ? 1 + self.tape.below(4, .plan) : 1 + self.tape.below(20, .plan)
            for _ in 0..<length {
                let steps = (0..<1 + self.tape.below(3, .plan)).map { _ in self.step(peer) }
                self.add(.write(peer: peer, steps), at: time)
                time = time + .milliseconds(self.tape.between(0, 400, .plan))
            }
        }
    }

    private mutating func addSteadyWork(_ editsPerSecond: UInt64) {
        let interval = VirtualTime.microseconds(1_000_000 / max(1, editsPerSecond))
        var time = VirtualTime.zero
        while time < self.plan.duration {
            let peer = self.peer()
            self.add(.write(peer: peer, [self.step(peer)]), at: time)
            time = time + interval
        }
    }

    private mutating func step(_ peer: Int) -> WorkStep {
        let kind = self.tape.below(100, .plan)
        switch kind {
        case 0..<15:
            let parent = self.tape.chance(50, .plan) ? self.tape.below(PlanGenerator.objectCount, .plan) : nil
            return .create(self.touch(self.tape.below(PlanGenerator.objectCount, .plan), peer), parent: parent)
        case 15..<50:
            let object = self.touch(self.tape.below(PlanGenerator.objectCount, .plan), peer)
            return .set(object, property: self.tape.below(3, .plan))
        case 50..<58: return .unset(self.touch(self.contested(peer), peer), property: self.tape.below(3, .plan))
        case 58..<80:
            let parent = self.tape.chance(80, .plan) ? self.tape.below(PlanGenerator.objectCount, .plan) : nil
            return .move(self.touch(self.contested(peer), peer), parent: parent)
        case 80..<92: return .delete(self.touch(self.contested(peer), peer))
        default: return .twins
        }
    }

    private mutating func touch(_ object: Int, _ peer: Int) -> Int {
        self.lastTouch[object] = peer
        return object
    }

    /// An object that another peer touched last, mostly.
    private func contested(_ peer: Int) -> Int {
        let others = (0..<PlanGenerator.objectCount).filter { self.lastTouch[$0].map { $0 != peer } ?? false }
        if !others.isEmpty, self.tape.chance(70, .plan) { return self.tape.pick(others, .plan) }
        return self.tape.below(PlanGenerator.objectCount, .plan)
    }
}
