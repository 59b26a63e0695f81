internal import CRDTCore
internal import Engine
internal import Foundation
internal import PeerdKit
internal import Persistence

extension Executor {
    /// Checks everything there is to check, and says what to do about what is wrong.
    func doctor(_ output: CommandOutput) async throws -> Completion {
        var report = DoctorReport()
        report.checkFiles(self.paths, daemonRuns: self.daemon != nil)
        let damages = try await self.read { transaction in try transaction.damages() }
        if damages.isEmpty {
            report.add(.ok, "database", "SQLite finds the file sound")
        } else {
            report.add(
                .problem,
                "database",
                "SQLite finds the file damaged: \(damages.joined(separator: "; "))",
                "export what you have, then restore the data directory from a backup or join again"
            )
        }
        try await self.checkLog(&report, output)
        let crowds = try await self.read { transaction in Crowd.all(in: transaction) }
        report.check(crowds)
        report.checkNode(try await self.driver.status(), daemonRuns: self.daemon != nil)
        report.checkClock(try await self.driver.status(), now: SystemClock.now().wall)
        if output.format.isJSON {
            try await output.line(report.json.canonicalText)
        } else {
            try await output.write(report.text.utf8)
        }
        return Completion(status: report.hasProblem ? .failure : .success)
    }

    private func checkLog(_ report: inout DoctorReport, _ output: CommandOutput) async throws {
        do {
            let identity = try KeyFile.load(self.paths)
            report.add(.ok, "keys", "the key file can be read")
            let replay = LogReplay(origin: identity.origin, membership: identity.membership)
            try await output.progress("computing the state anew from the log")
            while try await !self.read({ transaction in try replay.advance(from: &transaction) }) {}
            report.add(.ok, "log", "every change follows the one before, and every signature holds")
            let isEqual = try await self.read { transaction in try replay.isEqual(to: &transaction) }
            if isEqual {
                report.add(.ok, "state", "the state is what the log says")
            } else {
                report.add(
                    .problem,
                    "state",
                    "the state is not what the log says",
                    "export what you have, then restore the data directory from a backup or join again"
                )
            }
            try await output.progress("")
        } catch {
            guard let failure = CommandFailure(error) else { throw error }
            report.add(.problem, "store", failure.message, "restore the data directory from a backup, or join again")
        }
    }
}

/// What `doctor` found.
struct DoctorReport {
    enum Level: String {
        case ok
        case warning
        case problem
    }

    struct Finding {
        var level: Level
        var subject: String
        var detail: String
        var advice: String?
    }

    private(set) var findings: [Finding] = []

    var hasProblem: Bool { self.findings.contains { $0.level == .problem } }

    mutating func add(_ level: Level, _ subject: String, _ detail: String, _ advice: String? = nil) {
        self.findings.append(Finding(level: level, subject: subject, detail: detail, advice: advice))
    }

    mutating func checkFiles(_ paths: DirectoryPaths, daemonRuns: Bool) {
        let expected: [(String, mode_t)] = [
            (paths.directory, PrivateFile.directoryMode), (paths.keys, PrivateFile.fileMode),
            (paths.token, PrivateFile.fileMode), (paths.database, PrivateFile.fileMode),
            (paths.socket, PrivateFile.fileMode),
        ]
        var open = 0
        for (path, mode) in expected {
            guard let actual = PrivateFile.mode(of: path), actual & ~mode != 0 else { continue }
            open += 1
            self.add(
                .problem,
                "permissions",
                "\(path) may be used by others (mode \(String(actual, radix: 8)))",
                "run: chmod \(String(mode, radix: 8)) \(path)"
            )
        }
        if open == 0 { self.add(.ok, "permissions", "only you may use \(paths.directory)") }
        if !daemonRuns, PrivateFile.mode(of: paths.socket) != nil {
            self.add(.ok, "socket", "a socket of a daemon that is gone is left; the next one replaces it")
        }
    }

    /// Each chain and each branch costs everyone a little for ever, and nobody can refuse one that others have.
    mutating func check(_ crowds: [Crowd]) {
        for crowd in crowds {
            let name = crowd.deviceName
            let who = crowd.isByOthers ? "devices that \(name) vouches for have" : "\(name) has"
            self.add(
                .warning,
                "chains",
                "\(who) opened \(crowd.lineCount) chains and branches",
                "find out what runs there, and stop it"
            )
        }
    }

    mutating func checkNode(_ node: NodeStatus, daemonRuns: Bool) {
        if let failure = node.storeFailure {
            self.add(
                .problem,
                "store",
                CommandFailure(failure).message,
                "make room or check the disk; it goes on by itself"
            )
        }
        for wait in node.waits {
            let advice =
                switch wait.reason {
                case .held: "set the wrong clock right, there or here; if that machine is gone: peerd restamp"
                case .missing(let point):
                    node.waits.contains { $0.replica == point.replica && $0.sequence <= point.sequence }
                        ? "those are here and wait, too" : "sync with a machine that has what is missing"
                }
            self.add(.warning, "waiting", WaitReport.sentence(wait), advice)
        }
        for fork in node.forks { self.add(.ok, "forked", ForkReport.sentence(fork)) }
        self.checkPeers(node, daemonRuns: daemonRuns)
    }

    private mutating func checkPeers(_ node: NodeStatus, daemonRuns: Bool) {
        guard daemonRuns else {
            return self.add(
                .warning,
                "daemon",
                "no daemon runs, so nothing is exchanged by itself",
                "start \"peerd run\""
            )
        }
        if node.peers.isEmpty {
            return self.add(.ok, "peers", "no other machine is known; \"peerd invite\" lets one join")
        }
        for peer in node.peers {
            if peer.isConnected {
                self.add(.ok, "peers", PeerReport.sentence(peer))
            } else {
                self.add(
                    .warning,
                    "peers",
                    "\(PlainText.printable(peer.name)) is offline",
                    "start \"peerd run\" there; if it runs, name its address here with run --peer HOST:PORT"
                )
            }
        }
        if node.counters.protocolViolationCount > 0 {
            let count = PlainText.count(node.counters.protocolViolationCount, "connection")
            self.add(.warning, "protocol", "\(count) broke the protocol", "look into the log of \"peerd run\"")
        }
    }

    mutating func checkClock(_ node: NodeStatus, now: WallTime) {
        if now < Self.releaseTime {
            return self.add(.problem, "clock", "the clock of this machine is years behind", "set the clock right")
        }
        let findings = ClockReport.findings(node)
        for finding in findings { self.add(.warning, "clock", finding, "compare the clocks, set the wrong one right") }
        if findings.isEmpty { self.add(.ok, "clock", "nothing says that the clock of this machine is wrong") }
    }

    var json: JSON {
        .object([
            "healthy": .bool(!self.hasProblem),
            "findings": .array(
                self.findings.map { finding in
                    .object([
                        "level": .string(finding.level.rawValue),
                        "subject": .string(finding.subject),
                        "detail": .string(finding.detail),
                        "advice": finding.advice.map { .string($0) } ?? .null,
                    ])
                }
            ),
        ])
    }

    var text: String {
        var text = ""
        for finding in self.findings {
            let mark = finding.level == .ok ? "ok      " : finding.level == .warning ? "warning " : "PROBLEM "
            text += "\(mark) \(finding.subject): \(finding.detail)\n"
            if let advice = finding.advice { text += "          -> \(advice)\n" }
        }
        return text
    }

    /// When this version was made: no honest clock is earlier.
    private static let releaseTime = WallTime(milliseconds: 1_767_225_600_000)
}
