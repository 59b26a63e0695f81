import ArgumentParser
import CRDTCore
import Foundation
internal import MergeModel
internal import Simulation

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

    /// Histories of the merge alone for bugs of the merge: a few seconds.
    private static let historyCount: UInt64 = 40_000
    private static let historyBatch: UInt64 = 512
    /// Plans that authors by the naive model write, of two users, on branches or with statements about rights.
    private static let agreementCount: UInt64 = 300
    /// Random circles, whose verdicts alone are looked at.
    private static let circleCount: UInt64 = 1_000
    /// A part of the circles in which three things happen: of no common measure with any of the choices.
    private static let circleStep = 5

    private func hunt() throws {
        let files = try InputFile.scenarioNames(in: self.scenarios)
        let victim = PlantedBug.current?.victim
        if let count = victim?.nameBitCount { PlantedBug.shortenNames(toBits: count) }
        guard self.brief else {
            _ = try self.runScenarios(files)
            if !self.runSeeds() { _ = try self.runHistories() }
            return
        }
        let certain = files.filter { file in victim?.scenarios.contains { file.hasPrefix($0) } ?? false }
        if PlantedBug.current?.part == .rights {
            // The verdicts are looked at in any case.
            let isFound = try self.runScenarios(certain)
            if try self.runCircles() || self.runAgreements() || self.runSmallCircles() || isFound { return }
        }
        if try self.runScenarios(certain) || self.runHistories() || self.runSeeds() { return }
        _ = try self.runScenarios(files.filter { !certain.contains($0) })
    }

    /// Returns whether any has found the bug.
    private func runHistories() throws -> Bool {
        guard PlantedBug.current?.part == .merge else { return false }
        let shape = MergeShape()
        let world = try MergeWorld(peerCount: shape.peerCount)
        var next = self.first
        while next < self.first &+ HuntCommand.historyCount {
            StandardOutput.write("trying \(next)")
            let seeds = next..<next &+ HuntCommand.historyBatch
            let report = shape.report(of: seeds, in: world)
            next = seeds.upperBound
            guard let failed = report.findings.first else { continue }
            let isSound = self.isSoundWithoutBug { shape.report(of: seeds, in: world).findings.isEmpty }
            guard isSound else {
                StandardOutput.write("unsound history \(failed.seed)")
                continue
            }
            let message = failed.finding.message.split(separator: "\n").first ?? ""
            StandardOutput.write("found \(failed.finding.property.rawValue) \(failed.seed) in a history: \(message)")
            return true
        }
        return self.runAgreements()
    }

    /// Returns whether any has found the bug.
    private func runAgreements() -> Bool {
        let agreement = MergeAgreement { MemoryStore.ofTestWorkspace }
        for seed in self.first..<self.first &+ HuntCommand.agreementCount {
            let trouble: MergeTroubles = PlantedBug.current?.part == .rights ? .rights : .branches
            let plan = MergePlanGenerator.plan(seed: seed, changes: 25, troubles: trouble)
            StandardOutput.write("trying \(seed)")
            do {
                _ = try agreement.outcome(of: plan)
            } catch {
                guard self.isSoundWithoutBug({ (try? agreement.outcome(of: plan)) != nil }) else {
                    StandardOutput.write("unsound plan \(seed)")
                    continue
                }
                let message = "\(error)".split(separator: "\n").first ?? ""
                StandardOutput.write("found \(CheckedProperty.modelDisagrees.rawValue) \(seed) in a plan: \(message)")
                return true
            }
        }
        return false
    }

    /// Returns whether any has found the bug.
    private func runCircles() throws -> Bool {
        for seed in self.first..<self.first &+ HuntCommand.circleCount {
            StandardOutput.write("trying \(seed)")
            guard try !CircleTrial(seed: seed).disagreements.isEmpty else { continue }
            let isSound = self.isSoundWithoutBug { (try? CircleTrial(seed: seed).disagreements.isEmpty) ?? false }
            guard isSound else {
                StandardOutput.write("unsound circle \(seed)")
                continue
            }
            StandardOutput.write("found \(CheckedProperty.modelDisagrees.rawValue) \(seed) in a random circle")
            return true
        }
        return false
    }

    /// Returns whether any has found the bug.
    private func runSmallCircles() -> Bool {
        for number in stride(from: 0, to: RightsHistory.count, by: HuntCommand.circleStep) {
            StandardOutput.write("trying \(number)")
            let history = RightsHistory(number: number)
            var found: String?
            let hasRun = (try? history.check { order, _ in found = found ?? order }) != nil
            guard let order = hasRun ? found : "" else { continue }
            let isSound = self.isSoundWithoutBug {
                var isSound = true
                return (try? history.check { _, _ in isSound = false }) != nil && isSound
            }
            guard isSound else {
                StandardOutput.write("unsound circle \(number)")
                continue
            }
            let property = CheckedProperty.modelDisagrees.rawValue
            StandardOutput.write("found \(property) \(number) in a circle, order \(order)")
            return true
        }
        return false
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

/// `--planted NAME` and `--name-bits COUNT`, which any command takes.
enum PlantedOption {
    /// The options as they were given; nothing if they were not.
    static var words: [String] {
        (PlantedBug.current.map { ["--planted", $0.rawValue] } ?? [])
            + (PlantedBug.nameBits.map { ["--name-bits", "\($0)"] } ?? [])
    }

    /// Does what the arguments ask for, and returns the others.
    static func takeOut(of arguments: [String]) -> [String] {
        var arguments = arguments
        if let name = self.take("--planted", of: &arguments) {
            guard let bug = PlantedBug(rawValue: name) else {
                StandardError.write("There is no planted bug “\(name)”.")
                exit(EXIT_FAILURE)
            }
            PlantedBug.plant(bug)
        }
        if let word = self.take("--name-bits", of: &arguments) {
            guard let count = Int(word), (1...63).contains(count) else {
                StandardError.write("Names are cut to a number of bits, not to “\(word)”.")
                exit(EXIT_FAILURE)
            }
            PlantedBug.shortenNames(toBits: count)
        }
        return arguments
    }

    /// Takes an option and its value out of the arguments.
    private static func take(_ option: String, of arguments: inout [String]) -> String? {
        guard let position = arguments.firstIndex(of: option), position + 1 < arguments.count else { return nil }
        let value = arguments[position + 1]
        arguments.removeSubrange(position...position + 1)
        return value
    }
}
