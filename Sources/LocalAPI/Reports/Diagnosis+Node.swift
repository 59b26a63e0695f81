internal import CRDTCore
internal import Engine
internal import PeerdKit

/// What `doctor` finds beside what the data says.
extension Diagnosis {
    /// When this version was made: no honest clock is earlier.
    private static let releaseTime = WallTime(milliseconds: 1_767_225_600_000)

    /// `listen`: where the daemon listens; nil if none runs.
    mutating func checkAddresses(_ listen: NetworkAddress?) {
        guard let listen else { return }
        do throws(PeerdError) {
            _ = try ListenAddress.reachableHosts(listen.host)
        } catch {
            self.add(.problem, "addresses", error.message, error.advice)
        }
    }

    mutating func checkNode(_ node: NodeStatus, daemonRuns: Bool) {
        if let failure = node.storeFailure {
            self.add(
                .problem,
                "store",
                PeerdError(failure).description,
                "make room or check the disk; peerd retries by itself"
            )
        }
        if let removal = node.removal {
            self.add(
                .problem,
                "removed",
                RemovalSentence.told(by: removal.deviceName),
                "ask whoever removed it; \"peerd export\" writes down what is here"
            )
        }
        for wait in node.waits {
            let advice =
                switch wait.reason {
                case .held: "correct the wrong clock, there or here; if that machine is gone, run \"peerd restamp\""
                case .missing(let point):
                    node.waits.contains { $0.replica == point.replica && $0.sequence <= point.sequence }
                        ? "the missing changes are here and wait, too" : "sync with a machine that has what is missing"
                }
            self.add(.warning, "waiting", WaitAnswer(wait).sentence, advice)
        }
        for fork in node.forks { self.add(.ok, "forked", ForkAnswer(fork).sentence) }
        self.checkPeers(node, daemonRuns: daemonRuns)
    }

    private mutating func checkPeers(_ node: NodeStatus, daemonRuns: Bool) {
        guard daemonRuns else {
            return self.add(
                .warning,
                "daemon",
                "no daemon runs, so nothing syncs by itself",
                "start \"peerd run\""
            )
        }
        for address in node.failingAddresses {
            let advice = "check the address that --peer names; if it is right, start \"peerd run\" there"
            self.add(.warning, "address", "\(address.address) \(address.failure.text)", advice)
        }
        if node.peers.isEmpty {
            return self.add(.ok, "peers", "no other machine is known; \"peerd invite\" lets one join")
        }
        for peer in node.peers {
            if peer.hasCopies { self.add(.warning, "copied", PeerAnswer(peer).copiesSentence, PeerAnswer.copiesAdvice) }
            if let sentence = PeerAnswer(peer).differenceSentence {
                self.add(.problem, "states", sentence, PeerAnswer.differenceAdvice)
            }
            if peer.isConnected {
                self.add(.ok, "peers", PeerAnswer(peer).sentence(someWait: !node.waits.isEmpty))
            } else {
                self.add(
                    .warning,
                    "peers",
                    "\(peer.name) is offline",
                    "start \"peerd run\" there; if it runs, name its address here with run --peer HOST:PORT"
                )
            }
        }
        if node.counters.protocolViolationCount > 0 {
            let count = PlainText.count(node.counters.protocolViolationCount, "connection")
            self.add(.warning, "protocol", "\(count) violated the protocol", "check the log of \"peerd run\"")
        }
    }

    /// `findings`: those that are known of clocks.
    mutating func checkClock(_ findings: [String], now: WallTime) {
        if now < Self.releaseTime {
            return self.add(.problem, "clock", "the clock of this machine is years behind", "set the clock")
        }
        for finding in findings {
            self.add(.warning, "clock", finding, "compare the clocks, and correct the wrong one")
        }
        if findings.isEmpty { self.add(.ok, "clock", "there is no sign that the clock of this machine is wrong") }
    }
}
