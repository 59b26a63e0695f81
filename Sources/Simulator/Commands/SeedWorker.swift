internal import Foundation
internal import Glibc
internal import Simulation

/// A process that runs things for this one: what traps there, or does not come to an end, is a finding here.
final class SeedWorker {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var unread = Data()
    private let patienceSeconds: Double
    /// It was ended because it did not answer.
    private var wasSilent = false

    /// How a worker process is started again after a crash.
    struct Launch {
        /// The program itself.
        var executable: String
        /// The command and its options.
        var arguments: [String]
        /// How long it may take for an answer: many times what any takes.
        var patienceSeconds: Double
        /// Whether a trap is told with where it was, which takes seconds.
        var tellsWhere = true

        /// This program, with options as they were given to it.
        static func ofThisProgram(_ options: String, command: String = "worker", patienceSeconds: Double) -> Launch {
            let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
            let arguments = [command] + options.split(separator: " ").map(String.init)
            return Launch(executable: path, arguments: arguments, patienceSeconds: patienceSeconds)
        }
    }

    /// Worlds are made and thrown away by the thousand: memory that went back to the system each time would come again
    /// a page fault at a time.
    private static let keepingFreedMemory =
        "glibc.malloc.mmap_threshold=268435456:glibc.malloc.trim_threshold=268435456"

    init(_ launch: Launch) throws {
        self.patienceSeconds = launch.patienceSeconds
        self.process.executableURL = URL(fileURLWithPath: launch.executable)
        self.process.arguments = launch.arguments
        var environment = ProcessInfo.processInfo.environment
        if !launch.tellsWhere { environment["SWIFT_BACKTRACE"] = "enable=no" }
        environment["GLIBC_TUNABLES"] = environment["GLIBC_TUNABLES"] ?? SeedWorker.keepingFreedMemory
        self.process.environment = environment
        self.process.standardInput = self.input
        self.process.standardOutput = self.output
        try self.process.run()
    }

    /// Asks a question of one line, and waits for the line that answers it.
    ///
    /// - Returns: nil if the process has ended instead, or was ended because it did not answer in time.
    func answer(to question: String) -> Data? {
        let line = Data((question + "\n").utf8)
        guard (try? self.input.fileHandleForWriting.write(contentsOf: line)) != nil else { return nil }
        return self.readLine()
    }

    /// Waits until a process that has given no answer has ended.
    func ending() -> Finding {
        self.process.waitUntilExit()
        if self.wasSilent {
            return Finding(property: .spinning, message: "no end of it within \(Int(self.patienceSeconds)) seconds")
        }
        let how = self.process.terminationReason == .uncaughtSignal ? "signal" : "exit status"
        return Finding(property: .crash, message: "the process ended: \(how) \(self.process.terminationStatus)")
    }

    /// Lets the process end.
    func stop() {
        try? self.input.fileHandleForWriting.close()
        self.process.waitUntilExit()
    }

    /// The bytes up to the next end of a line; nil if there will be none.
    private func readLine() -> Data? {
        let deadline = WallClock.seconds() + self.patienceSeconds
        while true {
            if let end = self.unread.firstIndex(of: 10) {
                let line = self.unread[..<end]
                self.unread = Data(self.unread[(end + 1)...])
                return Data(line)
            }
            let remaining = deadline - WallClock.seconds()
            var wanted = pollfd(fd: self.output.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
            guard remaining > 0 else {
                self.wasSilent = true
                kill(self.process.processIdentifier, SIGKILL)
                return nil
            }
            guard unsafe poll(&wanted, 1, Int32(min(remaining, 3_600) * 1_000) + 1) > 0 else { continue }
            let more = self.output.fileHandleForReading.availableData
            guard !more.isEmpty else { return nil }
            self.unread += more
        }
    }
}
