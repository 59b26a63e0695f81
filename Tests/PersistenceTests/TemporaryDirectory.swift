import Foundation

/// A directory of its own, gone when this object is.
final class TemporaryDirectory {
    /// Where a workspace may be put; nothing exists there yet.
    let path: String
    private let root: String

    /// Puts it within another, or in memory if there is such a place: the tests wait for the disk often enough.
    init(within base: String? = nil) throws {
        let shared = "/dev/shm"
        let base = base ?? (FileManager.default.isWritableFile(atPath: shared) ? shared : NSTemporaryDirectory())
        self.root = base + "/peerd-store-\(UUID().uuidString)"
        self.path = self.root + "/workspace"
        try FileManager.default.createDirectory(atPath: self.root, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: self.root) }

    var database: String { self.path + "/peerd.sqlite" }

    func bytes(of path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

    func permissions(of path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
    }

    /// What the `sqlite3` shell, a client that knows nothing of this program, prints for a query.
    func shell(_ sql: String, options: [String] = []) throws -> String {
        try Program.run(["sqlite3"] + options + [self.database, sql]).output
    }

    func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    func write(_ bytes: [UInt8], to path: String) throws {
        let directory = (path as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }
}

/// Other programs.
enum Program {
    static func run(_ arguments: [String]) throws -> (output: String, status: Int32) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let text = String(decoding: output, as: UTF8.self).trimmingCharacters(in: .newlines)
        return (text, process.terminationStatus)
    }
}

/// A file system of a few megabytes, unmounted when this object is gone.
final class SmallDisk {
    let path: String
    private var filler: String { self.path + "/filler" }

    /// Only root can mount one.
    static let isPossible = (try? SmallDisk(megabytes: 1)) != nil

    init(megabytes: Int) throws {
        self.path = NSTemporaryDirectory() + "/peerd-disk-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        let mount = try Program.run(["mount", "-t", "tmpfs", "-o", "size=\(megabytes)m", "none", self.path])
        guard mount.status == 0 else {
            try? FileManager.default.removeItem(atPath: self.path)
            throw CocoaError(.fileWriteUnknown)
        }
    }

    deinit {
        _ = try? Program.run(["umount", "-l", self.path])
        try? FileManager.default.removeItem(atPath: self.path)
    }

    func fill(leavingKilobytes kilobytes: Int) throws {
        let attributes = try FileManager.default.attributesOfFileSystem(forPath: self.path)
        let free = (attributes[.systemFreeSize] as? NSNumber)?.intValue ?? 0
        let filling = max(0, free - kilobytes * 1024)
        try Data(count: filling).write(to: URL(fileURLWithPath: self.filler))
    }

    func empty() throws { try FileManager.default.removeItem(atPath: self.filler) }
}

extension TemporaryDirectory {
    /// Copies the workspace of another directory here.
    func fill(from other: TemporaryDirectory) throws {
        try FileManager.default.copyItem(atPath: other.path, toPath: self.path)
    }
}

/// The `sqlite3` shell with a read transaction open.
final class OpenReader {
    private let process = Process()
    private let input = Pipe()

    init(_ database: String) throws {
        let output = Pipe()
        self.process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        self.process.arguments = ["sqlite3", database]
        self.process.standardInput = self.input
        self.process.standardOutput = output
        try self.process.run()
        self.input.fileHandleForWriting.write(Data("BEGIN; SELECT count(*) FROM objects;\n".utf8))
        // Once it has answered it holds its snapshot.
        _ = output.fileHandleForReading.availableData
    }

    func stop() {
        try? self.input.fileHandleForWriting.close()
        self.process.waitUntilExit()
    }
}
