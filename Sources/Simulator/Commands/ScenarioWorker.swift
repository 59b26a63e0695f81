internal import Foundation
internal import Simulation

/// Runs scenarios in another process.
final class ScenarioWorker {
    private let worker: RestartedWorker
    /// Why a process could not be started: from then on nothing is found.
    private(set) var launchFailure: String?

    init(_ launch: SeedWorker.Launch) { self.worker = RestartedWorker(launch) }

    func verdict(_ scenario: Scenario, watchesSilence: Bool) -> ScenarioVerdict {
        do {
            let text = try JSONEncoder().encode(scenario.lines.joined(separator: "\n"))
            let question = "scenario \(watchesSilence) \(String(decoding: text, as: UTF8.self))"
            return try self.worker.answer(to: question) { ScenarioVerdict($0) }
        } catch {
            self.launchFailure = "\(error)"
            return ScenarioVerdict(nil)
        }
    }
}
