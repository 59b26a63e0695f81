internal import CRDTCore
internal import Engine
internal import PeerdKit

extension Executor {
    /// Checks everything there is to check, and says what to do about what is wrong.
    func doctor(_ output: CommandOutput) async throws -> Completion {
        var diagnosis = try await self.workspace.diagnose { text in try await output.progress(text) }
        let daemonRuns = self.daemon != nil
        if !daemonRuns, PrivateFile.mode(of: self.paths.socket) != nil {
            diagnosis.add(.ok, "socket", "a socket of a daemon that is gone is left; the next one replaces it")
        }
        diagnosis.checkNode(try await self.driver.status(), daemonRuns: daemonRuns)
        diagnosis.checkClock(try await self.driver.status(), now: SystemClock.now().wall)
        if output.format.isJSON {
            try await output.line(diagnosis.json.canonicalText)
        } else {
            try await output.write(diagnosis.text.utf8)
        }
        return Completion(status: diagnosis.isHealthy ? .success : .failure)
    }
}

/// What `doctor` finds beside what the data says.
extension Diagnosis {
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
            "healthy": .bool(self.isHealthy),
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
            text += "\(mark) \(finding.subject): \(PlainText.printable(finding.detail))\n"
            if let advice = finding.advice { text += "          -> \(advice)\n" }
        }
        return text
    }

    /// When this version was made: no honest clock is earlier.
    private static let releaseTime = WallTime(milliseconds: 1_767_225_600_000)
}
