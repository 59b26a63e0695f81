internal import Foundation
internal import Glibc

/// A process that runs seeds for this one: what crashes there is a finding here.
final class SeedWorker {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var unread = Data()

    /// How a worker process is started again after a crash.
    struct Launch {
        /// The program itself.
        var executable: String
        /// `worker` and the options of the world.
        var arguments: [String]

        /// This program, with options as they were given to it.
        static func ofThisProgram(_ options: String, command: String = "worker") -> Launch {
            let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
            var arguments = [command] + options.split(separator: " ").map(String.init)
            #if PLANTED_BUGS
            arguments += PlantedOption.words
            #endif
            return Launch(executable: path, arguments: arguments)
        }
    }

    init(_ launch: Launch) throws {
        self.process.executableURL = URL(fileURLWithPath: launch.executable)
        self.process.arguments = launch.arguments
        self.process.standardInput = self.input
        self.process.standardOutput = self.output
        try self.process.run()
    }

    /// Has a seed run; waits for it.
    ///
    /// - Returns: The report, and whether the process is still there to be asked again.
    func run(seed: UInt64) -> (report: SeedReport, isAlive: Bool) {
        guard let line = self.answer(to: "\(seed)"), let report = try? JSONDecoder().decode(SeedReport.self, from: line)
        else { return (SeedReport(crashed: seed, "the process ended: \(self.waitForEnd())"), false) }
        return (report, true)
    }

    /// Asks a question of one line, and waits for the line that answers it; nil if the process has closed its output.
    func answer(to question: String) -> Data? {
        let line = Data((question + "\n").utf8)
        guard (try? self.input.fileHandleForWriting.write(contentsOf: line)) != nil else { return nil }
        return self.readLine()
    }

    /// How the process ended, once it has.
    func waitForEnd() -> String {
        self.process.waitUntilExit()
        let how = self.process.terminationReason == .uncaughtSignal ? "signal" : "exit status"
        return "\(how) \(self.process.terminationStatus)"
    }

    /// The number of the process.
    var processIdentifier: Int32 { self.process.processIdentifier }

    /// Lets the process end.
    func stop() {
        try? self.input.fileHandleForWriting.close()
        self.process.waitUntilExit()
    }

    /// The bytes up to the next end of a line; nil if the process has closed its output.
    private func readLine() -> Data? {
        while true {
            if let end = self.unread.firstIndex(of: 10) {
                let line = self.unread[..<end]
                self.unread = Data(self.unread[(end + 1)...])
                return Data(line)
            }
            let more = self.output.fileHandleForReading.availableData
            guard !more.isEmpty else { return nil }
            self.unread += more
        }
    }
}
