import ArgumentParser
internal import CRDTCore
import Foundation
internal import Simulation

/// `life`: long and large runs, each with a habit of people that no random plan has.
struct LifeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "life",
        abstract: "Runs long and large scenarios, and prints their durations and sizes.",
        discussion: """
            A life is a scenario file that repeats what people do day after day: they toggle a flag in turn, put notes \
            at one place, fill and empty folders, restore databases. At its end a newcomer must get all of it. Without \
            files, the command runs those of Tests/SimulatorTests/Lives.
            """
    )

    private static let folder = "Tests/SimulatorTests/Lives"

    @Argument(help: "Scenario files.")
    var files: [String] = []

    func run() throws {
        var files = self.files
        if files.isEmpty {
            files = try FileManager.default.contentsOfDirectory(atPath: Self.folder)
                .filter { $0.hasSuffix(".scn") }.sorted().map { "\(Self.folder)/\($0)" }
        }
        print(Self.row("life", "simulated", "events", "writes", "took", ""))
        var failureCount = 0
        for file in files {
            let scenario = try ScenarioParser.parse(try InputFile.text(at: file))
            let start = ContinuousClock.now
            let outcome = ScenarioRunner.run(scenario)
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            let name = (file as NSString).lastPathComponent.replacingOccurrences(of: ".scn", with: "")
            let writeCount = scenario.statements.count { statement in
                if case .action(.write) = statement.content { true } else { false }
            }
            print(
                Self.row(
                    name,
                    outcome.simulated.word,
                    "\(outcome.eventCount)",
                    "\(writeCount)",
                    String(format: "%.1f s", seconds),
                    outcome.failure.map { "\($0)" } ?? ""
                )
            )
            if !outcome.isPassed { failureCount += 1 }
        }
        if failureCount > 0 { throw ExitCode.failure }
    }

    private static func row(_ cells: String...) -> String {
        let widths = [26, 12, 9, 8, 9, 0]
        return zip(cells, widths).map { $0.padding(toLength: max($0.count, $1), withPad: " ", startingAt: 0) }
            .joined(separator: " ")
    }
}
