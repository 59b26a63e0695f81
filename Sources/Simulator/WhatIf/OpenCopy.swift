internal import CRDTCore
internal import Persistence

/// A database in memory, opened by the production store through a simulated disk.
final class OpenCopy {
    /// The path of the database on its simulated disk.
    static let path = "/peerd.sqlite"
    /// What tells a database from one that was put back or copied; none of these copies is to be taken for that.
    private static let tokenFact = "store-token"
    static let token: [UInt8] = Array("whatif".utf8)

    private let disk: SimulatedDisk
    private let fileSystem: VirtualFileSystem
    private var store: SQLiteStore?

    init(_ image: DiskImage, origin: Hash256, endedUncleanly: Bool = false) throws(StoreError) {
        self.disk = SimulatedDisk(seed: 1)
        self.disk.restore(image)
        self.disk.start()
        self.fileSystem = VirtualFileSystem(disk: self.disk, seed: 1)
        self.store = try OpenCopy.store(self.fileSystem, origin: origin, endedUncleanly: endedUncleanly)
    }

    deinit { self.store = nil }

    static func store(
        _ fileSystem: VirtualFileSystem,
        origin: Hash256,
        endedUncleanly: Bool = false
    ) throws(StoreError) -> SQLiteStore {
        try SQLiteStore(
            virtual: VirtualDatabase(fileSystem: fileSystem.name, path: self.path, endedUncleanly: endedUncleanly),
            origin: origin
        )
    }

    func read<Result>(
        _ body: (inout SQLiteStore.Transaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        guard let result = try self.store?.read(body) else { throw .unavailable("the copy is closed") }
        return result
    }

    /// Does what a node does when it starts: applies what has come due.
    func prepare(at now: WallTime, founder: UserID) throws(StoreError) {
        _ = try self.store?.write { transaction throws(StoreError) in
            var merge = Merge(now: now, founder: founder)
            merge.hasDueRestamps = !transaction.restamps.unsettled.isEmpty
            try merge.finish(in: &transaction)
            try transaction.setFact(OpenCopy.tokenFact, OpenCopy.token)
        }
    }

    /// Closes the database.
    ///
    /// Returns what is on the disk then.
    func close() -> DiskImage {
        self.store = nil
        return self.disk.image()
    }
}
