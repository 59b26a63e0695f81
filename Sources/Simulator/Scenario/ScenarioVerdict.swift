internal import Foundation

/// What a run of a scenario has found, as far as shrinking goes by it.
struct ScenarioVerdict: Codable, Hashable, Sendable {
    var finding: Finding?
    /// When it was found, or the run over.
    var simulatedMicroseconds: UInt64

    init(_ outcome: ScenarioRunner.Outcome) {
        self.finding = outcome.record.findings.first
        self.simulatedMicroseconds = outcome.simulated.microseconds
    }

    /// Of a run that has not come to its end.
    init(_ finding: Finding?) {
        self.finding = finding
        self.simulatedMicroseconds = 0
    }
}

/// Runs scenarios in another process, which is started again when one has ended it.
final class ScenarioWorker {
    private let launch: SeedWorker.Launch
    private var worker: SeedWorker?
    /// Why a process could not be started: from then on nothing is found.
    private(set) var launchFailure: String?

    init(_ launch: SeedWorker.Launch) { self.launch = launch }

    deinit { self.worker?.stop() }

    func verdict(_ scenario: Scenario, watchesSilence: Bool) -> ScenarioVerdict {
        do {
            let text = try JSONEncoder().encode(scenario.lines.joined(separator: "\n"))
            let present = try self.worker ?? SeedWorker(self.launch)
            self.worker = present
            let line = present.answer(to: "scenario \(watchesSilence) \(String(decoding: text, as: UTF8.self))")
            if let line, let verdict = try? JSONDecoder().decode(ScenarioVerdict.self, from: line) { return verdict }
            self.worker = nil
            return ScenarioVerdict(present.ending())
        } catch {
            self.launchFailure = "\(error)"
            return ScenarioVerdict(nil)
        }
    }
}
