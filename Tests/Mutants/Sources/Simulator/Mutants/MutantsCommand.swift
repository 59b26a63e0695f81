import ArgumentParser
import CRDTCore
import Glibc
internal import Simulation

/// `mutants`: whether the bugs that can be planted are found.
struct MutantsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mutants",
        abstract: "Plants bugs in the merge, the sessions and the store, one at a time, and looks for each."
    )

    @Option(help: "Only these bugs, separated by commas.")
    var only: String?
    @Option(
        help: "Only so many bugs, drawn by the first seed, in equal shares from the merge, the sessions and the store."
    )
    var sample: Int?
    @Option(help: "The seed to begin with.")
    var firstSeed: UInt64 = 1
    @Option(help: "How many seeds to try for a bug.")
    var seeds = 1000
    @Option(help: "How many seconds of processor time to spend on a bug.")
    var seconds = 60.0
    @Option(help: "How many bugs to look for at a time.")
    var jobs = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    @Option(help: "The folder of the scenario files.")
    var scenarios = "Tests/SimulatorTests/Scenarios"
    @Flag(help: "Run only the scenarios that must fail with a bug; run seeds for a bug that has none.")
    var brief = false
    @Flag(help: "Print the result as JSON.")
    var json = false

    func run() throws {
        let bugs = try self.chosen()
        var arguments = [
            "--first", "\(self.firstSeed)", "--seeds", "\(self.seeds)", "--seconds", "\(self.seconds)",
            "--scenarios", self.scenarios,
        ]
        if self.brief { arguments.append("--brief") }
        let files = try InputFile.scenarioNames(in: self.scenarios)
        var trials: [MutantTrial] = []
        var running: [MutantProcess] = []
        var next = 0
        if !self.json { StandardOutput.write(MutantScore.heading) }
        while next < bugs.count || !running.isEmpty {
            while next < bugs.count, running.count < max(1, self.jobs) {
                running.append(try MutantProcess(bugs[next], arguments: arguments))
                next += 1
            }
            usleep(20_000)
            var going: [MutantProcess] = []
            for process in running {
                guard try process.isOver() else {
                    going.append(process)
                    continue
                }
                trials.append(process.trial)
                if !self.json { StandardOutput.write(MutantScore.row(process.trial)) }
            }
            running = going
        }
        let isWhole = bugs.count == PlantedBug.allCases.count && !self.brief
        let score = MutantScore(trials: trials, isWhole: isWhole, scenarios: files)
        StandardOutput.write(self.json ? score.json : score.conclusion)
        if !score.isPerfect { throw ExitCode.failure }
    }

    private func chosen() throws -> [PlantedBug] {
        var bugs = PlantedBug.allCases
        if let only {
            bugs = try only.split(separator: ",").map { name in
                guard let bug = PlantedBug(rawValue: String(name)) else {
                    throw ValidationError(
                        "There is no planted bug “\(name)”; see Tests/Mutants for the names."
                    )
                }
                return bug
            }
        }
        guard let sample else { return bugs }
        var generator = LossGenerator(seed: self.firstSeed)
        let parts = PlantedBug.Part.allCases
        var drawn: [PlantedBug] = []
        while drawn.count < sample, !bugs.isEmpty {
            let ofPart = bugs.filter { $0.part == parts[drawn.count % parts.count] }
            let choice = ofPart.isEmpty ? bugs : ofPart
            let bug = choice[generator.below(choice.count)]
            drawn.append(bug)
            bugs.removeAll { $0 == bug }
        }
        return drawn
    }
}
