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

    func run() throws {
        for file in try ScenarioFolder.names(in: self.scenarios) {
            StandardOutput.write("scenario \(file) begins")
            let text = try String(contentsOfFile: self.scenarios + "/" + file, encoding: .utf8)
            let outcome = ScenarioRunner.run(try ScenarioParser.parse(text))
            guard !outcome.isPassed else { continue }
            StandardOutput.write("scenario \(file) failed \(outcome.failure.map { "\($0)" } ?? "")")
        }
        let start = WallClock.processorSeconds()
        for offset in 0..<UInt64(max(0, self.seeds)) {
            if WallClock.processorSeconds() - start >= self.seconds { return }
            let seed = self.first &+ offset
            let outcome = Simulation.run(seed: seed)
            StandardOutput.write("seed \(seed)")
            if let finding = outcome.record.findings.first {
                let message = finding.message.split(separator: "\n").first ?? ""
                StandardOutput.write("found \(finding.property.rawValue) \(seed) \(message)")
                return
            }
        }
    }
}

/// The folder of the scenario files.
enum ScenarioFolder {
    static func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".scn") }.sorted()
    }
}

extension WallClock {
    /// What processors have spent on this process.
    fileprivate static func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// `--planted NAME`, which any command takes.
enum PlantedOption {
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
