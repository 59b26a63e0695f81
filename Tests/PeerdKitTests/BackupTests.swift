import Foundation
import PeerdKit
import Testing

private let text = Property<String>("text")
private let count = Property<Int>("count")

/// Backups as applications make them.
struct BackupTests {
    private let place: TemporaryPlace

    init() throws { self.place = try TemporaryPlace() }

    private func workspace() async throws -> Workspace {
        try await Workspace.create(at: self.place.directory("w"), name: "first")
    }

    private func export(_ workspace: Workspace) async throws -> Data {
        let file = self.place.directory("export-\(UUID().uuidString)")
        try await workspace.export(to: file)
        return try Data(contentsOf: file)
    }

    private func names(_ folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test func `a backup that could not be noted counts, and the status says why a restart forgets it`() async throws {
        let workspace = try await self.workspace()
        // Neither can be replaced by a file, or moved out of the way.
        for name in ["config", "config.damaged"] {
            let path = self.place.directory("w").appendingPathComponent(name)
            try? FileManager.default.removeItem(at: path)
            try FileManager.default.createDirectory(
                at: path.appendingPathComponent("in the way"),
                withIntermediateDirectories: true
            )
        }
        let backup = try await workspace.backUp(to: self.place.directory("one.peerd-backup"))
        let status = workspace.backupStatus()
        #expect(status.last == backup)
        let failure = try #require(status.failure)
        #expect(failure.code == .storageFailed && failure.message.contains("config"), "\(failure)")
        try FileManager.default.removeItem(at: self.place.directory("w").appendingPathComponent("config"))
        try await workspace.backUp(to: self.place.directory("two.peerd-backup"))
        #expect(workspace.backupStatus().failure == nil)
        await workspace.close()
    }

    @Test func `a restored machine has everything, and writes under a new replica id`() async throws {
        let workspace = try await self.workspace()
        let note = try await workspace.write { transaction in
            let note = try transaction.create("note")
            try transaction.set(text, to: "before", on: note)
            return note
        }
        let file = self.place.directory("one.peerd-backup")
        let backup = try await workspace.backUp(to: file)
        #expect(backup.deviceName == "first" && backup.file.path == file.path)
        #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
        #expect(try await Backup.verify(at: file).findings.allSatisfy { $0.level == .ok })
        #expect(workspace.backupStatus().last == backup)
        let before = try await self.export(workspace)

        let target = self.place.directory("restored")
        #expect(try await Backup.restore(from: file, to: target).date == backup.date)
        let restored = try await Workspace.open(at: target)
        #expect(try await self.export(restored) == before)
        #expect(try await restored.status().replicaCount == 1)
        try await restored.write { try $0.set(text, to: "after", on: note) }
        #expect(try await restored.status().replicaCount == 2)
        #expect(try await restored.diagnose().isHealthy)
        #expect(restored.backupStatus().last?.file == backup.file)
        await restored.close()
        await workspace.close()
    }

    @Test func `a backup among writes shows one moment, and every write that was acknowledged before`() async throws {
        let workspace = try await self.workspace()
        let (left, right) = try await workspace.write { transaction in
            let large = try transaction.create("filling")
            for number in 0..<64 {
                let filling = String(repeating: "x", count: 64 << 10)
                try transaction.set(Property<String>("\(number)"), to: filling, on: large)
            }
            return (try transaction.create("pair"), try transaction.create("pair"))
        }
        let writer = Task {
            var number = 0
            while !Task.isCancelled {
                number += 1
                let value = number
                try await workspace.write { transaction in
                    try transaction.set(count, to: value, on: left)
                    try transaction.set(count, to: value, on: right)
                }
            }
            return number
        }
        var backups: [(acknowledged: Int, file: URL)] = []
        for number in 0..<4 {
            let file = self.place.directory("\(number).peerd-backup")
            let acknowledged = try await workspace.object(left)?[count] ?? 0
            try await workspace.backUp(to: file)
            backups.append((acknowledged, file))
        }
        writer.cancel()
        #expect(try await writer.value > 0)
        for (number, backup) in backups.enumerated() {
            let target = self.place.directory("restored-\(number)")
            try await Backup.restore(from: backup.file, to: target)
            let restored = try await Workspace.open(at: target, access: .readOnly)
            let (one, other) = (try await restored.object(left)?[count], try await restored.object(right)?[count])
            #expect(one == other)
            #expect(one ?? 0 >= backup.acknowledged)
            await restored.close()
        }
        #expect(try await Backup.verify(at: try #require(backups.last?.file)).isHealthy)
        await workspace.close()
    }

    @Test func `a changed byte is found anywhere, and so is a missing or added one`() async throws {
        let workspace = try await self.workspace()
        try await workspace.write { try $0.set(text, to: "kept", on: try $0.create("note")) }
        let file = self.place.directory("whole.peerd-backup")
        try await workspace.backUp(to: file)
        await workspace.close()
        let whole = try Data(contentsOf: file)
        let damaged = self.place.directory("damaged.peerd-backup")
        // All bytes around the database, and some of it.
        var places = Array(0..<1200) + Array(whole.count - 100..<whole.count)
        places += stride(from: 1200, to: whole.count - 100, by: 499)
        for place in places {
            var bytes = whole
            bytes[place] ^= 1 << (place % 8)
            try bytes.write(to: damaged)
            do {
                #expect(try await !Backup.verify(at: damaged).isHealthy, "byte \(place)")
            } catch let error as PeerdError {
                #expect(error.code == .newerVersion && place < 15, "byte \(place): \(error)")
            }
        }
        for length in [0, 1, 14, 15, 24, 600, whole.count - 42, whole.count - 41, whole.count - 1] {
            try whole.prefix(length).write(to: damaged)
            #expect(try await !Backup.verify(at: damaged).isHealthy, "\(length) bytes")
        }
        try (whole + [0]).write(to: damaged)
        #expect(try await !Backup.verify(at: damaged).isHealthy)
        let target = self.place.directory("restored")
        await #expect(throws: PeerdError.self) { try await Backup.restore(from: damaged, to: target) }
        #expect(!FileManager.default.fileExists(atPath: target.path))
    }

    @Test(arguments: [
        "UPDATE operation SET value = 'forged' WHERE value = 'written'",
        "DELETE FROM register",
        "CREATE TRIGGER forged AFTER INSERT ON change BEGIN DELETE FROM register; END",
        "DROP VIEW objects",
    ])
    func `what peerd did not write is found although every checksum fits`(sql: String) async throws {
        let workspace = try await self.workspace()
        try await workspace.write { try $0.set(text, to: "written", on: try $0.create("note")) }
        await workspace.close()
        try self.shell(workspace, sql)
        let forged = try await Workspace.open(at: workspace.directory)
        let file = self.place.directory("forged.peerd-backup")
        try await forged.backUp(to: file)
        await forged.close()
        let findings = try await Backup.verify(at: file).findings
        #expect(findings.contains { $0.level == .ok && $0.subject == "file" })
        #expect(findings.contains { $0.level == .problem })
    }

    private func shell(_ workspace: Workspace, _ sql: String) throws {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        shell.arguments = ["sqlite3", workspace.directory.appendingPathComponent("peerd.sqlite").path, sql]
        try shell.run()
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 0)
    }

    @Test func `the doctor sees that programs miss properties`() async throws {
        let workspace = try await self.workspace()
        try await workspace.write { try $0.set(text, to: "written", on: try $0.create("note")) }
        try self.shell(workspace, "DELETE FROM name_block")
        let problems = try await workspace.diagnose().findings.filter { $0.level == .problem }
        #expect(problems.map(\.subject) == ["tables"], "\(problems)")
        #expect(problems.allSatisfy { $0.detail.contains("name_block") })
        await workspace.close()
    }

    @Test(arguments: [
        ("CREATE TRIGGER forged AFTER INSERT ON change BEGIN DELETE FROM register; END", Diagnosis.Level.problem),
        ("DROP VIEW objects", Diagnosis.Level.problem), ("SELECT 1", Diagnosis.Level.ok),
        ("CREATE VIEW mine AS SELECT * FROM properties", Diagnosis.Level.warning),
    ])
    func `the doctor sees what is in the database beside the tables of peerd`(
        sql: String,
        level: Diagnosis.Level
    ) async throws {
        let workspace = try await self.workspace()
        try self.shell(workspace, sql)
        let findings = try await workspace.diagnose().findings.filter { $0.subject == "tables" }
        #expect(findings.map(\.level) == [level], "\(findings)")
        await workspace.close()
    }

    @Test(arguments: ["application_id = 7", "application_id = 0"])
    func `a backup of what no command could open is not restored`(pragma: String) async throws {
        let workspace = try await self.workspace()
        // A database that is open is not looked at again.
        try self.shell(workspace, "PRAGMA \(pragma)")
        let file = self.place.directory("b.peerd-backup")
        try await workspace.backUp(to: file)
        let target = self.place.directory("restored")
        await #expect { try await Backup.restore(from: file, to: target) } throws: { error in
            (error as? PeerdError)?.code == .damaged
        }
        #expect(!FileManager.default.fileExists(atPath: target.path))
        await workspace.close()
    }

    @Test func `nothing is written over but a backup, and nothing is restored over anything`() async throws {
        let workspace = try await self.workspace()
        let file = self.place.directory("diary.txt")
        try Data("dear diary".utf8).write(to: file)
        await #expect { try await workspace.backUp(to: file) } throws: { error in
            (error as? PeerdError)?.code == .invalidArgument
        }
        #expect(try Data(contentsOf: file) == Data("dear diary".utf8))
        let (inside, files) = (workspace.directory, workspace.directory.appendingPathComponent("files"))
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
        let link = self.place.directory("link")
        try FileManager.default.linkItem(at: inside.appendingPathComponent("peerd.sqlite"), to: link)
        for file in [link] + ["peerd.sqlite", "one", "files/one"].map(inside.appendingPathComponent) {
            await #expect { try await workspace.backUp(to: file) } throws: { error in
                (error as? PeerdError)?.message.contains("data directory") == true
            }
        }
        try FileManager.default.removeItem(at: link)
        let backup = self.place.directory("b.peerd-backup")
        try await workspace.backUp(to: backup)
        try await workspace.write { try $0.set(text, to: "later", on: try $0.create("note")) }
        await #expect { try await workspace.backUp(to: backup) } throws: { error in
            (error as? PeerdError)?.code == .invalidArgument
        }
        try await workspace.backUp(to: backup, replacing: true)
        for directory in [workspace.directory, self.place.url] {
            let before = try self.names(directory)
            await #expect { try await Backup.restore(from: backup, to: directory) } throws: { error in
                (error as? PeerdError)?.code == .workspaceExists
            }
            #expect(try self.names(directory) == before)
        }
        let target = self.place.directory("new")
        try await Backup.restore(from: backup, to: target)
        let restored = try await Workspace.open(at: target)
        #expect(try await self.export(restored) == self.export(workspace))
        await restored.close()
        await workspace.close()
    }

    @Test func `a plan makes backups, keeps some, touches no other file, and repeats what failed`() async throws {
        let workspace = try await self.workspace()
        let folder = self.place.directory("backups")
        let others = ["notes.txt", "peerd-0000000000000000-0000000000000000-20200101T000000.000Z.peerd-backup"]
        await #expect(throws: PeerdError.self) {
            try await workspace.setBackupSchedule(
                BackupSchedule(intervalSeconds: 1, keptCount: 2, folder: folder)
            )
        }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for name in others { try Data("other".utf8).write(to: folder.appendingPathComponent(name)) }
        let plan = try BackupSchedule(intervalSeconds: 1, keptCount: 2, folder: folder)
        try await workspace.setBackupSchedule(plan)
        let (reports, continuation) = AsyncStream.makeStream(of: Result<Backup, PeerdError>.self)
        let maker = Task { await workspace.makeScheduledBackups { continuation.yield($0) } }
        var made: [Backup] = []
        var iterator = reports.makeAsyncIterator()
        while made.count < 4, let report = await iterator.next() { made.append(try report.get()) }
        try FileManager.default.removeItem(at: folder)
        var failure: PeerdError?
        while failure == nil, let report = await iterator.next() {
            if case .failure(let error) = report { failure = error }
        }
        #expect(workspace.backupStatus().failure == failure)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for name in others { try Data("other".utf8).write(to: folder.appendingPathComponent(name)) }
        made = []
        while made.count < 4, let report = await iterator.next() {
            if case .success(let backup) = report { made.append(backup) }
        }
        #expect(workspace.backupStatus().failure == nil)
        maker.cancel()
        await maker.value
        let names = try self.names(folder)
        #expect(names.filter { others.contains($0) } == others.sorted())
        let kept = names.filter { !others.contains($0) }
        #expect(kept.count == 2 && kept.last == workspace.backupStatus().last?.file.lastPathComponent)
        await workspace.close()
        let again = try await Workspace.open(at: workspace.directory)
        #expect(again.backupStatus().schedule == plan)
        await again.close()
    }
}
