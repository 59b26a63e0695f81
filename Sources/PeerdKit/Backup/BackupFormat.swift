internal import CRDTCore
internal import Foundation
internal import PeerCrypto

/// The form of a backup, version 1.
///
/// The file begins with a line that names the form. Entries follow, each of another kind, in the order of kinds: the
/// kind (one byte), the length of the content (eight bytes, big endian), the content, and a digest of these three. The
/// end is an entry of kind 0 whose "length" is the number of entries, and whose digest covers the first line, and the
/// beginning and the digest of each entry. So every bit of the file is covered, and nothing may follow.
enum BackupFormat {
    /// What an entry holds.
    enum Kind: UInt8, CaseIterable {
        case end = 0
        /// What the backup is of, as JSON.
        case manifest = 1
        /// The file `keys`, with the secrets of the device.
        case keys = 2
        /// The file `config`; it may be missing.
        case settings = 3
        /// The database, without a log.
        case database = 4
    }

    /// The first bytes of every version.
    static let name = Array("peerd backup ".utf8)
    /// The first line of this version.
    static let firstLine = Self.name + Array("1\n".utf8)
    static let digestByteCount = 32
    static let headByteCount = 9
    /// The most bytes of an entry that is read into memory.
    static let smallByteCountMax = 64 << 10
    static let pieceByteCount = 1 << 20

    /// A hasher for an entry that begins so.
    static func entryHasher(_ head: [UInt8]) -> Blake2b.Hasher256 {
        var hasher = Blake2b.Hasher256(HashPersonal("peerd-backup-ent"))
        hasher.update(head)
        return hasher
    }

    static func fileHasher() -> Blake2b.Hasher256 { Blake2b.Hasher256(HashPersonal("peerd-backup-all")) }

    /// The first bytes of an entry.
    static func head(_ kind: Kind, _ count: UInt64) -> [UInt8] {
        var bytes = [kind.rawValue]
        bytes.appendBigEndian(count)
        return bytes
    }

    static func bytes(of digest: Blake2b.Digest256) -> [UInt8] {
        withUnsafeBytes(
            of: (
                digest.0.littleEndian, digest.1.littleEndian, digest.2.littleEndian, digest.3.littleEndian
            )
        ) { Array($0) }
    }
}

/// What a backup is of.
struct BackupManifest: Hashable, Codable {
    var workspace: String
    var device: String
    var deviceName: String
    /// Milliseconds since 1970, when its state was read.
    var time: UInt64

    enum CodingKeys: String, CodingKey {
        case workspace, device
        case deviceName = "device_name"
        case time = "time_ms"
    }

    var encoded: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return [UInt8](try encoder.encode(self))
        }
    }
}
