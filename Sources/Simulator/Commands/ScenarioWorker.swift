internal import Foundation
internal import Simulation

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
