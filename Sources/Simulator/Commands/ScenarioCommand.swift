import ArgumentParser
import Foundation

/// `scenario`: runs written down by people.
struct ScenarioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scenario",
        abstract: "Runs scenario files and says which of their expectations were not met."
    )

    @Argument(help: "The files.")
    var files: [String]

    func run() throws {
        var failureCount = 0
        for file in self.files {
            let text = try String(contentsOfFile: file, encoding: .utf8)
            do throws(ScenarioError) {
                let outcome = ScenarioRunner.run(try ScenarioParser.parse(text))
                print(outcome.failure.map { "\(file): \($0)" } ?? "\(file): passed")
                if !outcome.isPassed { failureCount += 1 }
            } catch {
                print("\(file): \(error)")
                failureCount += 1
            }
        }
        if failureCount > 0 { throw ExitCode.failure }
    }
}
