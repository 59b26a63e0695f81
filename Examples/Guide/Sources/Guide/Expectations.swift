import Foundation
import PeerdKit

/// A statement of an article that did not hold.
struct Unexpected: Error, CustomStringConvertible {
    let description: String
}

/// Ends the program with an error if something is not as an article says.
func expect(_ condition: Bool, _ statement: String) throws {
    if !condition { throw Unexpected(description: "Not so: \(statement)") }
}

/// Waits until something becomes true, and throws after half a minute.
func eventually(_ statement: String, _ condition: () async throws -> Bool) async throws {
    for _ in 0..<1_000 {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(30))
    }
    throw Unexpected(description: "Not in time: \(statement)")
}

/// Waits until the clock of this machine shows another millisecond: what is written then is later.
func aMomentLater() async throws {
    let now = { Int(Date().timeIntervalSince1970 * 1_000) }
    let before = now()
    while now() <= before { try await Task.sleep(for: .milliseconds(1)) }
}

/// Two machines of one workspace, in one process.
struct Pair {
    let laptop: Workspace
    let phone: Workspace

    init(in place: URL) async throws {
        self.laptop = try await Workspace.create(at: place.appendingPathComponent("laptop"), name: "laptop")
        try await self.laptop.startSync(discovers: false)
        let invite = try await self.laptop.invite()
        self.phone = try await Workspace.join(invite, at: place.appendingPathComponent("phone"), name: "phone")
    }

    /// Ends all connections, so that each machine writes on its own.
    func part() async {
        await self.laptop.stopSync()
        await self.phone.stopSync()
    }

    /// Connects the machines, and waits until both hold the same.
    func meet() async throws {
        try await self.laptop.startSync(discovers: false)
        try await eventually("both machines hold the same") {
            try await self.phone.sync(timeout: .seconds(30)).isInSync
        }
        let objects = (try await self.laptop.page(.all).objects, try await self.phone.page(.all).objects)
        try expect(objects.0 == objects.1, "machines that have seen the same changes have the same objects")
    }

    func close() async {
        await self.phone.close()
        await self.laptop.close()
    }
}
