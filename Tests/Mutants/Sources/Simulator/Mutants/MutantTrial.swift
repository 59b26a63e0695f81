internal import CRDTCore
internal import Foundation
internal import Simulation

/// What came of looking for one planted bug.
struct MutantTrial {
    let bug: PlantedBug
    /// How the seeds found it: the property or the way the process ended, and the seed.
    var finding: (oracle: String, seed: UInt64, message: String)?
    /// The scenario files that failed, in order.
    var failedScenarios: [String] = []
    /// What fails without the bug as well, and so says nothing of it.
    var unsound: [String] = []
    /// Why the search itself came to nothing.
    var failure: String?
    var seedCount = 0
    var seconds = 0.0

    init(_ bug: PlantedBug) { self.bug = bug }

    var isCaught: Bool { self.failure == nil && (self.finding != nil || !self.failedScenarios.isEmpty) }

    /// Scenarios that should have failed with it, and passed.
    var passedVictims: [String] {
        self.bug.victim.scenarios.filter { victim in !self.failedScenarios.contains { $0.hasPrefix(victim) } }
    }

    /// Takes in what the child process said.
    mutating func read(_ report: String) {
        for line in report.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            switch words.first {
            case "scenario" where words.count > 2 && words[2] == "failed": self.failedScenarios.append(words[1])
            case "unsound" where words.count > 2: self.unsound.append(words.dropFirst().joined(separator: " "))
            case "error": self.failure = String(line)
            case "seed" where words.count > 1: self.seedCount += 1
            case "found" where words.count > 3:
                self.finding = (words[1], UInt64(words[2]) ?? 0, words[3])
            default: break
            }
        }
    }

    /// Takes note of a child process that came to a bad end, which the bug has brought it to.
    mutating func note(ending: String, lastLine: String) {
        guard self.finding == nil else { return }
        let words = lastLine.split(separator: " ").map(String.init)
        if words.first == "scenario", words.count > 1 {
            self.failedScenarios.append(words[1])
        } else {
            let seed = words.count > 1 ? UInt64(words[1]) : nil
            self.finding = (ending, seed ?? 0, "the process ended: \(ending)")
        }
    }
}

/// A process of this program that looks for one planted bug, apart so that whatever the bug does ends there.
final class MutantProcess {
    private(set) var trial: MutantTrial
    private let process = Process()
    private let report: URL
    private var reportByteCount: UInt64 = 0
    private let start = WallClock.seconds()
    private var processorSecondsAtLastSign = 0.0
    private var ending: String?

    /// Without a word for so much work, it hangs.
    private static let silentProcessorSecondsMax = 10.0

    init(_ bug: PlantedBug, arguments: [String]) throws {
        self.trial = MutantTrial(bug)
        self.report = FileManager.default.temporaryDirectory
            .appendingPathComponent("mutant-\(ProcessInfo.processInfo.processIdentifier)-\(bug.rawValue)")
        try Data().write(to: self.report)
        let output = try Foundation.FileHandle(forWritingTo: self.report)
        self.process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        self.process.arguments = ["hunt", "--planted", bug.rawValue] + arguments
        self.process.standardOutput = output
        self.process.standardError = Foundation.FileHandle.nullDevice
        try self.process.run()
        try output.close()
    }

    /// The time that processors have spent on it: unlike time by the wall, it does not count what others do.
    private var processorSeconds: Double {
        let path = "/proc/\(self.process.processIdentifier)/stat"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8),
            let afterName = text.lastIndex(of: ")")
        else { return self.processorSecondsAtLastSign }
        let fields = text[afterName...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Whether it has ended; then the trial is complete.
    func isOver() throws -> Bool {
        let now = WallClock.seconds()
        let size = try FileManager.default.attributesOfItem(atPath: self.report.path)[.size] as? UInt64 ?? 0
        if size != self.reportByteCount {
            self.reportByteCount = size
            self.processorSecondsAtLastSign = self.processorSeconds
        } else if self.processorSeconds - self.processorSecondsAtLastSign > MutantProcess.silentProcessorSecondsMax,
            self.ending == nil
        {
            self.ending = "hang"
            kill(self.process.processIdentifier, SIGKILL)
        }
        guard !self.process.isRunning else { return false }
        self.trial.seconds = now - self.start
        let text = try String(contentsOf: self.report, encoding: .utf8)
        try FileManager.default.removeItem(at: self.report)
        self.trial.read(text)
        let lastLine = text.split(separator: "\n").last.map(String.init) ?? ""
        if self.process.terminationReason == .uncaughtSignal {
            self.trial.note(ending: self.ending ?? "crash", lastLine: lastLine)
        } else if self.process.terminationStatus != 0, self.trial.failure == nil {
            // A bug makes the process trap or hang; an exit status is of the search, and catches nothing.
            self.trial.failure = "exit status \(self.process.terminationStatus) after “\(lastLine)”"
        }
        return true
    }
}
