import Foundation
import PeerdKit

/// The code of the article "Being offline".
enum BeingOffline {
    static func run(in place: URL) async throws {
        let pair = try await Pair(in: place)
        let milk = try await pair.laptop.write { try $0.create("item") }
        try await pair.meet()
        let addresses = try await pair.phone.peers().compactMap(\.address)

        try expect(addresses.count == 1, "a machine that was met has an address")

        await pair.laptop.close()
        try await pair.phone.write { try $0.set(title, to: "Milk", on: milk) }
        try expect(try await pair.phone.object(milk)?[title] == "Milk", "writing needs no network")
        try expect(try await !Self.exchange(pair.phone).isInSync, "without others nothing is in sync")
        try await Self.showPeers(pair.phone)
        try await Self.showStatus(pair.phone)

        let laptop = try await Workspace.open(at: pair.laptop.directory)
        try await laptop.startSync(discovers: false)
        try await Self.connect(pair.phone, addresses)
        try await eventually("the laptop has what the phone wrote") { try await laptop.object(milk)?[title] == "Milk" }
        await pair.phone.close()
        await laptop.close()
    }

    private static func exchange(_ workspace: Workspace) async throws -> SyncReport {
        let report = try await workspace.sync(timeout: .seconds(30))
        print("pushed", report.pushed, "pulled", report.pulled, report.isInSync ? "in sync" : "not in sync")
        return report
    }

    private static func showPeers(_ workspace: Workspace) async throws {
        for peer in try await workspace.peers() {
            guard let reason = peer.reason else { continue }
            print(peer.name, reason, reason.advice)
        }
        let reasons = try await workspace.peers().map(\.reason)
        guard case .offline? = reasons.first, reasons.count == 1 else {
            throw Unexpected(description: "Not so: a machine that was met and is gone is offline, but \(reasons)")
        }
    }

    private static func showStatus(_ workspace: Workspace) async throws {
        let status = try await workspace.status()
        for wait in status.waits { print(wait.changeCount, "changes of", wait.deviceName, "wait:", wait.reason) }
        if let time = status.clockSetBackFrom { print("The clock of this machine was set back. It showed", time) }
        if let failure = status.failure { print(failure.message, failure.advice) }
        try expect(status.waits.isEmpty && status.clockSetBackFrom == nil && status.failure == nil, "all is well")
    }

    private static func connect(_ workspace: Workspace, _ addresses: [String]) async throws {
        try await workspace.startSync(addresses: addresses, discovers: false)
    }
}
