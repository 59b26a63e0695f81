/// Why data directories cannot be compared: one sentence that says what to do, and the exit code.
struct WhatIfFailure: Error, Hashable, CustomStringConvertible {
    /// Beside 0, 1 and 2, which say what would happen: the codes of `sysexits`.
    enum Status: Int32, Hashable {
        /// A directory is not what it should be, or the directories do not belong together.
        case unfit = 65
        /// A process has the directory; later it can be read.
        case busy = 75
    }

    var status: Status
    var description: String

    init(_ status: Status, _ description: String) {
        self.status = status
        self.description = description
    }
}
