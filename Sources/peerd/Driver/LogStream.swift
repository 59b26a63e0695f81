/// Takes the lines of the daemon's log to standard error.
struct LogStream: TextOutputStream, Sendable {
    /// Writes one entry, which ends with a line break.
    mutating func write(_ entry: String) {
        StandardStreams.log(entry.hasSuffix("\n") ? String(entry.dropLast()) : entry)
    }
}
