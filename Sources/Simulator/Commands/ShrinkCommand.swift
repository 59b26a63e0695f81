import ArgumentParser

/// `shrink`: the least that still fails.
struct ShrinkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shrink",
        abstract: "Takes away from a failing seed what it does not need to fail in the same way."
    )

    @Argument(help: "The seed.")
    var seed: UInt64
    @Option(help: "Stop after so many seconds.")
    var seconds = 30.0
    @OptionGroup var world: WorldOptions

    func run() throws {
        let plan = PlanGenerator.plan(ChoiceTape(seed: self.seed), try self.world.limits())
        guard var shrinker = Shrinker(plan, seed: self.seed, seconds: self.seconds) else {
            throw ValidationError("Seed \(self.seed) does not fail.")
        }
        shrinker.shrink()
        for line in shrinker.plan.lines { print(line) }
        let outcome = Simulation.run(shrinker.plan, ChoiceTape(seed: self.seed), seed: self.seed)
        for finding in outcome.record.findings { print("FOUND \(finding.property.rawValue): \(finding.message)") }
        print("\(plan.actions.count) actions became \(shrinker.plan.actions.count) in \(shrinker.runCount) runs")
    }
}
