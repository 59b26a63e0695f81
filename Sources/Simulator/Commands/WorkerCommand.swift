internal import ArgumentParser
internal import Foundation
internal import Simulation

/// `worker`: what `run` starts one of for each core, and `shrink` one.
///
/// It reads questions from standard input, one a line, and answers each with one line of JSON:
///
///     seed 42                     a `SeedReport`
///     scenario true "peers A…"    a `ScenarioVerdict`; whether silence is watched, and the text as a JSON string
struct WorkerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Runs what it reads, for another process.",
        shouldDisplay: false
    )

    @OptionGroup var world: WorldOptions

    func run() throws {
        let limits = try self.world.limits()
        Interruption.leaveToParent()
        let encoder = JSONEncoder()
        while let line = readLine() {
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            let answer: Data
            if words.count == 2, words[0] == "seed", let seed = UInt64(words[1]) {
                answer = try encoder.encode(SeedReport(seed: seed, Simulation.run(seed: seed, limits: limits)))
            } else if words.count == 3, words[0] == "scenario", let watchesSilence = Bool(words[1]) {
                let text = try JSONDecoder().decode(String.self, from: Data(words[2].utf8))
                let scenario = try ScenarioParser.parse(text)
                answer = try encoder.encode(
                    ScenarioVerdict(ScenarioRunner.run(scenario, watchesSilence: watchesSilence))
                )
            } else {
                throw ValidationError("“\(line)” is not understood.")
            }
            Foundation.FileHandle.standardOutput.write(answer + Data([10]))
        }
    }
}
