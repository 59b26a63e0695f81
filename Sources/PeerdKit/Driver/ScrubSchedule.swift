/// When the files of a database are written anew, so that no byte of what was erased stays in them.
///
/// Times are monotonic milliseconds that it is given. Whoever erases again and again has the files written anew for a
/// small part of the time. If somebody reads an older state, the write-ahead log is kept: then that alone is tried
/// again soon.
struct ScrubSchedule {
    enum Step: Hashable {
        case writeFiles
        /// The files were written anew already.
        case emptyLog
    }

    /// When to do something.
    private var next: UInt64 = 0
    /// Not before it are the files written anew again.
    private var nextFiles: UInt64 = 0
    /// Whether the files were written anew, and the log was not emptied.
    private var isLogBarred = false

    /// Several erasures that come together are followed by one writing of the files.
    private static let delayMilliseconds: UInt64 = 1_000
    private static let intervalMilliseconds: UInt64 = 10_000
    /// So many times the time that it took, the files are left alone.
    private static let restFactor: UInt64 = 50

    /// How long to wait before the next step.
    func delay(at now: UInt64) -> UInt64 { max(Self.delayMilliseconds, self.next > now ? self.next - now : 0) }

    func step(at now: UInt64) -> Step { self.isLogBarred && now < self.nextFiles ? .emptyLog : .writeFiles }

    /// Takes note that the files were written anew, and whether the log could be emptied.
    mutating func wroteFiles(isLogEmpty: Bool, from start: UInt64, to end: UInt64) {
        self.rest(from: start, to: end)
        self.triedLog(isEmpty: isLogEmpty, at: end)
    }

    /// Takes note that the files could not be written anew.
    mutating func failed(from start: UInt64, to end: UInt64) {
        self.rest(from: start, to: end)
        self.triedLog(isEmpty: true, at: end)
    }

    /// Takes note of whether the log could be emptied.
    mutating func triedLog(isEmpty: Bool, at now: UInt64) {
        self.isLogBarred = !isEmpty
        self.next = isEmpty ? self.nextFiles : now + Self.delayMilliseconds
    }

    private mutating func rest(from start: UInt64, to end: UInt64) {
        let rest = Self.restFactor * (end - min(start, end))
        self.nextFiles = end + max(Self.intervalMilliseconds, rest)
    }
}
