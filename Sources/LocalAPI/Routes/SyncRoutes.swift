internal import CRDTCore
internal import Engine
internal import Foundation
internal import NIOHTTP1
internal import PeerdKit
internal import Persistence

/// The exchange with other machines, and what helps it.
struct SyncRoutes: Sendable {
    let workspace: Workspace
    let server: ServerDescription

    private static let timeoutMilliseconds = 30_000
    private static let timeoutMillisecondsMax = 366 * 86_400_000

    var routes: [Route] {
        [
            Route(.POST, "/api/sync") { try await self.sync($0) },
            Route(.POST, "/api/peers") { try await self.meet($0) },
            Route(.DELETE, "/api/peers/{device}") { try await self.forget($0) },
            Route(.POST, "/api/peers/{device}/removal") { try await self.remove($0) },
            Route(.POST, "/api/erasures") { try await self.decideErasures($0) },
            Route(.POST, "/api/restamp") { try await self.restamp($0) },
            Route(.POST, "/api/doctor") { try await self.doctor($0) },
        ]
    }

    private func sync(_ request: Request) async throws -> Work<SyncAnswer> {
        let members = try Members(try await request.jsonOrNothing(), of: "The body")
        let milliseconds =
            try members.number("timeout_ms", in: 1...Self.timeoutMillisecondsMax) ?? Self.timeoutMilliseconds
        let scope = try Self.scope(try members.text("with"))
        try members.requireNoOthers()
        let (before, isForProgram) = (try await self.workspace.nodeStatus(), request.wantsLines)
        let timeout = before.isAlone ? Duration.zero : .milliseconds(milliseconds)
        return Work { progress in
            let state = try await self.workspace.driver().sync(scope, since: before, timeout: timeout) { state in
                let (pushed, pulled) = (state.traffic.pushedOperationCount, state.traffic.pulledOperationCount)
                progress("pushed \(pushed), pulled \(pulled) operations")
            }
            if !isForProgram, let failure = state.status.storeFailure { throw PeerdError(failure) }
            return SyncAnswer(state)
        }
    }

    private static func scope(_ text: String?) throws(Problem) -> SyncScope {
        guard let text else { return .whoeverAnswers }
        guard let scope = SyncScope(rawValue: text) else {
            throw .badRequest("The member “with” is “whoever_answers”, “anyone” or “everyone”.")
        }
        return scope
    }

    /// Keeps addresses at which there may be machines of the workspace.
    private func meet(_ request: Request) async throws -> Response {
        let members = try Members(try await request.json(), of: "The body")
        guard case .array? = members["addresses"] else { throw Problem.badRequest("The body needs “addresses”.") }
        var addresses: [NetworkAddress] = []
        for address in try members.array("addresses") {
            let members = try Members(address, of: "An address")
            let host = try members.requiredText("host")
            guard let port = try members.number("port", in: 1...65_535), !host.isEmpty else {
                throw Problem.badRequest("An address has a “host” and a “port”.")
            }
            try members.requireNoOthers()
            addresses.append(NetworkAddress(host: host, port: UInt16(port)))
        }
        try members.requireNoOthers()
        for address in addresses { try await self.workspace.keep(address) }
        return .noContent
    }

    /// Forgets a machine that is gone, named by its id, the beginning of that, or its name.
    private func forget(_ request: Request) async throws -> Response {
        let peers = try await self.workspace.nodeStatus().peers
        let (device, name) = try Self.device(request.parameters[0], of: peers.map { ($0.device, $0.name) })
        guard try await self.workspace.driver().forget(device) else {
            throw Problem.invalid("\(name) is connected, and so not gone; stop its daemon first.")
        }
        return .noContent
    }

    /// Removes a machine that is lost or stolen.
    private func remove(_ request: Request) async throws -> MachineRemovalAnswer {
        try request.requireOwner("Machines are removed", advice: "Use “peerd peers remove”.")
        let members = try Members(try await request.jsonOrNothing(), of: "The body")
        let (keep, takesOthers) = (try members.texts("keep"), try members.flag("with_invited"))
        let since = try members.text("since").map { text in
            guard let date = MomentText.date(text, now: Date()) else {
                throw PeerdError(
                    .invalidArgument,
                    "“\(text.prefix(80))” is no time.",
                    advice: "Write a time like 2026-03-01, 2026-03-01T14:30:00Z or “2 days ago”."
                )
            }
            return date
        }
        try members.requireNoOthers()
        let known = try await self.workspace.machines()
        let device = try Self.device(request.parameters[0], of: known).device
        let kept = try keep.map { try Self.device($0, of: known).device.description }
        let removal = try await self.workspace.remove(
            machine: device.description,
            keeping: kept,
            takingOthers: takesOthers,
            since: since
        )
        return MachineRemovalAnswer(removal, names: known)
    }

    /// Lets the erasures of a machine through that wait, or stops them.
    private func decideErasures(_ request: Request) async throws -> Response {
        try request.requireOwner("Erasures are allowed and stopped", advice: "Use “peerd erasures”.")
        let members = try Members(try await request.json(), of: "The body")
        let (text, decision) = (try members.requiredText("device"), try members.requiredText("decision"))
        try members.requireNoOthers()
        guard ["allow", "stop"].contains(decision) else {
            throw Problem.badRequest("A “decision” is “allow” or “stop”.")
        }
        let status = try await self.workspace.nodeStatus()
        let known =
            status.peers.map { ($0.device, $0.name) } + status.waitingErasures.map { ($0.device, $0.deviceName) }
        let (device, _) = try Self.device(text, of: known)
        try await self.workspace.driver().decideErasures(of: device, areAllowed: decision == "allow")
        return .noContent
    }

    /// The machine that a text names by its id, the beginning of that, or its name.
    static func device(
        _ text: String,
        of known: [(device: DeviceID, name: String)]
    ) throws -> (device: DeviceID, name: String) {
        let named = known.filter { $0.name == text }
        let found =
            named.isEmpty && text.utf8.count >= self.abbreviationLengthMin
            ? known.filter { $0.device.description.hasPrefix(text.lowercased()) } : named
        guard let machine = found.first, Set(found.map(\.device)).count == 1 else {
            throw Problem.noSuchObject(
                found.isEmpty
                    ? "No machine is known as “\(text)”; the list of machines shows their names and ids."
                    : "Several machines are known as “\(text)”; name one by its id."
            )
        }
        return machine
    }

    private static let abbreviationLengthMin = 4

    /// Orders held changes of the user's devices directly after what they had seen.
    private func restamp(_ request: Request) async throws -> RestampAnswer {
        let members = try Members(try await request.jsonOrNothing(), of: "The body")
        let isClockRight = try members.flag("clock_is_right")
        try members.requireNoOthers()
        let receipt = try await self.workspace.restamp(isClockRight: isClockRight)
        return try await self.workspace.reading { try RestampAnswer(written: receipt, in: &$0) }
    }

    /// Checks everything there is to check, and says what to do about what is wrong.
    private func doctor(_ request: Request) async throws -> Work<DiagnosisAnswer> {
        Work { progress in
            var diagnosis = try await self.workspace.diagnose { text in progress(text) }
            let daemonRuns = self.server.listen != nil
            if !daemonRuns, PrivateFile.mode(of: self.workspace.paths.socket) != nil {
                diagnosis.add(.ok, "socket", "a stopped daemon left its socket; the next daemon replaces it")
            }
            if let damage = try Settings.damage(self.workspace.paths) {
                diagnosis.add(.warning, "config", damage, Settings.damageAdvice)
            }
            diagnosis.checkAddresses(self.server.listen)
            let status = try await self.workspace.nodeStatus()
            diagnosis.checkNode(status, daemonRuns: daemonRuns)
            let findings = try await self.workspace.status(self.server).clockFindings
            diagnosis.checkClock(findings, now: SystemClock.now().wall)
            return DiagnosisAnswer(diagnosis)
        }
    }
}

extension RestampAnswer {
    /// What a change that was just written restamps.
    fileprivate init(written receipt: WriteReceipt, in transaction: inout some StoreTransaction) throws {
        self.restamped = []
        guard let dot = receipt.dot, let line = transaction.firstSegment(of: dot.replica) else { return }
        var write = WriteReference(stamp: .zero, segment: line, sequence: dot.sequence, index: 0)
        while let edit = try transaction.edit(write) {
            write.index += 1
            guard case .restamp(let restamp) = edit, let target = transaction.firstSegment(of: restamp.replica) else {
                continue
            }
            let name = transaction.segment(target).introduction?.deviceName ?? "?"
            let count = Int(clamping: restamp.lastSequence + 1 - restamp.firstSequence)
            self.restamped.append(Stretch(replica: restamp.replica.description, deviceName: name, changes: count))
        }
    }
}
