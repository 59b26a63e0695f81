import Engine
import Foundation
import PeerdKit
import Testing

/// Workspaces of one process that meet over loopback.
@Suite(.serialized) struct SyncTests {
    private let place: TemporaryPlace
    private static let title = Property<String>("title")

    init() throws { self.place = try TemporaryPlace() }

    /// Waits until a question has an answer, as something goes on elsewhere.
    private func until(_ question: () async throws -> Bool) async throws {
        for _ in 0..<3_000 {
            if try await question() { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("it did not happen within a minute")
    }

    @Test func `an address that was just added is being dialled, or was tried`() async throws {
        let workspace = try await Workspace.create(at: self.place.directory("a"), name: "first")
        try await workspace.startSync(discovers: false)
        for port in UInt16(1)...20 {
            try await workspace.keep(NetworkAddress(host: "127.0.0.1", port: port))
            let status = try await workspace.nodeStatus()
            #expect(status.isDialling || status.failingAddresses.contains { $0.address.port == port }, "\(port)")
        }
        await workspace.close()
    }

    @Test func `who joins gets everything, and edits go both ways while both sync`() async throws {
        let first = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let note = try await first.write { transaction in
            let note = try transaction.create("note")
            try transaction.set(Self.title, to: "Milk", on: note)
            return note
        }
        try await first.startSync(discovers: false)
        try await first.startSync(discovers: false)
        let invite = try await first.invite()
        let line = try Invitation("  \(invite.text)\n")
        #expect(line == invite)
        let second = try await Workspace.join(line, at: self.place.directory("b"), name: "second")
        let report = try await second.sync(timeout: .seconds(30))
        #expect(report.isInSync && report.pulled > 0)
        #expect(try await second.object(note)?[Self.title] == "Milk")
        #expect(report.peers.map(\.name) == ["first"] && report.peers[0].reason == nil)
        await #expect { try await Workspace.join(line, at: self.place.directory("c"), name: "third") } throws: {
            ($0 as? PeerdError)?.code == .inviteSpent
        }
        try await second.startSync(discovers: false)
        try await second.write { try $0.set(Self.title, to: "Eggs", on: note) }
        try await self.until { try await first.object(note)?[Self.title] == "Eggs" }
        try await first.write { try $0.set(Self.title, to: "Bread", on: note) }
        try await self.until { try await second.object(note)?[Self.title] == "Bread" }
        await second.stopSync()
        try await self.until { try await !first.peers().contains(where: \.isConnected) }
        let away = try #require(try await first.peers().first)
        let seen = try #require(away.lastSeen)
        #expect(away.reason == .offline(since: seen) && abs(seen.timeIntervalSinceNow) < 3_600)
        try await first.write { try $0.set(Self.title, to: "Tea", on: note) }
        #expect(try await second.object(note)?[Self.title] == "Bread")
        try await second.startSync(discovers: false)
        try await self.until { try await second.object(note)?[Self.title] == "Tea" }
        // A sync without one that goes on.
        await second.stopSync()
        try await second.write { try $0.set(Self.title, to: "Salt", on: note) }
        let pushed = try await second.sync(timeout: .seconds(30))
        #expect(pushed.isInSync && pushed.pushed > 0)
        #expect(try await first.object(note)?[Self.title] == "Salt")
        await second.close()
        await first.close()
    }

    @Test func `a timeout is a result, and a cancelled sync ends`() async throws {
        let first = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let report = try await first.sync(timeout: .milliseconds(50))
        #expect(!report.isInSync && report.pushed == 0 && report.peers.isEmpty)
        let endless = Task { try await first.sync(timeout: .seconds(600)) }
        endless.cancel()
        await #expect(throws: CancellationError.self) { try await endless.value }
        await first.close()
    }

    @Test func `whoever dials a machine that begins to listen is answered`() async throws {
        let first = try await Workspace.create(at: self.place.directory("a"), name: "first")
        try await first.startSync(discovers: false)
        let second = try await Workspace.join(try await first.invite(), at: self.place.directory("b"), name: "second")
        #expect(try await second.sync(timeout: .seconds(30)).isInSync)
        let driver = try second.driver()
        // On a busy machine, some time passes between any two steps.
        let others = (0..<8).map { _ in
            Task {
                while !Task.isCancelled {
                    let end = ContinuousClock.now + .milliseconds(5)
                    while ContinuousClock.now < end {}
                    await Task.yield()
                }
            }
        }
        for _ in 0..<5 {
            await first.stopSync()
            let knocking = Task {
                while !Task.isCancelled {
                    await driver.meetEveryone()
                    try await Task.sleep(for: .microseconds(200))
                }
            }
            try await first.startSync(discovers: false)
            knocking.cancel()
            #expect(try await second.sync(timeout: .seconds(30)).isInSync)
        }
        for other in others { other.cancel() }
        await second.close()
        await first.close()
    }
}
