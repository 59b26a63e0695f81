internal import CRDTCore
internal import Engine

/// Makes a scenario happen.
package struct ScenarioRunner {
    /// The time from one statement to the next.
    private static let pace = VirtualTime.milliseconds(20)

    let world: World
    /// The only machines that something is expected of; nil if it is of all.
    var only: [Int]?
    private let hasExpectations: Bool

    /// `watchesSilence`: whether equal machines are watched for saying nothing more, which takes the longest.
    package static func run(_ scenario: Scenario, watchesSilence: Bool = true, isTraced: Bool = false) -> RunOutcome {
        let runner = ScenarioRunner(scenario)
        runner.world.watchesSilence = watchesSilence
        if isTraced { runner.world.trace = Trace() }
        let failure = runner.perform(scenario)
        var outcome = RunOutcome(of: runner.world)
        outcome.failure = failure
        return outcome
    }

    private init(_ scenario: Scenario) {
        let core = Array(scenario.peers.indices)
        let plan = Plan(of: scenario, duration: .zero, actions: scenario.timedActions, core: core)
        let tape = ChoiceTape(seed: scenario.seed, plain: scenario.isNetworkPlain ? [.network] : [])
        self.world = World(plan: plan, tape: tape)
        self.world.comparesAll = true
        let isShared = scenario.statements.contains { statement in
            if case .action(let action) = statement.content { action.isSharing } else { false }
        }
        if isShared { self.world.isShared = true }
        self.hasExpectations = scenario.statements.contains { if case .expect = $0.content { true } else { false } }
    }

    private func perform(_ scenario: Scenario) -> ScenarioError? {
        self.world.begin()
        for statement in scenario.statements {
            if let time = statement.time { self.world.run(until: Simulation.preparation + time) }
            if let failure = self.perform(statement) ?? self.finding(statement) { return failure }
            // What has a time of its own leaves none behind it.
            if statement.time == nil { self.world.run(until: self.world.time + ScenarioRunner.pace) }
        }
        return nil
    }

    private func perform(_ statement: Scenario.Statement) -> ScenarioError? {
        switch statement.content {
        case .action(let action):
            // Those with a time are performed by the queue.
            guard statement.time == nil else { return nil }
            self.world.trace?.add(action, at: self.world.time)
            self.world.perform(action)
            self.world.updateTrace()
        case .wait(let length): self.world.run(until: self.world.time + length)
        case .settle(let core):
            if self.world.record.hasFatalFinding { return nil }
            self.world.settle(core: core)
            self.world.isFaulty = true
            self.world.scheduleInspection()
            if self.hasExpectations, self.world.record.marks.contains(.strangersLeft) {
                let message = "some of these peers have never heard of another"
                return ScenarioError(line: statement.line, message: message)
            }
        case .expect(let expectation):
            if let message = self.contradiction(to: expectation) {
                return ScenarioError(line: statement.line, message: message)
            }
        }
        return nil
    }

    private func finding(_ statement: Scenario.Statement) -> ScenarioError? {
        self.world.record.findings.first.map { ScenarioError(line: statement.line, message: "\($0)") }
    }
}
