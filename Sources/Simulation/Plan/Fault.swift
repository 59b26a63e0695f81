/// Everything that can be done to a run, each with a switch of its own: a random half is off in each seed.
package enum Fault: String, CaseIterable, Sendable, Hashable {
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
    case swappedIdentity
    // Strangers.
    case replayedHandshake
    case replayedStream
    case garbageStranger
    case silentStranger
    case strangerFlood
    // Members that hold valid keys.
    case hostileWrite
    case equivocation
    case replayedChanges
    case withheldChanges
    case falseHeads
    case missingDependency
    case hostileStamp
    case backdating
    case repeatedForks
    case hostileRestamp
    case hostileReversal
    case spoiledRun
    case malformedMessage
    case slowMember
    case flood
    case hostileStays
    // Topologies.
    case partition
    case isolation
    case sneakernet
    case lateJoin
    case pairingCut
    case pairingInviterEnds
    case pairingNewcomerGone
    case pairingReplayed
    case wrongInvite
    case expiredInvite
    case inviteUsedTwice
    case earlyLeave
    // Clocks.
    /// Wall clocks that tick in steps of 100 ms, so that stamps tie.
    case coarseClocks
    case clockOffset
    case clockHourAhead
    case clockDayBehind
    case clockYearsAhead
    case clockAtEpoch
    case clockDrift
    case clockStuck
    case clockJump
    case clockBackAtRestart
    /// A user says that the clock is right, and has everything restamped that is held.
    case restampAsked
    // Work.
    /// Many small writes over connections that stand.
    case smallPushes
    /// Users take transactions back, do them again, and bring back what was.
    case historyUsed
    /// Users write on branches of the workspace, and merge them.
    case branchesUsed
    /// Users drop what was replaced long ago, or just now.
    case historyCompacted
    /// Users have the past of a property erased.
    case pastErased
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
    case restoredMachine
    case restoredDatabase
    case clonedDisk
    case copiedDatabase

    /// Those that the world asks for while it runs; all others are actions of the plan, or have shaped it.
    static let switches: [Fault] = [.lostSegments, .fragmentation, .lostBeacons, .coarseClocks]
    /// Those that put a clock wrong.
    static let wrongClocks: Set<Fault> = [
        .clockOffset, .clockHourAhead, .clockDayBehind, .clockYearsAhead, .clockAtEpoch, .clockDrift, .clockStuck,
        .clockJump, .clockBackAtRestart,
    ]
    /// Those of members that do not keep to the protocol.
    static let hostile: Set<Fault> = [
        .hostileWrite, .equivocation, .replayedChanges, .withheldChanges, .falseHeads, .missingDependency,
        .hostileStamp, .backdating, .repeatedForks, .hostileRestamp, .hostileReversal, .spoiledRun, .malformedMessage,
        .slowMember, .flood, .hostileStays,
    ]
}
