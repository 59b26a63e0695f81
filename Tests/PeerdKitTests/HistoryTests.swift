import Foundation
import PeerdKit
import Testing

private let title = Property<String>("title")
private let tags = Property<Value>("tags")

/// Conflicts, the log, and what a workspace says of itself, with two machines that write apart.
struct HistoryTests {
    private let place: TemporaryPlace

    init() throws { self.place = try TemporaryPlace() }

    /// Syncs until nothing is missing: on a busy machine the other may not answer at once.
    private static func bringInStep(_ workspace: Workspace) async throws {
        for _ in 0..<20 where try await workspace.sync(timeout: .seconds(30)).isInSync { return }
        Issue.record("the two did not come in step")
    }

    /// Two workspaces in which a note got a title and a place apart, synced.
    private func worlds() async throws -> (first: Workspace, second: Workspace, note: ObjectID, folders: [ObjectID]) {
        let first = try await Workspace.create(at: self.place.directory("a"), name: "first")
        let (note, folders) = try await first.write { transaction in
            let folders = try ["x", "y"].map { try transaction.create("folder", key: $0) }
            return (try transaction.create("note"), folders)
        }
        try await first.startSync(discovers: false)
        let second = try await Workspace.join(
            try await first.invite(),
            at: self.place.directory("b"),
            name: "second"
        )
        try await Self.bringInStep(second)
        await first.stopSync()
        for (workspace, text, folder) in [(first, "ours", folders[0]), (second, "theirs", folders[1])] {
            try await workspace.write { transaction in
                try transaction.set(title, to: text, on: note)
                try transaction.move(note, to: folder)
            }
        }
        try await first.startSync(discovers: false)
        try await Self.bringInStep(second)
        return (first, second, note, folders)
    }

    @Test func `what was written apart is a conflict on both, until somebody who has seen it decides`() async throws {
        let (first, second, note, folders) = try await self.worlds()
        var found: [[Conflict]] = []
        for workspace in [first, second] { found.append(try await workspace.conflicts()) }
        try #require(found[0].map(\.subject) == [.property("title"), .place])
        #expect(found[0].map { $0.losers.map(\.id) } == found[1].map { $0.losers.map(\.id) })
        let conflict = found[0][0]
        let winner = try #require(conflict.winner)
        #expect(Set([winner.value, conflict.losers[0].value]) == [.string("ours"), .string("theirs")])
        #expect(conflict.losers.count == 1 && winner.author.name != conflict.losers[0].author.name)
        #expect(winner.author.isThisMachine == (winner.author.name == "first"))
        #expect(try await first.object(note)?[title].map { .string($0) } == winner.value)
        #expect(try await first.conflicts(in: .object(folders[0])).isEmpty)
        #expect(try await first.status().conflictCount == 2)
        // The loser wins after all; what travelled as JSON is as good.
        let decoded = try JSONDecoder().decode(Conflict.self, from: JSONEncoder().encode(conflict))
        #expect(decoded == conflict)
        try await first.resolve(decoded, with: decoded.losers[0].content)
        try await first.resolve(found[0][1], with: .place(folders[0]))
        #expect(try await first.conflicts().isEmpty)
        try await Self.bringInStep(second)
        #expect(try await second.conflicts().isEmpty)
        #expect(try await second.object(note)?[title].map { .string($0) } == conflict.losers[0].value)
        #expect(try await second.object(note)?.parent == folders[0])
        await second.close()
        await first.close()
    }

    @Test func `what is in force already can be confirmed, and ends the conflict`() async throws {
        let (first, second, note, _) = try await self.worlds()
        for conflict in try await first.conflicts() {
            try await first.resolve(conflict, with: try #require(conflict.winner).content)
        }
        #expect(try await first.conflicts().isEmpty)
        let object = try await first.object(note)
        try await Self.bringInStep(second)
        #expect(try await second.conflicts().isEmpty)
        #expect(try await second.object(note)?.properties == object?.properties)
        #expect(try await second.object(note)?.parent == object?.parent)
        await second.close()
        await first.close()
    }

    @Test(
        arguments: [
            .null, .bool(true), .int(-1), .int(.max), .double(1), .double(-0.0), .double(1.5), .double(1e300),
            .double(.nan), .double(-.infinity), .string("{\"$bytes\":\"00\"}"), .bytes([0, 255]),
            .document("{\"a\":[1,null,1.5]}"),
            .document("[]"),
        ] as [Value]
    )
    func `values are read back from JSON as they were`(value: Value) throws {
        let encoder = JSONEncoder()
        #expect(try JSONDecoder().decode(Value.self, from: encoder.encode(value)) == value)
        #expect(try JSONDecoder().decode([Value].self, from: encoder.encode([value, value])) == [value, value])
    }

    @Test func `JSON that lies too deep for a property is refused, and nothing traps`() {
        for depth in [130, 400, 100_000] {
            let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            #expect(throws: (any Error).self) { try JSONDecoder().decode(Value.self, from: Data(text.utf8)) }
        }
    }

    @Test func `what was written apart and says the same is no conflict`() async throws {
        let (first, second, note, folders) = try await self.worlds()
        await first.stopSync()
        for workspace in [first, second] {
            try await workspace.write { transaction in
                try transaction.set(title, to: "both", on: note)
                try transaction.move(note, to: folders[0])
                let made = try transaction.create("day", key: "2026-01-31")
                try transaction.create("entry", in: made, key: "2026-01-31/water")
            }
        }
        try await first.startSync(discovers: false)
        try await Self.bringInStep(second)
        for workspace in [first, second] {
            #expect(try await workspace.conflicts() == [])
            #expect(try await workspace.status().conflictCount == 0)
            #expect(try await workspace.count(.objects(type: "entry")) == 1)
        }
        await second.close()
        await first.close()
    }

    @Test func `kinds that were given apart are a conflict that no write can end`() async throws {
        let (first, second, _, _) = try await self.worlds()
        for conflict in try await first.conflicts() {
            try await first.resolve(conflict, with: try #require(conflict.winner).content)
        }
        try await Self.bringInStep(second)
        await first.stopSync()
        for (workspace, kind) in [(first, "ours"), (second, "theirs")] {
            try await workspace.write { transaction in
                try transaction.create("day", kind: kind, key: "different")
                try transaction.create("day", kind: "same", key: "same")
                // One who has seen the other decides nothing and contests nothing.
                if workspace === first { try transaction.create("day", kind: "early", key: "in turn") }
            }
        }
        try await first.startSync(discovers: false)
        try await Self.bringInStep(second)
        try await second.write { try $0.create("day", kind: "late", key: "in turn") }
        try await Self.bringInStep(second)
        let found = [try await first.conflicts(), try await second.conflicts()]
        let conflict = try #require(found[0].first)
        let winner = try #require(conflict.winner)
        #expect(found[0].count == 1 && found[1] == found[0])
        #expect(conflict.subject == .creation && conflict.property == nil && conflict.losers.count == 1)
        #expect(
            Set([winner.content, conflict.losers[0].content]) == [
                .creation(type: "day", kind: "ours"), .creation(type: "day", kind: "theirs"),
            ]
        )
        let kind = try #require(try await second.object(conflict.object)).kind
        #expect(winner.content == .creation(type: "day", kind: kind))
        #expect(try await second.status().conflictCount == 1)
        #expect(try JSONDecoder().decode(Conflict.self, from: JSONEncoder().encode(conflict)) == conflict)
        for content in [winner.content, conflict.losers[0].content, .removal, .place(nil)] {
            let error = await #expect(throws: PeerdError.self) { try await first.resolve(conflict, with: content) }
            #expect(error?.code == .invalidArgument)
        }
        // Without the object there is nothing to decide.
        try await first.write { try $0.delete(conflict.object) }
        #expect(try await first.conflicts().isEmpty)
        #expect(try await first.status().conflictCount == 0)
        await second.close()
        await first.close()
    }

    @Test func `a conflict that is not the one that was read is left alone`() async throws {
        let (first, second, note, _) = try await self.worlds()
        let conflicts = try await first.conflicts()
        try #require(conflicts.count == 2)
        await #expect(throws: PeerdError.self) {
            try await first.resolve(conflicts[0], with: .place(nil))
        }
        try await first.write { try $0.set(title, to: "meanwhile", on: note) }
        let error = await #expect(throws: PeerdError.self) {
            try await first.resolve(conflicts[0], with: .removal)
        }
        #expect(error?.code == .conflictChanged)
        #expect(try await first.object(note)?[title] == "meanwhile")
        try await first.resolve(conflicts[1], with: .place(nil))
        #expect(try await first.object(note)?.parent == nil)
        await second.close()
        await first.close()
    }

    @Test func `the log has everything that was written, in the words of the library`() async throws {
        let (first, second, note, folders) = try await self.worlds()
        var entries: [LogEntry] = []
        for try await entry in second.log(of: note) { entries.append(entry) }
        // It was made at a place, too.
        #expect(entries.count == 6)
        let decoded = try JSONDecoder().decode([LogEntry].self, from: JSONEncoder().encode(entries))
        #expect(decoded == entries && Set(entries.map(\.id)).count == 6)
        #expect(entries.filter { $0.action == .create(type: "note", kind: "") }.count == 1)
        let titles = entries.filter { if case .set = $0.action { true } else { false } }
        #expect(Set(titles.map(\.status)) == [.effective, .conflict])
        #expect(Set(titles.map(\.author.isThisMachine)) == [true, false])
        #expect(Set(entries.map(\.action)).isSuperset(of: folders.map { .move(under: $0) }))
        var count = 0
        for try await entry in second.log() {
            count += 1
            #expect(entry.status.isEffective)
        }
        // Two folders with their places, and what each machine says of itself.
        #expect(count == 6 + 4 + 2)
        let reader = try await Workspace.open(at: first.directory, access: .readOnly)
        var read = 0
        for try await _ in reader.log(of: note) { read += 1 }
        #expect(read == 6)
        await reader.close()
        await second.close()
        await first.close()
    }

    @Test func `a workspace says how it stands, and what is wrong with it`() async throws {
        let (first, second, _, _) = try await self.worlds()
        let status = try await second.status()
        #expect(status.deviceName == "second" && status.objectCount == 3 && status.replicaCount == 2)
        #expect(status.peers.map(\.name) == ["first"] && status.waits.isEmpty && status.failure == nil)
        #expect(try JSONDecoder().decode(Status.self, from: JSONEncoder().encode(status)) == status)
        #expect(try await !second.restampHeldChanges())
        for workspace in [first, second] {
            let diagnosis = try await workspace.diagnose()
            #expect(diagnosis.isHealthy && diagnosis.findings.allSatisfy { $0.level == .ok })
            #expect(Set(diagnosis.findings.map(\.subject)).isSuperset(of: ["database", "log", "state", "permissions"]))
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: second.directory.path)
        let problem = try #require(try await second.diagnose().findings.first { $0.level == .problem })
        #expect(problem.subject == "permissions" && problem.advice?.contains("chmod") == true)
        await second.close()
        await first.close()
    }

    @Test func `what was exported is taken in elsewhere, and a second time changes nothing`() async throws {
        let first = try await Workspace.create(at: self.place.directory("a"), name: "first")
        try await first.write { transaction in
            let list = try transaction.create("list", key: "groceries")
            for number in 0..<700 {
                let item = try transaction.create("item", in: list, key: "\(number)")
                try transaction.set(tags, to: .bytes([1, UInt8(number % 250)]), on: item)
            }
        }
        let file = self.place.url.appendingPathComponent("export.json")
        try await first.export(to: file)
        let other = try await Workspace.create(at: self.place.directory("b"), name: "other")
        let data = try Data(contentsOf: file)
        let progress = Reports()
        let report = try await other.importObjects(from: data) { progress.add($0.objectCount) }
        #expect(report.objectCount == 701 && report.totalCount == 701)
        #expect(progress.all.count > 1 && progress.all.last == 701)
        let again = self.place.url.appendingPathComponent("again.json")
        let changes = try await other.status().changeCount
        try await other.importObjects(from: data)
        #expect(try await other.status().changeCount == changes)
        try await other.export(to: again)
        // The same objects, made at another time by another.
        let (before, after) = (try Self.states(file), try Self.states(again))
        #expect(before == after && before.count == 701)
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.place.url.path).count == 4)
        for text in ["", "{}", "[{}]"] {
            let error = await #expect(throws: PeerdError.self) {
                try await other.importObjects(from: Data(text.utf8))
            }
            #expect(error?.code == .importInvalid)
        }
        await first.close()
        await other.close()
    }

    /// Type and properties of each exported object, by id.
    private static func states(_ file: URL) throws -> [String: String] {
        struct Exported: Decodable {
            var id: String
            var type: String
            var properties: [String: Value]
        }
        let objects = try JSONDecoder().decode([Exported].self, from: try Data(contentsOf: file))
        return Dictionary(uniqueKeysWithValues: objects.map { ($0.id, "\($0.type) \($0.properties)") })
    }
}

/// Counts that a callback was told.
private final class Reports: @unchecked Sendable {
    private let lock = NSLock()
    private var counts: [Int] = []

    var all: [Int] { self.lock.withLock { self.counts } }

    func add(_ count: Int) { self.lock.withLock { self.counts.append(count) } }
}
