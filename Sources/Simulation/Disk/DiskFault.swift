/// What a disk can be told to do wrong.
package enum DiskCall: String, Hashable, Sendable, CaseIterable {
    case open
    case read
    case write
    case sync
    case truncate
    case remove
}

/// How a process or a machine ends in the middle of a store call.
package enum Ending: Hashable, Sendable {
    /// The process is gone; what it had written, the operating system still has.
    case kill
    /// The machine is without power; what was not synced is in danger.
    case powerCut(PowerLoss)
}

/// What is wrong with a disk just now.
package struct DiskFaults {
    /// The ending that the store call with this number brings, counted from the first call ever.
    package var ending: (call: Int, Ending)?
    /// The next call of this kind fails with an input/output error.
    package var failing: DiskCall?
    /// No file grows.
    var isFull = false
    /// By how many bytes files may still grow; nil if there is room enough.
    var roomByteCount: Int?
    /// A sync says that it is done and does nothing.
    var syncLies = false

    mutating func hasRoomAgain() {
        self.isFull = false
        self.roomByteCount = nil
    }
}
