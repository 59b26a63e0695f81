import ArgumentParser
internal import CRDTCore
internal import Foundation
internal import MergeModel
internal import Simulation

/// `histories`: performs merge plans on the merge alone, very often.
struct HistoriesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "histories",
        abstract: "Runs random histories of a few peers through the merge alone, on all cores.",
        discussion: """
            Replicas in memory write, and receive parts of each other's chains in every possible order, some of them \
            repeatedly or too early. In the end everything is delivered everywhere, and all replicas must be equal. A \
            share of the histories is also compared with the naive model, exported, rebuilt from the log, and repeated \
            with all deliveries loaded from the sender's log, encoded, decoded and verified. There are no disks, no \
            network and no real keys: stand-ins replace hashes and signatures. A step is a written change or a \
            delivery.

            `--case` takes the plan of any history, also one that a test of the merge reports. It is performed in \
            every way: authors that know only the naive model write its changes too, and stores in memory get them in \
            random orders.

            Exit codes: 0 nothing found, 1 a property did not hold, 64 the command line is not understood.
            """
    )

    @Option(help: "How many histories to run.")
    var seeds = 100_000
    @OptionGroup var batch: BatchOptions
    @OptionGroup var options: MergeOptions
    @Option(
        name: .customLong("case"),
        help: ArgumentHelp("One plan alone, as a failure prints it.", valueName: "plan")
    )
    var caseName: String?
    @Flag(help: "Print the summary as JSON.")
    var json = false

    func run() throws {
        let shape = try self.options.shape()
        if let caseName { return try self.runCase(caseName) }
        // A batch takes less than a second, and to shrink one plan some.
        let command = MergeWorkerCommand.name
        let launch = SeedWorker.Launch.ofThisProgram(self.options.text, command: command, patienceSeconds: 60)
        let pool = MergePool(seeds: try self.batch.seeds(self.seeds), shape: shape, launch: launch)
        // Whoever ends a long run early still sees what it has shown.
        let interruption = Interruption { pool.workers.stop() }
        defer { interruption.stop() }
        let progress = { (report: MergeReport, _: Double) in
            "\(report.trialCount) histories, \(report.findings.count) failures"
        }
        let seconds = try self.batch.run(pool.workers, launch, progress: progress, pool.run)
        let (report, jobs) = (pool.workers.summary, self.batch.jobCount)
        let summary = MergeSummary(report, shape, seconds: seconds, jobs: jobs) { pool.shrunk(seed: $0) }
        print(self.json ? summary.json : summary.text)
        if !summary.isClean { throw ExitCode.failure }
    }

    private func runCase(_ name: String) throws {
        let plan: MergePlan
        do {
            plan = try MergePlan(text: name)
        } catch {
            throw ValidationError("\(error)")
        }
        let outcome = MergeTrial.outcome(of: plan, in: try MergeWorld(peerCount: plan.peerCount), isThorough: true)
        let finding = outcome.finding ?? self.disagreement(about: plan)
        if self.json {
            let finding = finding.map { JSON.string($0.description) } ?? .null
            print(JSON.object(["case": .string(plan.text), "finding": finding]).text)
        } else {
            for line in plan.sentences { print(line) }
            print(finding.map { "FOUND \($0)" } ?? "no failures")
        }
        if finding != nil { throw ExitCode.failure }
    }

    /// Returns what fails when authors by the naive model write the changes, and stores get them in random orders.
    private func disagreement(about plan: MergePlan) -> Finding? {
        let agreement = MergeAgreement { MemoryStore.ofTestWorkspace }
        do {
            _ = try agreement.outcome(of: plan)
            return nil
        } catch {
            return Finding(property: .modelDisagrees, message: "\(error)")
        }
    }
}

/// The kind of histories to run.
struct MergeOptions: ParsableArguments {
    @Option(help: "The number of peers, 2 to 7.")
    var peers = 3
    @Option(help: "The number of steps, 1 to 10,000.")
    var steps = 60
    @Option(help: "Check one history of so many in every way, beginning with the first.")
    var compare: UInt64 = 128

    func shape() throws -> MergeShape {
        try MergePlan.peerCounts.check(self.peers, "number --peers", "2 to 7")
        try (1...10_000).check(self.steps, "number --steps", "1 to 10,000")
        try (1...100_000).check(self.compare, "number --compare", "1 to 100,000")
        return MergeShape(peerCount: self.peers, stepCount: self.steps, thoroughEvery: self.compare)
    }

    /// The options as they were given, to be copied.
    var text: String { "--peers \(self.peers) --steps \(self.steps) --compare \(self.compare)" }
}

/// `history-worker`: what `histories` starts one of for each core.
///
/// It reads `run FIRST COUNT` and `shrink SEED`, one a line, and answers each with a line: a report as JSON, or the
/// text of a plan.
struct MergeWorkerCommand: ParsableCommand {
    static let name = "history-worker"
    static let configuration = CommandConfiguration(
        commandName: MergeWorkerCommand.name,
        abstract: "Runs the histories it is asked for, for another process.",
        shouldDisplay: false
    )

    @OptionGroup var options: MergeOptions

    func run() throws {
        let shape = try self.options.shape()
        let world = try MergeWorld(peerCount: shape.peerCount)
        Interruption.leaveToParent()
        let encoder = JSONEncoder()
        while let line = readLine() {
            let words = line.split(separator: " ")
            let numbers = words.dropFirst().compactMap { UInt64($0) }
            var answer = Data()
            if words.first == "run", numbers.count == 2 {
                answer = try encoder.encode(shape.report(of: numbers[0]..<numbers[0] + numbers[1], in: world))
            } else if words.first == "shrink", numbers.count == 1 {
                answer = Data(try self.shrunk(shape.plan(seed: numbers[0])).utf8)
            } else {
                throw ValidationError("“\(line)” is not understood.")
            }
            Foundation.FileHandle.standardOutput.write(answer + Data([10]))
        }
    }

    private func shrunk(_ plan: MergePlan) throws -> String {
        var worlds: [Int: MergeWorld] = [:]
        for count in MergePlan.peerCounts { worlds[count] = try MergeWorld(peerCount: count) }
        let shrinker = MergePlanShrinker(plan) { plan in
            worlds[plan.peerCount].flatMap { MergeTrial.outcome(of: plan, in: $0, isThorough: true).finding?.kind }
        }
        guard var shrinker else { return "" }
        shrinker.shrink()
        return shrinker.plan.text
    }
}
