import ArgumentParser
internal import Simulation

/// The program: worlds that can be replayed, run by the seed.
@main
struct Simulator: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "Simulator",
        abstract: "Runs the production node in deterministic worlds, and looks for properties that do not hold.",
        subcommands: [
            RunCommand.self, ReplayCommand.self, ShrinkCommand.self, ScenarioCommand.self, LifeCommand.self,
            RelaysCommand.self, CostsCommand.self,
            ExploreCommand.self, HistoriesCommand.self, MutantsCommand.self, WorkerCommand.self,
            MergeWorkerCommand.self,
        ] + Simulator.hiddenCommands
    )

    #if PLANTED_BUGS
    private static let hiddenCommands: [any ParsableCommand.Type] = [HuntCommand.self]

    static func main() { self.main(PlantedOption.takeOut(of: Array(CommandLine.arguments.dropFirst()))) }
    #else
    private static let hiddenCommands: [any ParsableCommand.Type] = []
    #endif
}
