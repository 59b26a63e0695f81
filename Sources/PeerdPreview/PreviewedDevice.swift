internal import CRDTCore
internal import Engine
internal import Foundation
internal import PeerCrypto
internal import PeerdKit
internal import Persistence

/// A device as its data directory has it: its keys in memory, and a private copy of its database.
final class PreviewedDevice: Sendable {
    let directory: URL
    let path: String
    let name: String
    let device: DeviceID
    let staticKey: StaticKey
    let workspace: WorkspaceID
    /// Who uses the device.
    let user: UserID
    /// The user who made the workspace.
    let founder: UserID
    /// The hash before every replica's first change.
    let origin: Hash256
    /// The database as the directory has it.
    let database: DatabaseCopy
    private let keys: SecretBytes

    /// The token in every copy, so that no node takes it for a restored database.
    static let storeToken: [UInt8] = Array("preview".utf8)

    private init(_ source: borrowing SourceDirectory, at directory: URL, in scratch: ScratchDirectory) throws {
        self.directory = directory
        self.path = source.paths.directory
        let keys = try source.keys()
        let identity = try KeyFile.identity(in: keys, source.paths.keys)
        self.name = identity.name
        self.device = identity.device
        self.staticKey = identity.publicStaticKey
        self.workspace = identity.workspace
        (self.user, self.founder) = (identity.user, identity.founder)
        self.origin = identity.origin
        self.database = try DatabaseCopy(in: scratch)
        self.keys = keys
        try source.copyDatabase(to: self.database)
    }

    var id: Preview.Device.ID { self.device.description }

    /// Returns the keys in the form that a node takes.
    func identity() throws -> DeviceIdentity { try KeyFile.identity(in: self.keys, self.path) }

    /// Applies all that is due in a copy of the database, as the device does when it starts.
    ///
    /// Returns a summary of the result.
    func settle(_ database: DatabaseCopy, at now: WallTime) throws(StoreError) -> StateSummary {
        var store = try database.open(origin: self.origin)
        _ = try store.write { transaction throws(StoreError) in
            let policy = MergePolicy(now: now, founder: self.founder)
            let deferred = DeferredWork(hasRestamps: !transaction.restamps.unsettled.isEmpty)
            var merge = Merge(policy, deferred: deferred)
            try merge.finish(in: &transaction)
            try transaction.setFact(NodeFact.storeToken, Self.storeToken)
        }
        let summary = try store.read { transaction throws(StoreError) in try StateSummary(of: &transaction) }
        store.close()
        return summary
    }

    /// Reads directories, which must belong together.
    static func read(_ directories: [URL], in scratch: ScratchDirectory) throws -> [PreviewedDevice] {
        var devices: [PreviewedDevice] = []
        for directory in directories {
            let device = try PreviewedDevice(SourceDirectory(directory), at: directory, in: scratch)
            if let first = devices.first, first.workspace != device.workspace {
                throw PeerdError(
                    .invalidArgument,
                    "\(device.path) belongs to another workspace than \(first.path).",
                    advice: "Name directories of one workspace."
                )
            }
            // What people see differs, as it should.
            if let first = devices.first, first.user != device.user {
                throw PeerdError(
                    .invalidArgument,
                    "\(device.path) and \(first.path) are those of different people, who need not see the same.",
                    advice: "Name directories of one person's machines."
                )
            }
            if let twin = devices.first(where: { $0.device == device.device }) {
                throw PeerdError(
                    .invalidArgument,
                    "\(twin.path) and \(device.path) are two copies of one device, “\(device.name)”.",
                    advice: "Name one of them."
                )
            }
            devices.append(device)
        }
        return devices
    }
}
