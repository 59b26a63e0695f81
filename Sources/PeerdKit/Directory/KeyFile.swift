package import Engine
internal import Foundation
package import PeerCrypto
package import Persistence

/// The file `keys`: the secrets of this device, which make the directory a workspace.
///
/// Its bytes are those of the encoded identity. They stay in memory that is zeroed.
package enum KeyFile {
    package static let byteCountMax = 64 << 10

    /// Writes the keys of a new workspace; there must be none.
    package static func create(_ identity: borrowing DeviceIdentity, at paths: DirectoryPaths) throws {
        try self.create(identity.encoded(), at: paths.keys)
    }

    /// Writes the keys of a workspace in the place of those that are there: a crash leaves the old ones or these.
    package static func replace(_ identity: borrowing DeviceIdentity, at paths: DirectoryPaths) throws {
        try identity.encoded().withBytes { bytes throws in try PrivateFile.write(bytes, to: paths.keys) }
    }

    /// Reads the keys of the directory's workspace.
    package static func load(_ paths: DirectoryPaths) throws -> DeviceIdentity {
        try self.identity(in: self.read(paths.keys), paths.keys)
    }

    /// Decodes the content of a key file.
    package static func identity(in content: borrowing SecretBytes, _ path: String) throws -> DeviceIdentity {
        guard let identity = DeviceIdentity.decode(content) else { throw self.damaged(path) }
        return identity
    }

    /// Writes secret bytes; there must be no such file.
    package static func create(_ content: borrowing SecretBytes, at path: String) throws {
        do {
            try content.withBytes { bytes throws in try PrivateFile.write(bytes, to: path, existing: .refuse) }
        } catch is PrivateFile.AlreadyThere {
            throw PeerdError(
                .workspaceExists,
                "\(path) already exists; it was not changed.",
                advice: "Open the workspace, or name another directory for a second one."
            )
        }
    }

    /// Reads a whole file into memory that is zeroed afterwards.
    package static func read(_ path: String) throws -> SecretBytes {
        try self.read(RegularFile.open(path), path)
    }

    /// Reads all of an open file into memory that is zeroed afterwards.
    package static func read(_ file: borrowing RegularFile, _ path: String) throws -> SecretBytes {
        let (descriptor, byteCount) = (file.descriptor, file.byteCount)
        guard byteCount > 0, byteCount <= self.byteCountMax else { throw self.damaged(path) }
        var isComplete = false
        let content = SecretBytes(count: byteCount) { buffer in
            isComplete = OpenFile.read(descriptor, at: 0, into: buffer) == byteCount
        }
        guard isComplete else { throw self.damaged(path) }
        return content
    }

    private static func damaged(_ path: String) -> PeerdError {
        PeerdError(
            .damaged,
            "\(path) is damaged, or is no key file of this version of peerd.",
            advice: "Put a copy of it back, or restore a backup."
        )
    }
}
