import CRDTCore
import Persistence

/// A store that can be passed around and closed at will.
final class SQLiteStoreHandle {
    private var store: SQLiteStore
    /// Lives as long as the store is used.
    private let directory: TemporaryDirectory

    init(_ directory: TemporaryDirectory, configuration: StoreConfiguration = StoreConfiguration()) throws {
        self.directory = directory
        self.store = try SQLiteStore(directory: directory.path, origin: Author.origin, configuration: configuration)
    }

    var committed: CommittedSegments { self.store.committed }

    var endedUncleanly: Bool { self.store.endedUncleanly }

    func close() { self.store.close() }

    func write<Result>(_ body: (inout SQLiteTransaction) throws(StoreError) -> Result) throws(StoreError) -> Result {
        try self.store.write(body)
    }

    func read<Result>(_ body: (inout SQLiteTransaction) throws(StoreError) -> Result) throws(StoreError) -> Result {
        try self.store.read(body)
    }
}
