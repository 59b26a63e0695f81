import Engine
import Foundation
import PeerdKit
import PeerdPreview
import Testing

private let title = Property<String>("title")

/// The outcome of a sync, computed before it takes place.
@Suite(.serialized) struct PreviewTests {
    private let place: TemporaryPlace
    private static let now = WallTime(milliseconds: UInt64(Date().timeIntervalSince1970 * 1_000))

    init() throws { self.place = try TemporaryPlace() }

    private var directories: [URL] { ["a", "b"].map { self.place.directory($0) } }

    private func worlds() async throws -> (first: Workspace, second: Workspace, note: ObjectID, folders: [ObjectID]) {
        let first = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let (note, folders) = try await first.write { transaction in
            let folders = try ["x", "y"].map { try transaction.create("folder", key: $0) }
            return (try transaction.create("note"), folders)
        }
        try await first.startSync(discovers: false)
        let invite = try await first.invite()
        let second = try await Workspace.join(invite, at: self.place.directory("b"), name: "second")
        try await self.bringInStep(second)
        await first.stopSync()
        return (first, second, note, folders)
    }

    private func bringInStep(_ workspace: Workspace) async throws {
        for _ in 0..<20 where try await workspace.sync(timeout: .seconds(30)).isInSync { return }
        Issue.record("the two did not come in step")
    }

    /// All files of the directories with their contents and times.
    private func files() throws -> [String: String] {
        var files: [String: String] = [:]
        for directory in self.directories {
            for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) + ["."] {
                let file = directory.appendingPathComponent(name)
                let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
                let content = (try? Data(contentsOf: file))?.base64EncodedString() ?? ""
                files[file.path] = "\(attributes[.modificationDate] ?? "") \(attributes[.size] ?? "") \(content)"
            }
        }
        return files
    }

    @Test func `a preview beside somebody who reads leaves him the locks of his database`() async throws {
        let (first, second, note, _) = try await self.worlds()
        await second.close()
        await first.close()
        let reader = try await Workspace.open(at: self.directories[0], access: .readOnly)
        #expect(try await reader.object(note) != nil)
        #expect(try await Preview.of(self.directories).verdict == .same)
        // Whoever closes the last connection removes the log.
        let outsider = Process()
        outsider.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let database = self.directories[0].appendingPathComponent("peerd.sqlite").path
        outsider.arguments = ["sqlite3", database, "SELECT count(*) FROM objects"]
        outsider.standardOutput = FileHandle.nullDevice
        try outsider.run()
        outsider.waitUntilExit()
        #expect(FileManager.default.fileExists(atPath: database + "-wal"))
        await reader.close()
    }

    @Test func `devices that are equal have nothing to do`() async throws {
        let (first, second, note, _) = try await self.worlds()
        await second.close()
        await first.close()
        let preview = try await Preview.of(self.directories)
        #expect(preview.verdict == .same)
        #expect(preview.devices.map(\.name) == ["first", "second"] && preview.devices.map(\.objectCount) == [3, 3])
        #expect(preview.devices.map { $0.missing?.changeCount } == [0, 0])
        #expect(preview.orders.areAllEqual && preview.orders.seed == nil && preview.orders.count == 1)
        #expect(preview.transfers.map(\.ending) == [.equal])
        let outcome = try #require(preview.outcome)
        #expect(outcome.objectCount == 3 && outcome.conflicts.isEmpty && outcome.objects.isEmpty)
        #expect(outcome.object(note) == nil)
    }

    @Test func `a preview tells what the sync then does, and changes no file`() async throws {
        let (first, second, note, folders) = try await self.worlds()
        for (workspace, text) in [(first, "ours"), (second, "theirs")] {
            try await workspace.write { try $0.set(title, to: text, on: note) }
            try await self.place.nextMillisecond()
        }
        try await first.write { try $0.move(folders[0], to: folders[1]) }
        try await self.place.nextMillisecond()
        try await second.write { try $0.move(folders[1], to: folders[0]) }
        try await first.write { try $0.delete(note) }
        await second.close()
        await first.close()
        let before = try self.files()
        let options = PreviewOptions(link: .satellite, now: Self.now.advanced(byMilliseconds: 60_000))
        let preview = try await Preview.of(self.directories, options)
        #expect(try self.files() == before)
        #expect(try await Preview.of(self.directories, options) == preview)
        #expect(try JSONDecoder().decode(Preview.self, from: JSONEncoder().encode(preview)) == preview)
        #expect(preview.verdict == .conflicts)
        let outcome = try #require(preview.outcome)
        #expect(outcome.conflicts.map(\.object) == [note] && outcome.conflicts.map(\.property) == ["title"])
        #expect(outcome.conflicts[0].winner?.value == .string("theirs"))
        #expect(outcome.conflicts[0].winner?.author.name == "second")
        #expect(outcome.movesUndone.map(\.object) == [folders[1]])
        let revival = try #require(outcome.revivals.first)
        #expect(outcome.revivals.count == 1 && revival.object == note)
        #expect(revival.deletedOn == [preview.devices[0].id])
        #expect(revival.deletion?.author.name == "first" && revival.deletion?.action == .delete)
        #expect(revival.edit?.action == .set(name: "title", to: .string("theirs")))
        #expect(preview.devices[0].missing?.writeCounts == ["title": 1])
        #expect(preview.devices[1].missing?.mostChanged.map(\.object).contains(note) == true)
        #expect(preview.transfers[0].duration > .seconds(1))
        #expect(try await Preview.of(self.directories, link: .lan).transfers[0].duration < .milliseconds(500))

        let left = try await Workspace.open(at: self.directories[0])
        let right = try await Workspace.open(at: self.directories[1])
        try await left.startSync(discovers: false)
        try await self.bringInStep(right)
        let conflicts = try await right.conflicts()
        #expect(conflicts == outcome.conflicts)
        #expect(try await right.movesWithoutEffect() == outcome.movesUndone)
        #expect(try await right.status().objectCount == outcome.objectCount)
        #expect(try await right.object(note)?.properties == outcome.object(note)?.properties)
        await right.close()
        await left.close()
        let after = try await Preview.of(self.directories)
        #expect(after.verdict == .same && after.outcome?.knownConflictCount == 1)
    }

    @Test func `changes from the future wait`() async throws {
        let (first, second, note, _) = try await self.worlds()
        try await first.write { try $0.set(title, to: "early", on: note) }
        await second.close()
        await first.close()
        let dayBefore = WallTime(milliseconds: Self.now.milliseconds - 86_400_000)
        let outcome = try #require(
            try await Preview.of(self.directories, PreviewOptions(now: dayBefore)).outcome
        )
        #expect(Set(outcome.waits.map(\.deviceName)) == ["first", "second"])
        for wait in outcome.waits {
            guard case .held = wait.reason else {
                Issue.record("\(wait)")
                continue
            }
        }
    }

    @Test func `moves that a device would settle later are settled before states are compared`() async throws {
        let (first, second, _, folders) = try await self.worlds()
        for workspace in [first, second] {
            for _ in 0..<5 {
                try await workspace.write { transaction in
                    for _ in 0..<1_000 { _ = try transaction.create("item", in: folders[1]) }
                }
            }
        }
        await second.close()
        await first.close()
        var options = PreviewOptions(now: Self.now.advanced(byMilliseconds: 60_000))
        // What comes late after the first is deferred for longer than the devices are together.
        options.lateWork.lateMoves = CatchUpLimits(costMax: 10, costPerMillisecond: 1)
        let preview = try await Preview.of(self.directories, options)
        #expect(preview.orders.areAllEqual && preview.verdict == .same, "\(preview.orders.deviations)")
        #expect(preview.outcome?.objectCount == 10_003)
        #expect(preview.devices.map { $0.missing?.moveCount } == [5_000, 5_000])
    }

    @Test func `orders are drawn from a seed where somebody says how many`() async throws {
        let (first, second, note, _) = try await self.worlds()
        try await first.write { try $0.set(title, to: "news", on: note) }
        await second.close()
        await first.close()
        let preview = try await Preview.of(self.directories, orderCount: 3, seed: 7)
        #expect(preview.orders.count == 3 && preview.orders.seed == 7 && preview.orders.syncCount == 3)
        #expect(preview.verdict == .same && preview.devices.map { $0.missing?.changeCount } == [0, 1])
    }

    @Test func `directories that do not belong together are refused`() async throws {
        let (first, second, _, _) = try await self.worlds()
        func code(_ directories: [URL]) async -> PeerdError.Code? {
            do {
                _ = try await Preview.of(directories)
                return nil
            } catch {
                return (error as? PeerdError)?.code
            }
        }
        let (a, b) = (self.directories[0], self.directories[1])
        #expect(await code([a, b]) == .alreadyOpen)
        await second.close()
        await first.close()
        #expect(await code([a]) == .invalidArgument)
        #expect(await code([a, a]) == .invalidArgument)
        #expect(await code([a, self.place.directory("none")]) == .noWorkspace)
        let stranger = try await Workspace.create(at: self.place.directory("c"), name: "stranger")
        await stranger.close()
        #expect(await code([a, stranger.directory]) == .invalidArgument)
        try Data("no database".utf8).write(to: b.appendingPathComponent("peerd.sqlite"))
        #expect(await code([a, b]) == .damaged)
        try FileManager.default.removeItem(at: b.appendingPathComponent("peerd.sqlite"))
        #expect(await code([a, b]) == .damaged)
    }

    @Test func `a preview that is cancelled ends, and tells how far it came`() async throws {
        let (first, second, note, _) = try await self.worlds()
        try await first.write { try $0.set(title, to: "news", on: note) }
        await second.close()
        await first.close()
        let (counts, continuation) = AsyncStream.makeStream(of: Int.self)
        let directories = self.directories
        let endless = Task {
            try await Preview.of(directories, orderCount: 1_000_000) { continuation.yield($0) }
        }
        for await count in counts where count >= 3 { break }
        endless.cancel()
        await #expect(throws: CancellationError.self) { try await endless.value }
    }
}
