import Foundation

@testable import FileServing

/// A folder with a tree in it, and a place beside the tree; gone when this object is.
final class TestFolder: Sendable {
    let path: String
    var root: String { self.path + "/files" }
    var outside: String { self.path + "/outside" }

    init() throws {
        // In memory if there is such a place, as the tests wait for the disk often.
        let shared = "/dev/shm"
        let base = FileManager.default.isWritableFile(atPath: shared) ? shared : NSTemporaryDirectory()
        self.path = base + "/peerd-files-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: self.root, withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: self.outside, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }

    func tree() throws -> FileTree { try FileTree(path: self.root) }

    /// Writes below the root, past the tree.
    func write(_ text: String, to name: String) throws {
        try self.write(text, toPath: self.root + "/" + name)
    }

    func write(_ text: String, toPath path: String) throws {
        let folder = (path as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: self.root + "/" + name, withIntermediateDirectories: true)
    }

    func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: self.root + "/" + name, withDestinationPath: target)
    }

    func text(of name: String) -> String? {
        FileManager.default.contents(atPath: self.root + "/" + name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// All that is below the root, sorted.
    func content() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: self.root).sorted()
    }

    func mode(of name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: self.root + "/" + name)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
    }
}

extension HTTPDate {
    /// Long after all that the tests write.
    static let later = HTTPDate(secondsSince1970: 32_503_680_000)
}

extension FilePath {
    static var root: FilePath { get throws { try FilePath(components: []) } }

    /// The path of names with slashes between them; the root if there is nothing.
    static func of(_ text: String) throws(Objection) -> FilePath {
        let names = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return try FilePath(components: text.isEmpty ? [] : names.map { Array($0) })
    }
}

extension FileTree {
    /// An open file; throws if a folder is there.
    func file(_ path: String) throws -> OpenFile {
        guard case .file(let file) = try self.open(.of(path)) else { throw FileTreeError.isFolder }
        return file
    }

    /// The whole text of a file.
    func text(_ path: String) throws -> String {
        let file = try self.file(path)
        return String(decoding: try file.read(Int(file.length), at: 0), as: UTF8.self)
    }

    func version(_ path: String) throws -> FileVersion { try self.file(path).version }

    @discardableResult
    func write(
        _ text: String,
        to path: String,
        if conditions: Preconditions = .none
    ) throws -> FileUpload.Committed {
        let upload = try self.upload(.of(path), if: conditions, now: .later)
        try upload.append(Array(text.utf8))
        return try upload.commit(if: conditions, now: .later)
    }

    func delete(_ path: String, if conditions: Preconditions = .none) throws {
        try self.delete(.of(path), if: conditions, now: .later)
    }

    func names(_ path: String = "") throws -> [String] { try self.list(.of(path), limit: 1_000).entries.map(\.name) }
}
