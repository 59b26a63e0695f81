internal import CRDTCore
internal import Foundation
internal import PeerCrypto
internal import Persistence

/// Reads a backup from its beginning to its end; nothing in it is believed before its digest has been checked.
struct BackupReader: ~Copyable {
    private let path: String
    private let file: RegularFile
    private var offset: UInt64 = 0
    private var hasher = BackupFormat.fileHasher()

    /// What a backup holds besides its database.
    struct Content: ~Copyable {
        var manifest: BackupManifest
        var keys: SecretBytes
        var settings: [UInt8]?
        var byteCount: Int
    }

    private init(_ path: String) throws {
        self.path = path
        self.file = try RegularFile.open(path, followsLinks: true)
    }

    private var byteCount: UInt64 { UInt64(self.file.byteCount) }

    /// Reads a backup, and writes its database to a path where there is none.
    ///
    /// - Throws: ``PeerdError`` with `damaged` if any byte differs from what was written, `newerVersion`, or what a
    ///   disk can refuse. The file at `database` is then of no use.
    static func read(_ path: String, database: String, progress: (Double) throws -> Void) throws -> Content {
        var reader = try BackupReader(path)
        return try reader.read(database: database, progress)
    }

    private mutating func read(database target: String, _ progress: (Double) throws -> Void) throws -> Content {
        try self.readFirstLine()
        var (manifest, settings): ([UInt8]?, [UInt8]?)
        var keys: SecretBytes?
        var last = BackupFormat.Kind.end
        var entryCount: UInt64 = 0
        while true {
            let (kind, count, head) = try self.readHead()
            if kind == .end {
                try self.readEnd(head, isComplete: count == entryCount && last == .database)
                break
            }
            guard kind.rawValue > last.rawValue, count <= self.byteCount - self.offset else {
                throw BackupFailure.damaged(self.path, "its parts are in disorder")
            }
            switch kind {
            case .manifest: manifest = try self.readSmall(head, count)
            case .settings: settings = try self.readSmall(head, count)
            case .keys: keys = try self.readSecret(head, count)
            default: try self.copy(head, count, to: target, progress)
            }
            (last, entryCount) = (kind, entryCount + 1)
        }
        guard let keys = consume keys, let manifest,
            let decoded = try? JSONDecoder().decode(BackupManifest.self, from: Data(manifest))
        else { throw BackupFailure.damaged(self.path, "a part of it is missing") }
        guard decoded.time <= Date.millisecondsMax else {
            throw BackupFailure.damaged(self.path, "it was made after the year 9999")
        }
        return Content(manifest: decoded, keys: keys, settings: settings, byteCount: Int(self.byteCount))
    }

    private mutating func readFirstLine() throws {
        let line = BackupFormat.firstLine
        guard self.byteCount >= UInt64(line.count), case let bytes = try self.bytes(line.count),
            bytes.starts(with: BackupFormat.name)
        else {
            throw PeerdError(.damaged, "\(self.path) is not a backup of peerd.", advice: "Name a backup.")
        }
        guard bytes == line else {
            throw PeerdError(
                .newerVersion,
                "\(self.path) is a backup in a form that this version does not know, or is damaged.",
                advice: "Use the version of peerd that wrote it, or another backup."
            )
        }
        self.hasher.update(bytes)
    }

    private mutating func readHead() throws -> (kind: BackupFormat.Kind, count: UInt64, bytes: [UInt8]) {
        let bytes = try self.bytes(BackupFormat.headByteCount)
        guard let kind = BackupFormat.Kind(rawValue: bytes[0]) else {
            throw BackupFailure.damaged(self.path, "a part of it is unknown")
        }
        return (kind, bytes.dropFirst().reduce(0) { $0 << 8 | UInt64($1) }, bytes)
    }

    private mutating func readSmall(_ head: [UInt8], _ count: UInt64) throws -> [UInt8] {
        guard count <= UInt64(BackupFormat.smallByteCountMax) else {
            throw BackupFailure.damaged(self.path, "a part of it is too long")
        }
        let content = try self.bytes(Int(count))
        var entry = BackupFormat.entryHasher(head)
        entry.update(content)
        try self.check(head, BackupFormat.bytes(of: entry.finalize()))
        return content
    }

    private mutating func readSecret(_ head: [UInt8], _ count: UInt64) throws -> SecretBytes {
        guard (1...UInt64(BackupFormat.smallByteCountMax)).contains(count) else {
            throw BackupFailure.damaged(self.path, "a part of it is too long")
        }
        var isRead = false
        let (descriptor, offset) = (self.file.descriptor, Int(self.offset))
        let content = SecretBytes(count: Int(count)) { buffer in
            isRead = OpenFile.read(descriptor, at: offset, into: UnsafeMutableRawBufferPointer(buffer)) == buffer.count
        }
        guard isRead else { throw BackupFailure.damaged(self.path, "its end is missing") }
        self.offset += count
        var entry = BackupFormat.entryHasher(head)
        content.withBytes { entry.update($0) }
        try self.check(head, BackupFormat.bytes(of: entry.finalize()))
        return content
    }

    /// Copies an entry to a new file, and waits for the disk.
    private mutating func copy(
        _ head: [UInt8],
        _ count: UInt64,
        to target: String,
        _ progress: (Double) throws -> Void
    ) throws {
        let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, PrivateFile.fileMode)
        guard output >= 0 else { throw BackupFailure.ofErrno(target, "cannot be made") }
        defer { close(output) }
        var entry = BackupFormat.entryHasher(head)
        var rest = count
        while rest > 0 {
            let piece = try self.bytes(Int(min(rest, UInt64(BackupFormat.pieceByteCount))))
            entry.update(piece)
            guard piece.withUnsafeBytes({ OpenFile.write($0, to: output) }) else {
                throw BackupFailure.ofErrno(target, "cannot be written")
            }
            rest -= UInt64(piece.count)
            try progress(Double(count - rest) / Double(count))
        }
        guard fsync(output) == 0 else { throw BackupFailure.ofErrno(target, "cannot be written") }
        try self.check(head, BackupFormat.bytes(of: entry.finalize()))
    }

    private mutating func check(_ head: [UInt8], _ digest: [UInt8]) throws {
        guard try self.bytes(BackupFormat.digestByteCount) == digest else {
            throw BackupFailure.damaged(self.path, "a checksum does not fit")
        }
        self.hasher.update(head)
        self.hasher.update(digest)
    }

    private mutating func readEnd(_ head: [UInt8], isComplete: Bool) throws {
        self.hasher.update(head)
        let hasher = self.hasher
        let digest = BackupFormat.bytes(of: hasher.finalize())
        guard try self.bytes(BackupFormat.digestByteCount) == digest else {
            throw BackupFailure.damaged(self.path, "a checksum does not fit")
        }
        guard isComplete, self.offset == self.byteCount else {
            throw BackupFailure.damaged(self.path, "a part of it is missing, or something follows its end")
        }
    }

    private mutating func bytes(_ count: Int) throws -> [UInt8] {
        guard UInt64(count) <= self.byteCount - self.offset else {
            throw BackupFailure.damaged(self.path, "its end is missing")
        }
        var bytes = [UInt8](repeating: 0, count: count)
        let (descriptor, offset) = (self.file.descriptor, Int(self.offset))
        let readCount = bytes.withUnsafeMutableBytes { OpenFile.read(descriptor, at: offset, into: $0) }
        if readCount < 0 { throw PrivateFile.failure(self.path, "cannot be read") }
        guard readCount == count else { throw BackupFailure.damaged(self.path, "its end is missing") }
        self.offset += UInt64(count)
        return bytes
    }
}
