internal import Engine
internal import PeerdKit
internal import Synchronization

/// Counters in the text format of Prometheus.
package final class Metrics: Sendable {
    private let requests = Mutex<[UInt: Int]>([:])
    private let sockets = Atomic<Int>(0)
    private let start = ContinuousClock.now

    package init() {}

    /// Counts an answer.
    func note(status: UInt) { self.requests.withLock { $0[status, default: 0] += 1 } }

    /// Counts WebSockets that open (1) and close (-1).
    func noteSockets(_ difference: Int) { self.sockets.add(difference, ordering: .relaxed) }

    func text(_ node: NodeStatus, _ counts: WorkspaceCounts) -> String {
        var text = ""
        func metric(_ name: String, _ kind: String, _ help: String, _ samples: [(labels: String, value: String)]) {
            text += "# HELP peerd_\(name) \(help)\n# TYPE peerd_\(name) \(kind)\n"
            for sample in samples { text += "peerd_\(name)\(sample.labels) \(sample.value)\n" }
        }
        func gauge(_ name: String, _ help: String, _ value: some BinaryInteger) {
            metric(name, "gauge", help, [("", "\(value)")])
        }
        func counter(_ name: String, _ help: String, _ value: some BinaryInteger) {
            metric(name, "counter", help, [("", "\(value)")])
        }
        gauge("objects", "Visible objects.", counts.objects)
        gauge("changes", "Changes in the log.", counts.changes)
        gauge("replicas", "Replicas that wrote a change.", counts.replicas)
        gauge("conflicts", "Properties and places in conflict.", counts.conflicts)
        gauge("peers", "Other machines of the workspace.", node.peers.count)
        gauge("peers_connected", "Machines with a connection.", node.peers.count(where: \.isConnected))
        gauge(
            "in_sync",
            "1 if all machines are known to have the same changes, and all are in force; 0 also while one is away.",
            node.isInSync ? 1 : 0
        )
        let pending = node.pendingCount.map { [(labels: "", value: "\($0)")] } ?? []
        metric("pending_changes", "gauge", "Changes that others lack; no sample while one is away.", pending)
        gauge(
            "waiting_changes",
            "Changes that are stored and not in force.",
            node.waits.reduce(0) { $0 + $1.changeCount }
        )
        gauge("store_failed", "1 if the last write to the disk failed.", node.storeFailure == nil ? 0 : 1)
        counter("sent_bytes_total", "Bytes sent to other machines.", node.traffic.sentByteCount)
        counter("received_bytes_total", "Bytes received from other machines.", node.traffic.receivedByteCount)
        counter("pushed_operations_total", "Operations that others stored.", node.traffic.pushedOperationCount)
        counter("pulled_operations_total", "Operations that this machine stored.", node.traffic.pulledOperationCount)
        counter(
            "protocol_violations_total",
            "Connections that violated the protocol.",
            node.counters.protocolViolationCount
        )
        gauge("websockets", "Open WebSockets.", self.sockets.load(ordering: .relaxed))
        let answers = self.requests.withLock { $0 }.sorted { $0.key < $1.key }
        metric(
            "http_requests_total",
            "counter",
            "Answers of the local API by status.",
            answers.map { ("{status=\"\($0.key)\"}", "\($0.value)") }
        )
        gauge(
            "uptime_seconds",
            "Seconds since the server started.",
            (ContinuousClock.now - self.start).components.seconds
        )
        return text
    }
}
