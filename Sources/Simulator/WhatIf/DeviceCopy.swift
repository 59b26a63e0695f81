internal import CRDTCore
internal import Engine
internal import PeerCrypto

/// A device as its data directory has it: who it is, its keys, and its database in memory.
final class DeviceCopy: Sendable {
    let path: String
    let name: String
    let device: DeviceID
    let staticKey: StaticKey
    let workspace: WorkspaceID
    /// Who made the workspace.
    let founder: UserID
    /// The hash before every replica's first change.
    let origin: Hash256
    /// The database as the directory has it.
    let image: DiskImage
    let endedUncleanly: Bool
    private let keys: SecretBytes

    private static let keyMagic = Array("peerd-keys".utf8)

    init(_ directory: borrowing DirectoryReading) throws(WhatIfFailure) {
        self.path = directory.path
        self.endedUncleanly = directory.endedUncleanly
        let keys = try directory.keys()
        guard let identity = DeviceIdentity.decode(keys) else {
            let head = keys.withBytes { Array($0.prefix(DeviceCopy.keyMagic.count + 1)) }
            let isNewer = head.starts(with: DeviceCopy.keyMagic) && (head.last ?? 0) > DeviceIdentity.fileVersion
            let what = isNewer ? "was written by a newer peerd than this program knows" : "is not a key file of peerd"
            throw WhatIfFailure(.unfit, "\(directory.path)/keys \(what).")
        }
        self.name = identity.name
        self.device = identity.device
        self.staticKey = identity.publicStaticKey
        self.workspace = identity.workspace
        self.founder = identity.founder
        self.origin = identity.origin
        let (database, log) = try directory.database()
        var files = [(name: OpenCopy.path, content: database)]
        if let log { files.append((name: OpenCopy.path + "-wal", content: log)) }
        self.image = DiskImage(files: files)
        self.keys = keys
    }

    /// The keys in the form that a node takes.
    func identity() -> DeviceIdentity {
        guard let identity = DeviceIdentity.decode(self.keys) else {
            preconditionFailure("these bytes were decoded before")
        }
        return identity
    }

    /// Reads directories, and sees to it that they belong together.
    static func read(_ paths: [String]) throws(WhatIfFailure) -> [DeviceCopy] {
        var copies: [DeviceCopy] = []
        for path in paths {
            let copy = try DeviceCopy(DirectoryReading(path))
            if let first = copies.first, first.workspace != copy.workspace {
                throw WhatIfFailure(.unfit, "\(path) belongs to another workspace than \(first.path).")
            }
            if let twin = copies.first(where: { $0.device == copy.device }) {
                throw WhatIfFailure(
                    .unfit,
                    "\(twin.path) and \(path) are two copies of one device, “\(copy.name)”; give one of them."
                )
            }
            copies.append(copy)
        }
        return copies
    }
}
