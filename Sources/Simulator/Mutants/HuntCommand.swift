#if PLANTED_BUGS
import ArgumentParser
import CRDTCore
import Foundation

/// `hunt`: what `mutants` starts for each planted bug.
///
/// Prints a line for each thing that is done, so that it can be told how far it came before it ended.
struct HuntCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "hunt", shouldDisplay: false)

    @Option var first: UInt64 = 1
    @Option var seeds = 1000
    @Option var seconds = 60.0
    @Option var scenarios: String
    /// Stops at what is certain: the scenarios that must fail, else the seeds, else the other scenarios.
    @Flag var brief = false

    func run() throws {
        do {
            try self.hunt()
        } catch {
            StandardOutput.write("error \(error)")
            throw ExitCode.failure
        }
    }

    private func hunt() throws {
        let files = try InputFile.scenarioNames(in: self.scenarios)
        guard self.brief else {
            _ = try self.runScenarios(files)
            _ = self.runSeeds()
            return
        }
        let victims = PlantedBug.current?.victim.scenarios ?? []
        let certain = files.filter { file in victims.contains { file.hasPrefix($0) } }
        if try self.runScenarios(certain) || self.runSeeds() { return }
        _ = try self.runScenarios(files.filter { !certain.contains($0) })
    }

    /// Returns whether any has found the bug.
    private func runScenarios(_ files: [String]) throws -> Bool {
        var hasFound = false
        for file in files {
            StandardOutput.write("scenario \(file) begins")
            let text = try InputFile.text(at: self.scenarios + "/" + file)
            for variant in try ScenarioParser.variants(of: text) {
                let outcome = ScenarioRunner.run(variant.scenario)
                guard !outcome.isPassed else { continue }
                if self.isSoundWithoutBug({ ScenarioRunner.run(variant.scenario).isPassed }) {
                    StandardOutput.write("scenario \(file) failed \(outcome.failure.map { "\($0)" } ?? "")")
                    hasFound = true
                } else {
                    StandardOutput.write("unsound scenario \(file)\(variant.label)")
                }
                break
            }
        }
        return hasFound
    }

    /// Returns whether one has found the bug.
    private func runSeeds() -> Bool {
        let start = WallClock.processorSeconds()
        for offset in 0..<UInt64(max(0, self.seeds)) {
            if WallClock.processorSeconds() - start >= self.seconds { return false }
            let seed = self.first &+ offset
            StandardOutput.write("trying \(seed)")
            let outcome = Simulation.run(seed: seed)
            StandardOutput.write("seed \(seed)")
            guard let finding = outcome.record.findings.first else { continue }
            guard self.isSoundWithoutBug({ Simulation.run(seed: seed).record.findings.isEmpty }) else {
                StandardOutput.write("unsound seed \(seed)")
                continue
            }
            let message = finding.message.split(separator: "\n").first ?? ""
            StandardOutput.write("found \(finding.property.rawValue) \(seed) \(message)")
            return true
        }
        return false
    }

    /// Whether a run that failed passes without the bug: else it is not the bug that it has found.
    private func isSoundWithoutBug(_ passes: () -> Bool) -> Bool {
        let bug = PlantedBug.current
        PlantedBug.plant(nil)
        defer { PlantedBug.plant(bug) }
        return passes()
    }
}

/// `--planted NAME`, which any command takes.
enum PlantedOption {
    /// The option as it was given; nothing if it was not.
    static var words: [String] { PlantedBug.current.map { ["--planted", $0.rawValue] } ?? [] }

    /// Plants the bug that the arguments name, and returns the others.
    static func takeOut(of arguments: [String]) -> [String] {
        guard let position = arguments.firstIndex(of: "--planted"), position + 1 < arguments.count else {
            return arguments
        }
        let name = arguments[position + 1]
        guard let bug = PlantedBug(rawValue: name) else {
            StandardError.write("There is no planted bug “\(name)”.")
            exit(EXIT_FAILURE)
        }
        PlantedBug.plant(bug)
        return Array(arguments[..<position] + arguments[(position + 2)...])
    }
}
#endif
