internal import CRDTCore
internal import LocalAPI
internal import PeerdKit

extension Workplace {
    /// Exchanges changes with the peers until nothing is missing on either side.
    func sync(_ scope: SyncScope, timeoutMilliseconds: UInt64) async throws {
        let wishes: [ExactText: JSON?] = [
            "with": .string(scope.rawValue), "timeout_ms": .int(Int64(clamping: max(1, timeoutMilliseconds))),
        ]
        let state: SyncAnswer = try await self.work(APIRequest(.post, "api", "sync", body: wishes))
        if !state.isAlone { try self.report(state) }
        if let failure = state.storeFailure { throw CommandFailure(failure) }
        if let shortcoming = state.shortcoming { throw CommandFailure(.syncIncomplete, shortcoming) }
    }

    /// Looks for machines of this workspace at some addresses, beside those that are known.
    func meet(hosts: [String], port: UInt16) async throws {
        let addresses = hosts.map { JSON.object(["host": .string($0), "port": .int(Int64(port))]) }
        try await self.caller.send(APIRequest(.post, "api", "peers", body: ["addresses": .array(addresses)]))
    }

    private func report(_ state: SyncAnswer) throws {
        if self.output.isJSON {
            let names: Set<ExactText> = ["pushed", "pulled", "traffic", "in_sync", "waiting", "peers"]
            return try self.output.json(JSON(state).only(names))
        }
        func amount(_ operations: Int, _ bytes: Int) -> String {
            "\(PlainText.count(operations, "operation")) (\(PlainText.bytes(bytes)))"
        }
        let (pushed, pulled) = (
            amount(state.pushed, state.traffic.sentBytes), amount(state.pulled, state.traffic.receivedBytes)
        )
        try self.output.line("pushed \(pushed), pulled \(pulled)")
        for wait in state.waiting { try self.output.line("waiting: \(wait.sentence)") }
        for peer in state.peers {
            let sentence = peer.sentence(someWait: !state.waiting.isEmpty)
            let isCalled = peer.address != nil
            let absence = isCalled ? "offline" : "not called, since no address of it is known here; it may run"
            try self.output.line(peer.connected ? sentence : "\(peer.name): \(absence)")
        }
    }
}
