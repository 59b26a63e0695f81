/// What can be set about a store on disk.
package struct StoreConfiguration: Hashable, Sendable {
    /// Bytes of database pages that are kept in memory.
    package var cacheByteCount = 32 << 20
    /// The same for each connection that only reads.
    package var readerCacheByteCount = 4 << 20
    /// Pages in the write-ahead log from which on a commit moves them into the database.
    package var checkpointPageCount = 1000
    /// Bytes that the write-ahead log keeps after a large transaction.
    package var logByteCountKept = 16 << 20
    /// Pages that the database may have; nil for as many as fit on the disk.
    package var pageCountMax: Int?
    /// Whether a commit waits for the disk; only a store that nobody needs after a crash may go without.
    package var waitsForDisk = true
    /// How long to wait for another program that is reading or copying the database.
    package var busyMilliseconds = 2000

    package init() {}
}
