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
    /// Lets clocks be wrong in ways that the engine has no way out of yet: only drawn where it is asked for.
    ///
    /// A machine that has applied another's changes while both clocks were ahead keeps them when its own is put right,
    /// and then differs from those that hold them, until they are due or their author takes them back. Of two
    /// incarnations of a database, one that takes back its changes to repair its clock takes back what it does not
    /// know of the other's as well; and a restored one does not repair what it wrote under its former replica id.
    case clocksBeyondRepair
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
    static let usual: [Fault] = Fault.allCases.filter { $0 != .clocksBeyondRepair }
    /// Those that the world asks for while it runs; all others are actions of the plan, or have shaped it.
    static let switches: [Fault] = [.lostSegments, .fragmentation, .lostBeacons, .clocksBeyondRepair]
    /// Those that put a clock further off than others tolerate.
    static let wrongClocks: Set<Fault> = [
        .clockHourAhead, .clockDayBehind, .clockYearsAhead, .clockAtEpoch, .clockJump, .clockBackAtRestart,
    ]
    /// Those of members that do not keep to the protocol.
    static let hostile: Set<Fault> = [
        .hostileWrite, .equivocation, .replayedChanges, .withheldChanges, .falseHeads, .missingDependency,
        .hostileStamp, .backdating, .spoiledRun, .malformedMessage, .slowMember, .flood, .hostileStays,
    ]
    /// Those after which two databases may go on from one.
    static let copies: Set<Fault> = [.restoredBackup, .movedBackup, .clonedDisk]
}
