import Foundation
import MergeModel
import PeerdKit
import Testing

/// Readers in one process, while the process that writes is killed again and again.
@Suite(.serialized) struct KilledWriterTests {
    /// So many, or what the environment asks for.
    private static let killCount = ProcessInfo.processInfo.environment["PEERD_KILLS"].flatMap(Int.init) ?? 60
    private static let rank = Property<Int>("rank")

    private let place = FileManager.default.temporaryDirectory.appendingPathComponent("peerd-kills-\(UUID())")

    private var directory: URL { self.place.appendingPathComponent("w") }

    /// The program that was built with these tests.
    private static func program() throws -> URL {
        let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let program = bundle.appendingPathComponent("peerd")
        try #require(FileManager.default.isExecutableFile(atPath: program.path), "\(program.path)")
        return program
    }

    /// Runs the program and kills it after some milliseconds, or lets it end; returns its exit code.
    @discardableResult
    private func run(_ arguments: [String], killedAfter milliseconds: Int? = nil) throws -> Int32 {
        let process = Process()
        process.executableURL = try Self.program()
        process.arguments = arguments + ["--dir", self.directory.path]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        if let milliseconds {
            usleep(UInt32(milliseconds) * 1_000)
            kill(process.processIdentifier, SIGKILL)
        }
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : -1
    }

    /// A file with many objects in several folders, some of them elsewhere than before.
    private func file(_ round: Int) throws -> String {
        var objects = (0..<4).map { #"{"type":"folder","key":"f\#($0)","parent_key":"top","parent_type":"folder"}"# }
        objects.insert(#"{"type":"folder","key":"top"}"#, at: 0)
        let filler = String(repeating: "x", count: 400)
        for number in 0..<600 {
            let folder = (number + round * 7) % 5
            let parent = folder == 4 ? #""parent":null"# : #""parent_key":"f\#(folder)","parent_type":"folder""#
            let properties = #"{"rank":\#((number + round) % 9),"text":"\#(filler)\#(round)"}"#
            objects.append(#"{"type":"item","key":"\#(number)",\#(parent),"properties":\#(properties)}"#)
        }
        let file = self.place.appendingPathComponent("\(round).json")
        try Data("[\(objects.joined(separator: ",\n"))]".utf8).write(to: file)
        return file.path
    }

    /// Nobody writes meanwhile.
    private static func catchUp(_ mirror: inout Mirror, _ scope: Scope, _ reader: Workspace) async throws {
        var changes = try reader.changes(of: scope, since: mirror.token).makeAsyncIterator()
        try await mirror.catchUp(&changes, of: scope, in: reader, patience: .seconds(30))
    }

    @Test(arguments: Seeds.range(from: 52_000, count: 1))
    func `what readers have put together is the state, after each kill of the writer`(seed: UInt64) async throws {
        try FileManager.default.createDirectory(at: self.place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: self.place) }
        try #require(try self.run(["init", "--name", "killed"]) == 0)
        try #require(try self.run(["import", try self.file(0)]) == 0)
        let files = try (1...3).map { try self.file($0) }
        var reader = try await Workspace.open(at: self.directory, access: .readOnly)
        let folders = try await reader.page(.objects(type: "folder")).objects
        let top = try #require(folders.first { $0.parent == nil })
        let ranked = Query.objects(type: "item").filtered(Self.rank, equals: 3)
        let scopes: [Scope] = [.everything, .subtree(top.id), .query(ranked), .object(top.id)]
        var mirrors = Array(repeating: Mirror(), count: scopes.count)
        var unfinishedCount = 0
        var random = SplitMix64(seed: seed)
        for number in 0..<Self.killCount {
            let milliseconds = Int.random(in: 20..<150, using: &random)
            let status = try self.run(["import", files[number % 3]], killedAfter: milliseconds)
            if status != 0 { unfinishedCount += 1 }
            for (place, scope) in scopes.enumerated() where (number + place) % 3 == 0 {
                try await Self.catchUp(&mirrors[place], scope, reader)
            }
            guard number % 20 == 19 else { continue }
            await reader.close()
            reader = try await Workspace.open(at: self.directory, access: .readOnly)
        }
        for (place, scope) in scopes.enumerated() { try await Self.catchUp(&mirrors[place], scope, reader) }
        await reader.close()
        // Most were killed in the midst of it.
        #expect(unfinishedCount > Self.killCount / 4)
        let workspace = try await Workspace.open(at: self.directory)
        #expect(try await workspace.diagnose().isHealthy)
        await workspace.close()
    }
}
