import ArgumentParser
internal import CRDTCore
internal import Simulation

/// `replay`: one seed, with all it did.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Runs one seed, and prints its plan as a scenario and its result."
    )

    @Argument(help: "The seed.")
    var seed: UInt64
    @OptionGroup var world: WorldOptions
    @OptionGroup var pictures: PictureOptions
    @Option(help: ArgumentHelp("Refuse to run if the seed draws another plan in this build.", valueName: "hash"))
    var plan: String?
    @Flag(help: "Print the result as JSON.")
    var json = false

    func run() throws {
        let tape = ChoiceTape(seed: self.seed)
        let recipe = Recipe(PlanGenerator.plan(tape, try self.world.limits()), seed: self.seed)
        let hash = recipe.scenario.meaningHash
        if let plan, plan != hash {
            StandardError.write("seed \(self.seed) draws plan \(hash) in this build (\(Checkout.commit)), not \(plan)")
            throw ExitCode.failure
        }
        let outcome = Simulation.run(recipe.plan, tape, isTraced: self.pictures.areWanted)
        if let trace = outcome.trace {
            try self.pictures.make(trace, title: "Simulator replay \(self.seed)\(self.world.text)")
        }
        let line = Checkout.replayLine(seed: self.seed, self.world)
        if self.json {
            var members = outcome.members
            members["seed"] = .string(String(self.seed))
            members["plan"] = .string(hash)
            members["commit"] = .string(Checkout.commit)
            members["replay"] = .string(line)
            members["scenario"] = .array(recipe.scenario.lines.map { .string($0) })
            print(JSON.object(members).text)
        } else {
            print("# \(line)")
            for line in recipe.scenario.lines + [""] + outcome.lines { print(line) }
        }
        if !outcome.record.findings.isEmpty { throw ExitCode.failure }
    }
}
