/// Everything that can be done to a run, each with a switch of its own: a random half is off in each seed.
enum Fault: String, CaseIterable, Sendable, Hashable {
    // Links.
    case slowLinks
    case mobileLinks
    case satelliteLinks
    case lostSegments
    case fragmentation
    case connectionReset
    case cutAfterBytes
    case cutInHandshake
    case oneSidedCut
    case truncatedStream
    case stalledLink
    case halfOpenLink
    case bitFlip
    case refusedDials
    case simultaneousDial
    case lostBeacons
    // Strangers.
    case replayedHandshake
    case replayedStream
    case garbageStranger
    case silentStranger
    case strangerFlood
    // Topologies.
    case partition
    case isolation
    case sneakernet
    case lateJoin
    case earlyLeave
    // Clocks.
    /// More than one machine's clock may be far ahead: only drawn where it is asked for.
    ///
    /// A machine that has applied another's changes while both clocks were ahead keeps them when its own is put right,
    /// and then differs from those that hold them until they are due. The engine has no way out of this yet.
    case severalClocksAhead
    case clockOffset
    case clockHourAhead
    case clockDayBehind
    case clockYearsAhead
    case clockAtEpoch
    case clockDrift
    case clockStuck
    case clockJump
    case clockBackAtRestart
    // Processes.
    case kill
    case powerCut
    case killAtStoreCall
    case powerCutAtStoreCall
    case restart
    case pause
    // Disks.
    case readError
    case writeError
    case syncError
    case diskFull
    case lyingSync
    case lostWrites
    case reorderedWrites
    case tornWrites
    case bitRot
    case lostLog
    case restoredBackup
    case movedBackup
    case clonedDisk

    /// Those that a run draws from unless it is told otherwise.
    static let usual: [Fault] = Fault.allCases.filter { $0 != .severalClocksAhead }
}
