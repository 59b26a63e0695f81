import Foundation
import PeerdKit

func openOrExplain(_ directory: URL) async throws -> Workspace? {
    do {
        return try await Workspace.open(at: directory)
    } catch let error as PeerdError where error.code == .alreadyOpen {
        print(error.message, error.advice)
        return nil
    }
}

/// The code of the article "Embedding".
enum Embedding {
    static func run(in place: URL) async throws {
        let home = place.appendingPathComponent("home")
        let work = place.appendingPathComponent("work")
        for directory in [home, work] {
            let made = try await Workspace.create(at: directory, name: "laptop")
            await made.close()
        }
        try await Self.openTwo(home, work)
        try await Self.readInAnotherProcess(home)
        try await Self.killWriter(work)
    }

    private static func openTwo(_ homeDirectory: URL, _ workDirectory: URL) async throws {
        let home = try await Workspace.open(at: homeDirectory)
        let work = try await Workspace.open(at: workDirectory)
        for workspace in [home, work] { try await workspace.startSync(discovers: false) }
        try expect(try await openOrExplain(homeDirectory) == nil, "a directory is open for writing once")
        let attributes = try FileManager.default.attributesOfItem(atPath: homeDirectory.path)
        try expect(attributes[.posixPermissions] as? Int == 0o700, "only the owner may use the directory")
        await home.close()
        await work.close()
    }

    private static func readInAnotherProcess(_ directory: URL) async throws {
        let workspace = try await Workspace.open(at: directory)
        let reader = try self.process("read", directory)
        for text in ["Milk", "Bread"] {
            try await workspace.write { transaction in
                let item = try transaction.create("item")
                try transaction.set(title, to: text, on: item)
            }
        }
        reader.waitUntilExit()
        try expect(reader.terminationStatus == 0, "a second process sees what the first one writes")
        await workspace.close()
    }

    private static func killWriter(_ directory: URL) async throws {
        let writer = try self.process("write", directory)
        writer.waitUntilExit()
        try expect(writer.terminationReason == .uncaughtSignal, "the writer was killed")
        let workspace = try await Workspace.open(at: directory)
        let items = try await workspace.page(.objects(type: "item")).objects
        try expect(try items.map { try $0[title] } == ["Milk"], "what a killed process wrote is there")
        try expect(try await workspace.diagnose().isHealthy, "and nothing is damaged")
        await workspace.close()
    }

    // MARK: - The other process

    private static func process(_ role: String, _ directory: URL) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = [role, directory.path]
        try process.run()
        return process
    }

    /// Is the second process, in one of two roles.
    static func play(_ role: String, at directory: URL) async throws {
        if role == "read" { return try await self.drawItems(of: directory) }
        let workspace = try await Workspace.open(at: directory)
        try await workspace.write { transaction in
            let item = try transaction.create("item")
            try transaction.set(title, to: "Milk", on: item)
        }
        kill(getpid(), SIGKILL)
    }

    private static func drawItems(of directory: URL) async throws {
        func draw(_ objects: [Object]) {
            print("another process shows", objects.count, "items")
            if objects.count == 2 { exit(0) }
        }
        let reader = try await Workspace.open(at: directory, access: .readOnly)
        for try await page in reader.live(.objects(type: "item"), limit: 5) { draw(page.objects) }
    }
}
