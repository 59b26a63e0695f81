/// One run from its seed to its verdict.
package struct Simulation {
    /// When the actions of a plan begin: after everyone has joined.
    static let preparation = VirtualTime.seconds(2)

    /// Runs a seed.
    package static func run(seed: UInt64, limits: PlanLimits = PlanLimits()) -> RunOutcome {
        let tape = ChoiceTape(seed: seed)
        return self.run(PlanGenerator.plan(tape, limits), tape)
    }

    /// Runs a plan, with what it leaves open taken from a tape.
    package static func run(_ plan: Plan, _ tape: ChoiceTape, isTraced: Bool = false) -> RunOutcome {
        let world = World(plan: plan, tape: tape)
        if isTraced { world.trace = Trace() }
        world.begin()
        world.run(until: Simulation.preparation + plan.duration)
        if !world.record.hasFatalFinding { world.settle(core: plan.core) }
        return RunOutcome(of: world)
    }
}

extension World {
    /// Lets everyone join, and makes everything happen in its time that the plan says.
    package func begin() {
        self.found()
        for number in 1..<max(1, self.plan.peerCount) {
            // By whom it can reach: of the others it hears from him, and they of it.
            let user = self.plan.user(of: number)
            let isNew = !(0..<number).contains { self.plan.user(of: $0) == user }
            // The founder lets in other people, and everybody machines of his own.
            let inviters = (0..<number).filter { self.plan.user(of: $0) == (isNew ? 0 : user) }
            let inviter = inviters.first { self.network.hasLink($0, number) } ?? inviters[0]
            self.join(self.machines[inviter], person: isNew ? "person\(user)" : nil)
        }
        self.run(until: Simulation.preparation)
        for timed in self.plan.actions {
            self.schedule(at: Simulation.preparation + timed.time) { world in
                guard world.isFaulty else { return }
                world.trace?.add(timed.action, at: world.time)
                world.perform(timed.action)
            }
        }
        self.scheduleInspection()
    }
}
