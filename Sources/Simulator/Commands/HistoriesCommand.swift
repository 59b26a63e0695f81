import ArgumentParser
internal import CRDTCore
internal import Foundation

/// `histories`: the merge alone, very often.
struct HistoriesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "histories",
        abstract: "Runs random histories of a few peers through the merge alone, on all cores.",
        discussion: """
            Replicas in memory write and get parts of each other's chains in every order that can be, again and too \
            early; in the end everything arrives everywhere, and all must be equal. A share of the histories is also \
            compared with the naive model, exported, computed anew from the log, and performed a second time with \
            everything loaded from the sender's log, encoded, decoded and verified. There are no disks, no network and \
            no real keys: hashes and signatures are stand-ins. A step is a change that is written or a delivery.

            Exit codes: 0 nothing found, 1 a property did not hold, 64 the command line is not understood.
            """
    )

    @Option(help: "How many histories to run.")
    var seeds = 100_000
    @OptionGroup var batch: BatchOptions
    @OptionGroup var options: HistoryOptions
    @Option(
        name: .customLong("case"),
        help: ArgumentHelp("One history alone, as a failure is told.", valueName: "history")
    )
    var caseName: String?
    @Flag(help: "Print the summary as JSON.")
    var json = false

    func run() throws {
        let shape = try self.options.shape()
        if let caseName { return try self.runCase(caseName) }
        let start = WallClock.seconds()
        var shown = start
        let pool = HistoryPool(
            seeds: try self.batch.seeds(self.seeds),
            shape: shape,
            // A batch takes less than a second, and to shrink one history some.
            launch: .ofThisProgram(self.options.text, command: HistoryWorkerCommand.name, patienceSeconds: 60)
        )
        // Whoever ends a long run early still sees what it has shown.
        let interruption = Interruption { pool.stop() }
        defer { interruption.stop() }
        pool.run(jobs: self.batch.jobCount) {
            let now = WallClock.seconds()
            if now - shown >= 10 {
                shown = now
                let report = pool.report
                StandardError.write("\(report.historyCount) histories, \(report.findings.count) failures")
            }
            if self.batch.isOver(afterSeconds: now - start) { pool.stop() }
        }
        let seconds = WallClock.seconds() - start
        if let failure = pool.launchFailure { throw ValidationError("A worker cannot be started: \(failure)") }
        let jobs = self.batch.jobCount
        let summary = HistorySummary(pool.report, shape, seconds: seconds, jobs: jobs) { pool.shrunk(seed: $0) }
        print(self.json ? summary.json : summary.text)
        if !summary.isClean { throw ExitCode.failure }
    }

    private func runCase(_ name: String) throws {
        let plan: HistoryPlan
        do {
            plan = try HistoryPlan(named: name)
        } catch {
            throw ValidationError("\(error)")
        }
        let outcome = HistoryRun.outcome(of: plan, in: try HistoryWorld(peerCount: plan.peerCount), isThorough: true)
        if self.json {
            let finding = outcome.finding.map { JSON.string($0.description) } ?? .null
            print(JSON.object(["case": .string(plan.name), "finding": finding]).text)
        } else {
            for line in plan.sentences { print(line) }
            print(outcome.finding.map { "FOUND \($0)" } ?? "no failures")
        }
        if outcome.finding != nil { throw ExitCode.failure }
    }
}

/// What kind of histories to run.
struct HistoryOptions: ParsableArguments {
    @Option(help: "The number of peers, 2 to 7.")
    var peers = 3
    @Option(help: "The number of steps, 1 to 10,000.")
    var steps = 60
    @Option(help: "Of so many histories one is looked at in every way, the first among them.")
    var compare: UInt64 = 128

    func shape() throws -> HistoryShape {
        guard HistoryPlan.peerCounts.contains(self.peers) else {
            throw ValidationError("There are 2 to 7 peers in a history.")
        }
        guard (1...10_000).contains(self.steps) else { throw ValidationError("A history has 1 to 10,000 steps.") }
        guard (1...100_000).contains(self.compare) else {
            throw ValidationError("One history of 1 to 100,000 is looked at in every way.")
        }
        return HistoryShape(peerCount: self.peers, stepCount: self.steps, thoroughEvery: self.compare)
    }

    /// The options as they were given, to be copied.
    var text: String { "--peers \(self.peers) --steps \(self.steps) --compare \(self.compare)" }
}

/// `history-worker`: what `histories` starts one of for each core.
///
/// It reads `run FIRST COUNT` and `shrink SEED`, one a line, and answers each with a line: a report as JSON, or the
/// name of a history.
struct HistoryWorkerCommand: ParsableCommand {
    static let name = "history-worker"
    static let configuration = CommandConfiguration(
        commandName: HistoryWorkerCommand.name,
        abstract: "Runs the histories it is asked for, for another process.",
        shouldDisplay: false
    )

    @OptionGroup var options: HistoryOptions

    func run() throws {
        let shape = try self.options.shape()
        let world = try HistoryWorld(peerCount: shape.peerCount)
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

    private func shrunk(_ plan: HistoryPlan) throws -> String {
        var worlds: [Int: HistoryWorld] = [:]
        for count in HistoryPlan.peerCounts { worlds[count] = try HistoryWorld(peerCount: count) }
        let shrinker = HistoryShrinker(plan) { plan in
            worlds[plan.peerCount].flatMap { HistoryRun.outcome(of: plan, in: $0, isThorough: true).finding }
        }
        guard var shrinker else { return "" }
        shrinker.shrink()
        return shrinker.plan.name
    }
}
