import ArgumentParser
internal import Simulation

/// The program: worlds that can be replayed, run by the seed.
@main
struct Simulator: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "Simulator",
        abstract: "Runs the production node in deterministic worlds, and looks for properties that do not hold.",
        subcommands: [
            RunSeedsCommand.self, ReplayCommand.self, ShrinkCommand.self, ScenarioCommand.self, LifeCommand.self,
            RelaysCommand.self, CirclesCommand.self, CostsCommand.self,
            ExploreCommand.self, HistoriesCommand.self, WorkerCommand.self, MergeWorkerCommand.self,
        ]
    )
}
