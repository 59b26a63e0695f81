import ArgumentParser
internal import CRDTCore
import Foundation
internal import Simulation

/// `scenario`: runs written down by people.
struct ScenarioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scenario",
        abstract: "Runs scenario files, and lists the expectations that were not met."
    )

    @Argument(help: "The files.")
    var files: [String]
    @OptionGroup var pictures: PictureOptions
    @Flag(help: "Print the result of each run as a line of JSON.")
    var json = false

    func run() throws {
        var failureCount = 0
        let texts = try self.files.map { try InputFile.text(at: $0) }
        for (file, text) in zip(self.files, texts) {
            do throws(ScenarioError) {
                for variant in try ScenarioParser.variants(of: text) {
                    let isTraced = self.pictures.areWanted
                    let outcome = ScenarioRunner.run(variant.scenario, isTraced: isTraced)
                    self.show(file + variant.label, variant.scenario, outcome)
                    self.draw(outcome.trace, title: file + variant.label)
                    if !outcome.isPassed { failureCount += 1 }
                }
            } catch {
                self.show(file, error)
                failureCount += 1
            }
        }
        if failureCount > 0 { throw ExitCode.failure }
    }

    private func show(_ name: String, _ scenario: Scenario, _ outcome: RunOutcome) {
        let hash = scenario.meaningHash
        guard self.json else {
            print("\(name): \(outcome.failure.map { "\($0)" } ?? "passed")  # scenario \(hash)")
            return
        }
        var members = outcome.members
        members["file"] = .string(name)
        members["scenario_hash"] = .string(hash)
        members["commit"] = .string(Checkout.commit)
        members["passed"] = .bool(outcome.isPassed)
        if let failure = outcome.failure {
            members["line"] = .int(Int64(failure.line))
            members["message"] = .string(failure.message)
        }
        print(JSON.object(members).text)
    }

    private func show(_ file: String, _ error: ScenarioError) {
        guard self.json else {
            print("\(file): \(error)")
            return
        }
        let members: [ExactText: JSON] = [
            "file": .string(file), "passed": .bool(false), "line": .int(Int64(error.line)),
            "message": .string(error.message),
        ]
        print(JSON.object(members).text)
    }

    private func draw(_ trace: Trace?, title: String) {
        guard let trace else { return }
        do { try self.pictures.make(trace, title: title) } catch { StandardError.write("\(error)") }
    }
}
