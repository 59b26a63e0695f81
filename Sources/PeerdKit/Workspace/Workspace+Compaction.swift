internal import CRDTCore
internal import Engine
public import Foundation

/// The result of a compaction.
public struct CompactionReport: Hashable, Sendable, Codable {
    /// The time up to which writes were old enough.
    public let horizon: Date
    /// The changes up to then, dropped before or not.
    public let examinedChangeCount: Int
    /// The writes whose values were dropped.
    public let droppedWriteCount: Int
    /// The changes of which only a hash is left.
    public let droppedChangeCount: Int
    /// The bytes that were dropped of the log, before tables and indexes.
    public let droppedByteCount: Int
    /// The length of the database file before and after; nil for a dry run.
    public let fileByteCounts: FileByteCounts?
    /// The reason why the file was not made smaller, as a sentence; nil if it was, or need not be.
    public let shrinkFailure: String?
    /// The names of machines that have not stored everything yet: what they lack was kept.
    public let lackingMachines: [String]

    /// The length of a file before and after.
    public struct FileByteCounts: Hashable, Sendable, Codable {
        /// The length before, in bytes.
        public let before: Int
        /// The length after, in bytes.
        public let after: Int
    }
}

extension Workspace {
    /// The shortest and the longest history that a compaction can keep, in seconds: none, and a thousand years.
    public static let keptSecondsRange = 0...31_557_600_000

    /// Machines that were heard from in this time are waited for, also if a shorter history is kept.
    private static let awaitedSeconds = 90 * 86_400

    /// Drops the values of writes that were superseded before the last days, weeks or months.
    ///
    /// The state stays what it is, and so does each earlier state since then. Of an older state, what was dropped
    /// cannot be read any more on this machine; machines that keep their history still show it. Dropped writes are
    /// counted in versions, and their hashes stay, so every signature can be checked as before. A write is dropped
    /// only if all machines that were heard from since then, or in the last 90 days, have stored the later one; open
    /// branches keep what they show. A machine that was away for longer gets everything, and loses no edit of its own.
    ///
    /// Writes and the sync continue meanwhile, and wait for parts of it. A compaction that is cancelled, or whose
    /// process ends, leaves what is done, and the next one continues. At the end the file is written anew, which takes
    /// room for what is left, and as much in the folder for temporary files; where there is less, it gets smaller in
    /// place, which takes longer.
    ///
    /// - Parameters:
    ///   - seconds: the length of the history to keep.
    ///   - isDryRun: true to find what would be dropped, and change nothing.
    ///   - progress: a function that is called now and then with the number of changes that were examined.
    /// - Returns: the result.
    /// - Throws: ``PeerdError`` with `invalidArgument`, `readOnly`, `closed`, or if the disk fails;
    ///   `CancellationError`.
    /// - Complexity: O(*n* log *n*) in the operations of the log.
    @discardableResult
    public func compact(
        keepingSeconds seconds: Int,
        isDryRun: Bool = false,
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> CompactionReport {
        guard Self.keptSecondsRange.contains(seconds) else {
            throw PeerdError(
                .invalidArgument,
                "A history of \(seconds) seconds cannot be kept.",
                advice: "Name a length from none to a thousand years."
            )
        }
        let driver = try self.driver()
        let run = try await driver.compact(
            keeping: UInt64(seconds) * 1_000,
            awaitingWithin: UInt64(Self.awaitedSeconds) * 1_000,
            isDryRun: isDryRun
        ) { run in
            progress?(run.summary.examinedChangeCount)
        }
        var (counts, failure): (CompactionReport.FileByteCounts?, String?)
        if !isDryRun {
            do {
                let hasDropped = run.summary.droppedWriteCount > 0
                let (before, after, _) = try await driver.shrink(always: hasDropped, mayLeaveBytes: true)
                counts = CompactionReport.FileByteCounts(before: before, after: after)
            } catch let error as PeerdError {
                failure = error.message
            }
        }
        return CompactionReport(
            horizon: Date(milliseconds: run.horizon.milliseconds),
            examinedChangeCount: run.summary.examinedChangeCount,
            droppedWriteCount: run.summary.droppedWriteCount,
            droppedChangeCount: run.summary.droppedChangeCount,
            droppedByteCount: run.summary.droppedByteCount,
            fileByteCounts: counts,
            shrinkFailure: failure,
            lackingMachines: run.lackingNames
        )
    }
}
