import ArgumentParser
internal import CRDTCore
internal import Simulation

/// `shrink`: the least that still fails.
struct ShrinkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shrink",
        abstract: "Reduces a failing seed to a short scenario that fails in the same way."
    )

    @Argument(help: "The seed.")
    var seed: UInt64
    @Option(help: "Stop after so many seconds.")
    var seconds = 30.0
    @Option(help: ArgumentHelp("Write the scenario to a file.", valueName: "file"))
    var out: String?
    @OptionGroup var world: WorldOptions
    @Flag(help: "Print the result as JSON.")
    var json = false

    func run() throws {
        let start = WallClock.seconds()
        let recipe = Recipe(seed: self.seed, limits: try self.world.limits())
        // What traps, or does not come to an end, must not take this process along.
        let patience = max(2, min(10, self.seconds / 3))
        var launch = SeedWorker.Launch.ofThisProgram(self.world.text, patienceSeconds: patience)
        launch.tellsWhere = false
        let worker = ScenarioWorker(launch)
        let made = Shrinker(recipe, seconds: self.seconds) { worker.verdict($0, watchesSilence: $1) }
        if let failure = worker.launchFailure { throw ValidationError("A worker cannot be started: \(failure)") }
        guard var shrinker = made else {
            StandardError.write("seed \(self.seed) does not fail")
            throw ExitCode.failure
        }
        let scenario = shrinker.shrink()
        let wall = WallClock.seconds() - start
        let origin = "seed \(self.seed)\(self.world.text), commit \(Checkout.commit)"
        let remark = "# \(shrinker.finding.property.rawValue): \(origin), plan \(recipe.scenario.meaningHash)"
        let lines = [remark] + scenario.lines
        if let out { try OutputFile.write(lines.joined(separator: "\n") + "\n", to: out) }
        if self.json {
            print(self.json(shrinker, recipe, scenario, lines, wall).text)
        } else {
            if out == nil { for line in lines { print(line) } }
            StandardError.write(
                "\(shrinker.finding)\n\(recipe.plan.actions.count) actions of \(recipe.plan.peerCount) peers became "
                    + "\(lines.count) lines and \(scenario.peers.count) peers in \(shrinker.runCount) runs, "
                    + "\(Int(wall * 1_000)) ms"
            )
        }
    }

    private func json(
        _ shrinker: Shrinker,
        _ recipe: Recipe,
        _ scenario: Scenario,
        _ lines: [String],
        _ wall: Double
    ) -> JSON {
        .object([
            "seed": .string(String(self.seed)),
            "commit": .string(Checkout.commit),
            "plan": .string(recipe.scenario.meaningHash),
            "property": .string(shrinker.finding.property.rawValue),
            "message": .string(shrinker.finding.message),
            "actions_before": .int(Int64(recipe.plan.actions.count)),
            "peers_before": .int(Int64(recipe.plan.peerCount)),
            "lines": .int(Int64(lines.count)),
            "peers": .int(Int64(scenario.peers.count)),
            "runs": .int(Int64(shrinker.runCount)),
            "wall_milliseconds": .int(Int64(wall * 1_000)),
            "scenario_hash": .string(scenario.meaningHash),
            "scenario": .array(lines.map { .string($0) }),
        ])
    }
}
