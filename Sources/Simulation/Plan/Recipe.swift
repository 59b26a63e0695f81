/// A plan and what it is run with: all that a run follows from.
package struct Recipe: Hashable, Sendable {
    package var plan: Plan
    /// Of the tape, from which everything comes that the plan leaves open.
    package var seed: UInt64
    /// Whether all that is drawn for the network is 0, the simplest.
    var isNetworkPlain = false

    package init(_ plan: Plan, seed: UInt64, isNetworkPlain: Bool = false) {
        self.plan = plan
        self.seed = seed
        self.isNetworkPlain = isNetworkPlain
    }

    /// What a seed makes: in a third of the worlds the machines have the limits that users get.
    package init(seed: UInt64, limits: PlanLimits) {
        var plan = PlanGenerator.plan(ChoiceTape(seed: seed), limits)
        plan.hasShippedLimits = seed.isMultiple(of: 3)
        self.init(plan, seed: seed)
    }

    /// - Returns: nil if the scenario is more than a plan.
    package init?(_ scenario: Scenario) {
        guard let last = scenario.statements.last, let duration = last.time, case .settle(let core) = last.content
        else { return nil }
        var actions: [TimedAction] = []
        for statement in scenario.statements.dropLast() {
            guard let time = statement.time, case .action(let action) = statement.content else { return nil }
            actions.append(TimedAction(time: time, action: action))
        }
        let plan = Plan(of: scenario, duration: duration, actions: actions, core: core)
        self.init(plan, seed: scenario.seed, isNetworkPlain: scenario.isNetworkPlain)
    }

    /// The same as a scenario: each action at its time, and the end of the faults as the last.
    package var scenario: Scenario {
        var scenario = Scenario()
        scenario.peers = (0..<self.plan.peerCount).map { ScenarioText.peer($0) }
        scenario.users = self.plan.users
        scenario.topology = self.plan.topology
        scenario.links = self.plan.links
        scenario.faults = self.plan.faults
        scenario.checkpointPageCount = self.plan.checkpointPageCount
        scenario.hasShippedLimits = self.plan.hasShippedLimits
        scenario.endsWhenEqual = self.plan.endsWhenEqual
        scenario.seed = self.seed
        scenario.isNetworkPlain = self.isNetworkPlain
        for timed in self.plan.actions { scenario.add(.action(timed.action), at: timed.time) }
        scenario.add(.settle(core: self.plan.core), at: self.plan.duration)
        return scenario
    }
}

extension Scenario {
    package mutating func add(_ content: Content, at time: VirtualTime?) {
        self.statements.append(Statement(line: self.statements.count + 1, time: time, content: content))
    }
}
