/// What a caller wants of the plans that are drawn.
package struct PlanLimits: Hashable, Sendable {
    /// The number of peers; nil to draw it.
    package var peerCount: Int?
    /// Who can reach whom; nil to draw it.
    package var topology: Topology?
    /// The faults to choose from.
    package var faults: [Fault] = Fault.allCases
    /// Whether each of them may be switched off.
    var usesAll = false
    /// One edit after another at this rate, in place of bursts.
    package var editsPerSecond: UInt64?
    /// How long the faults go on; nil to draw it.
    package var duration: VirtualTime?

    /// Whether several people use the machines; nil to draw it.
    package var isShared: Bool?

    package init() {}
}

/// Draws a plan from a tape.
package struct PlanGenerator {
    package let tape: ChoiceTape
    package var plan: Plan
    /// Who last touched each object, so that others are drawn to it.
    private var lastTouch: [Int: Int] = [:]
    /// The one that does not keep to the protocol; nil if everyone is in the core.
    let hostilePeer: Int?
    /// Whether little happens: few writes and few faults, in a short time.
    ///
    /// What takes only a few steps to go wrong is then found where nothing else hides it, and many more runs fit into
    /// an hour. (The small scope hypothesis: Jackson, Software Abstractions, 2006.)
    let isSmall: Bool

    private static let objectCount = 6

    package static func plan(_ tape: ChoiceTape, _ limits: PlanLimits) -> Plan {
        var generator = PlanGenerator(tape, limits)
        if let rate = limits.editsPerSecond {
            generator.addSteadyWork(rate)
        } else {
            generator.addWork()
            generator.addCollisions()
            generator.addBranchesBesideWork()
        }
        generator.addFaults()
        generator.addPeople(limits)
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
    package static func faults(_ tape: ChoiceTape, _ limits: PlanLimits) -> Set<Fault> {
        PlanGenerator(tape, limits).plan.faults
    }

    private init(_ tape: ChoiceTape, _ limits: PlanLimits) {
        self.tape = tape
        self.isSmall = tape.chance(75, .plan) && !limits.usesAll
        // Most runs are of at most three peers, and over when these are equal.
        let isFew = tape.chance(70, .plan) || self.isSmall
        let drawn = isFew ? 2 + tape.below(2, .plan) : 2 + tape.below(6, .plan)
        let peerCount = limits.peerCount ?? drawn
        var faults = limits.faults.filter { _ in limits.usesAll || tape.chance(50, .plan) }
        // Most runs are without a hostile member, so that what honest ones do to each other is seen for itself.
        if !tape.chance(60, .plan), !limits.usesAll { faults.removeAll { Fault.hostile.contains($0) } }
        var topology = tape.pick(Topology.allCases, .plan)
        if topology == .sneakernet, !faults.contains(.sneakernet) { topology = .mesh }
        if let wanted = limits.topology { topology = wanted }
        var links: [LinkClass] = [.lan]
        if faults.contains(.slowLinks) { links.append(.wifi) }
        if faults.contains(.mobileLinks) { links += [.mobile, .mixed] }
        if faults.contains(.satelliteLinks) { links.append(.satellite) }
        let coreCount = 2 + tape.below(peerCount - 1, .plan)
        var core = Array(0..<peerCount)
        while core.count > coreCount { core.remove(at: tape.below(core.count, .plan)) }
        let outside = (0..<peerCount).filter { !core.contains($0) }
        let drawnOutside = tape.below(max(1, outside.count), .plan)
        self.hostilePeer = outside.isEmpty ? nil : outside[drawnOutside]
        self.plan = Plan(
            peerCount: peerCount,
            topology: topology,
            links: tape.pick(links, .plan),
            faults: Set(faults),
            checkpointPageCount: tape.pick([1_000, 200, 40], .plan),
            duration: PlanGenerator.duration(tape, isSmall: self.isSmall),
            endsWhenEqual: tape.chance(self.isSmall ? 90 : 75, .plan),
            core: core
        )
        if let duration = limits.duration { self.plan.duration = duration }
    }

    private static func duration(_ tape: ChoiceTape, isSmall: Bool) -> VirtualTime {
        if isSmall { return .seconds(tape.between(2, 10, .plan)) }
        return switch tape.below(10, .plan) {
        case 0..<6: .seconds(tape.between(4, 20, .plan))
        case 6..<9: .seconds(tape.between(20, 60, .plan))
        default: .seconds(tape.between(60, 180, .plan))
        }
    }

    package mutating func add(_ action: Action, at time: VirtualTime) {
        self.plan.actions.append(TimedAction(time: time, action: action))
    }

    /// Any time while the faults go on.
    package func time() -> VirtualTime {
        .milliseconds(self.tape.draw(.plan, below: self.plan.duration.milliseconds))
    }

    package func peer() -> Int { self.tape.below(self.plan.peerCount, .plan) }

    /// Two different peers.
    func pair() -> (Int, Int) {
        let first = self.peer()
        let second = (first + 1 + self.tape.below(self.plan.peerCount - 1, .plan)) % self.plan.peerCount
        return (first, second)
    }

    // MARK: - Work

    /// Bursts of writes: half of them short, few of them long.
    private mutating func addWork() {
        let burstCount = self.isSmall ? 1 + self.tape.below(5, .plan) : 3 + self.tape.below(12, .plan)
        for _ in 0..<burstCount {
            let peer = self.peer()
            var time = self.time()
            let length = self.tape.chance(70, .plan) ? 1 + self.tape.below(4, .plan) : 1 + self.tape.below(20, .plan)
            for _ in 0..<length {
                let steps = (0..<1 + self.tape.below(3, .plan)).map { _ in self.step(peer) }
                self.add(.write(peer: peer, steps), at: time)
                self.addUndo(after: time, by: peer)
                time = time + .milliseconds(self.tape.between(0, 400, .plan))
            }
        }
    }

    /// Several peers at about one time on the same three objects: what each does, the others have not seen.
    private mutating func addCollisions() {
        let collisionCount = self.isSmall ? self.tape.below(2, .plan) : 2 + self.tape.below(3, .plan)
        for _ in 0..<collisionCount {
            let first = self.tape.below(PlanGenerator.objectCount - 2, .plan)
            let objects = Array(first..<first + 3)
            let start = self.time()
            let time = start + .seconds(2)
            self.add(.write(peer: self.peer(), objects.map { .create($0, parent: nil) }), at: start)
            let isApart = !self.plan.faults.isDisjoint(with: [.partition, .isolation]) && self.tape.chance(60, .plan)
            if isApart { self.add(.network(.partition((0..<self.plan.peerCount).map { [$0] })), at: time) }
            for peer in 0..<self.plan.peerCount where self.tape.chance(80, .plan) {
                for _ in 0..<1 + self.tape.below(3, .plan) {
                    let delay = self.tape.between(0, isApart ? 900 : 2, .plan)
                    self.add(.write(peer: peer, [self.collidingStep(objects)]), at: time + .milliseconds(1 + delay))
                }
            }
            if isApart { self.add(.network(.healPartition), at: time + .seconds(1)) }
        }
    }

    private func collidingStep(_ objects: [Int]) -> WorkStep {
        let place = self.tape.below(objects.count, .plan)
        let other = objects[(place + 1 + self.tape.below(objects.count - 1, .plan)) % objects.count]
        switch self.tape.below(10, .plan) {
        case 0..<7: return .move(objects[place], parent: other)
        case 7..<9: return .set(objects[place], property: 0)
        default: return .delete(objects[place])
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

    package mutating func step(_ peer: Int) -> WorkStep {
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
