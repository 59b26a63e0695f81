internal import CRDTCore
internal import LocalAPI

/// With whom a sync exchanges before it ends, in the words of the API.
enum SyncPartners: String {
    /// Whoever answers within a few seconds.
    case whoeverAnswers = "whoever_answers"
    /// At least one machine, waited for as long as the time limit allows.
    case anyone
    /// Every machine known.
    case everyone
}

extension Workplace {
    /// Exchanges changes with the peers until nothing is missing on either side.
    func sync(_ partners: SyncPartners, timeoutMilliseconds: UInt64) async throws {
        var request = APIRequest(.post, "api", "sync")
        request.body = .json(
            .object([
                "with": .string(partners.rawValue), "timeout_ms": .int(Int64(clamping: max(1, timeoutMilliseconds))),
            ])
        )
        let state = try await self.work(request)
        let shortcoming = state["shortcoming"]?.text
        if !(state["is_alone"]?.isTrue ?? false) { try await self.report(state) }
        if let failure = state["store_failure"].flatMap({ CommandFailure(problem: $0) }) { throw failure }
        if let shortcoming { throw CommandFailure(.syncIncomplete, shortcoming) }
    }

    /// Looks for machines of this workspace at some addresses, beside those that are known.
    func meet(hosts: [String], port: UInt16) async throws {
        var request = APIRequest(.post, "api", "peers")
        let addresses = hosts.map { JSON.object(["host": .string($0), "port": .int(Int64(port))]) }
        request.body = .json(.object(["addresses": .array(addresses)]))
        _ = try await self.caller.json(request)
    }

    private func report(_ state: JSON) async throws {
        if self.output.format.isJSON {
            var members: [ExactText: JSON] = [:]
            for name in ["pushed", "pulled", "traffic", "in_sync", "waiting", "peers"] {
                members[ExactText(name)] = state[name]
            }
            return try await self.output.json(.object(members))
        }
        func amount(_ operations: String, _ bytes: String) -> String {
            let byteCount = UInt64(clamping: state["traffic"]?[bytes]?.integer ?? 0)
            return "\(PlainText.count(state[operations]?.integer ?? 0, "operation")) (\(PlainText.bytes(byteCount)))"
        }
        try await self.output.line(
            "pushed \(amount("pushed", "sent_bytes")), pulled \(amount("pulled", "received_bytes"))"
        )
        for wait in state["waiting"]?.elements ?? [] {
            try await self.output.line("waiting: \(WaitReport.sentence(wait))")
        }
        let someWait = !(state["waiting"]?.elements ?? []).isEmpty
        for peer in state["peers"]?.elements ?? [] {
            let isConnected = peer["connected"]?.isTrue ?? false
            try await self.output.line(
                isConnected ? PeerReport.sentence(peer, someWait: someWait) : "\(peer["name"]?.text ?? "?"): offline"
            )
        }
    }
}
