#if PLANTED_BUGS
/// Bugs that can be switched on, one at a time, to see that the simulator finds them.
///
/// They exist only in a build with the condition `PLANTED_BUGS`, which `scripts/mutants.sh` makes: nothing of them is
/// in any other. Each is planted beside the code that it spoils. What it breaks, `PlantedBug.victim` in the simulator
/// says.
package enum PlantedBug: String, CaseIterable, Sendable {
    // MARK: Registers

    /// Of two writes the one that arrives last is in force.
    case lastArrivalWins
    /// Writes with equal stamps are ordered by which replica was heard of first here.
    case tieGoesToTheFirstHeard
    /// A removal never wins over a value that it had not seen.
    case removalAlwaysLoses
    /// A write that is overtaken counts as seen, and so as no conflict.
    case conflictForgotten
    /// The rows of writes in conflict are not stored.
    case conflictRowsDropped
    /// The time of the last update is that of the last arrival.
    case updateTimeByArrival

    // MARK: Existence

    /// A deletion removes what its author had not seen as well.
    case deletionTakesUnseen
    /// A deletion removes only what its author did itself.
    case deletionTakesOnlyOwn
    /// Only a creation touches an object.
    case editRevivesNothing
    /// Of several creations the last that arrives counts.
    case lastCreationCounts
    /// What is created again has what it had before its deletion.
    case formerLifeReturns

    // MARK: Hierarchy

    /// A move may close a cycle.
    case cycleUnchecked
    /// Moves take effect as they arrive; none is undone for an earlier one.
    case movesOnArrival
    /// What is undone falls to the root, wherever it stood before.
    case undoneMovesFallToRoot
    /// Whether a move has effect is not noted anew when it is done again.
    case verdictNotRecorded
    /// A move to another position under the same parent is not carried out.
    case positionIgnored
    /// Siblings with one position are listed in the order of their arrival.
    case siblingsByArrival
    /// The row of an object that changes its position alone keeps the former one.
    case positionNotStored
    /// An object that is deleted does not show, whatever is below it.
    case folderHidesContent
    /// An object that comes to show makes only its parent show.
    case visibilityStopsAtParent

    // MARK: Causes, clocks and exclusion

    /// A change is applied without what it had seen.
    case causesIgnored
    /// What is stamped far ahead is applied at once.
    case heldApplied
    /// What was held is not applied when it is due.
    case heldNeverReleased
    /// A clock takes no note of what was applied.
    case clockNotRatcheted
    /// A device is not told that its changes are held.
    case heldNoticeForgotten
    /// A device is told so when its changes arrive and when it is met, and not when it becomes so later.
    case heldBehindDueUnsaid
    /// A retirement does not take anything back.
    case retirementIgnored
    /// What is taken back for a wrong clock is not written again.
    case repairLosesWrites
    /// What is taken back for a wrong clock is stamped as if it were written now.
    case repairStampsNow
    /// A clock is not repaired as long as others have gone along with it.
    case repairsWaitForEachOther
    /// What was applied of a forked chain goes on counting.
    case forkedTailCounts
    /// Of a forked chain the first of the disputed changes counts.
    case disputedChangeCounts
    /// Computing the state anew starts from the registers as they are.
    case rebuildKeepsRegisters

    // MARK: Forks and copies

    /// Frontiers are compared by sequences alone.
    case fingerprintWithoutHashes
    /// Hashes of one sequence that differ are not looked into.
    case differenceOverlooked
    /// That a peer says it holds a chain is taken for its being the same chain.
    case announcementTrusted
    /// Nothing keeps a chain that differs from being sent.
    case disputedChainSent
    /// The proof of a fork is not passed on.
    case forkProofKept
    /// A fork of a device's own chain takes its changes away for good.
    case branchNotRewritten
    /// Nobody is asked for the other branch of a device's own chain.
    case otherBranchNotAsked
    /// The other branch of another device's chain is not kept for it.
    case branchNotPassedOn
    /// What follows a part of a branch, or stands in another, is not asked for.
    case restOfBranchesNotAsked
    /// Two branches that share a change are taken for one.
    case forkInBranchMissed
    /// The clock does not observe what a proof has set free.
    case proofNotObserved
    /// A clock does not observe its own device's last change where that is held.
    case ownHeldChangeNotObserved
    /// What a merge anew holds is not waited for.
    case rebuiltWaitsForgotten
    /// It is not remembered which branches were written again.
    case branchRewrittenAgain
    /// A database that was moved goes on as if it were the original.
    case copyUnnoticed
    /// A database that went back in time goes on with its chain.
    case rollbackUnnoticed
    /// Which replica a device writes under is forgotten when it restarts.
    case replicaForgotten

    // MARK: Exchange

    /// What is written is not pushed to those who are connected.
    case livePushForgotten
    /// Changes of other devices are not passed on.
    case onlyOwnSent
    /// What could not be sent yet of a chain that its device gave up is not pushed to peers that want only news.
    case formerChainNotPushed
    /// A new session sends all chains from their beginning.
    case everythingSentAgain
    /// A new session goes on one change too far.
    case resumesTooFar
    /// After a run of more than five changes the next change is skipped.
    case longRunOvershoots
    /// What is written between two hellos is taken for known to both.
    case helloFrontierReadLate
    /// What is known already is taken for a breach of the protocol.
    case duplicateIsViolation
    /// A session goes on when what it brought could not be stored.
    case failedIngestGoesOn
    /// The peer is not told that what it sent has been stored, and so sends no more than a window.
    case creditKept
    /// What was announced and does not come is not asked for.
    case announcedNotAskedFor
    /// A comparison with nothing left to say is answered all the same.
    case nothingLeftAnswered
    /// The beginning of a record whose rest is still under way is lost.
    case fragmentsDropped

    // MARK: Connections

    /// A connection on which nothing is heard stays.
    case silenceTolerated
    /// Bytes that nobody can read are a sign of life.
    case bytesTakenForLife
    /// Two devices keep all sessions that they have with each other.
    case bothSessionsKept
    /// Of two sessions dialled from one end the older stays.
    case olderSessionStays
    /// What failed is tried again at once.
    case retriesAtOnce
    /// The first message of a handshake is believed, which anyone can replay.
    case replayBelieved
    /// Strangers may hold as many connections as they like.
    case strangersUnlimited
    /// Who is introduced in what a peer sends stays unknown.
    case introductionsUnheeded

    // MARK: Storage

    /// A commit that failed is left behind the end of the write-ahead log.
    case failedCommitComesBack
    /// What the disk changed is signed anew.
    case damageSignedAnew
    /// A caller is answered before the commit.
    case answeredBeforeCommit
    /// An error in a commit is not heeded.
    case commitErrorSwallowed
    /// A commit does not wait for the disk.
    case commitNotAwaited
    /// What a commit would overwrite is kept in memory alone.
    case journalInMemory
    /// A commit that an ended process left is told to others before it is on the disk.
    case unsyncedCommitTold
    /// The log and the frontier are committed first, and the state after them.
    case stateCommittedApart
    /// How far the chains reach is not written when they grow.
    case frontierNotStored
    /// Numbers that a failed transaction gave out stay in use.
    case rolledBackNumbersKept
    /// A failed transaction leaves the chains as long as it had made them.
    case rolledBackChainsKept
    /// A disk that was full once is full for ever.
    case diskFullForGood

    /// The bug that this process has.
    nonisolated(unsafe) private static var planted: PlantedBug?

    /// Whether this is the bug that this process has.
    package var isPlanted: Bool { unsafe PlantedBug.planted == self }

    /// The bug that this process has, if it has one.
    package static var current: PlantedBug? { unsafe PlantedBug.planted }

    /// Plants one bug: to be called before anything else happens, or between two runs.
    package static func plant(_ bug: PlantedBug?) { unsafe PlantedBug.planted = bug }
}
#endif
