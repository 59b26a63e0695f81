/// Bugs that can be switched on, one at a time, to see that the simulator finds them.
///
/// They exist only in a copy of the sources, where a patch plants each beside the code that it spoils. What it breaks,
/// `PlantedBug.victim` says.
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
    /// A write that is overtaken before it arrives is not counted.
    case overtakenWritesUncounted
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

    // MARK: Rights

    /// A removal cuts by time: what has an earlier stamp stays.
    case removalCutsByTime
    /// What comes before a fork that a removal keeps is not kept.
    case headsEndAtForks
    /// A grant overrides the removals by higher roles as well.
    case anyGrantOverrides
    /// A grant counts for chains that had begun before it.
    case grantsReachBack
    /// Managers remove each other.
    case equalsRemoveEachOther
    /// What is said in a change that waits does not count.
    case waitingStatementsIgnored
    /// What a late statement turns is not computed anew.
    case lateStatementsTurnNothing

    // MARK: Sharing

    /// Everybody is sent, and told of, what is in all circles.
    case circlesOpenToAll
    /// What goes over into another circle takes along what is hidden.
    case hiddenValuesCopied
    /// What was left behind in a circle stays there.
    case leftBehindForGood
    /// A grant once given lets its user read for good.
    case readersForGood
    /// Whoever is removed from the workspace is let in as before.
    case removedStillMet
    /// What is hidden stays in force where others read it.
    case hidingLeavesOpenValue
    /// A peer that wants announcements, and comes to read something, hears nothing of what lies there.
    case newReadersHearNothing
    /// Whoever has lost a share sends all of it to its readers in each session.
    case lostSharesSentBack
    /// What somebody has given up shows as before.
    case leftStillShows
    /// A machine that was certified anew stands above no other.
    case generationsStandAlike
    /// Whoever may write may have erased what others wrote.
    case writersErase
    /// Nothing is left with others for those who are out of reach.
    case nothingIsCarried
    /// What stands elsewhere than its circle says stays there, wherever it is put.
    case mountsFoundOnce

    // MARK: Limits

    /// A receiver refuses changes of sizes that a write may make.
    case lessAcceptedThanMade
    /// A store takes a change for damage that is as large as a receiver accepts.
    case lessLoadedThanAccepted
    /// A receiver refuses positions that a write may make.
    case shortPositionsAccepted
    /// A receiver refuses contexts that a write may make.
    case shortContextsAccepted
    /// A store puts changes together into runs that are larger than a receiver accepts.
    case runsJoinedBeyondLimit
    /// What is larger than the peer's credit is not sent.
    case largeRunAwaitsCredit

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

    /// Moves of one object with equal stamps are ordered by which replica was heard of first here.
    case tiedMovesByLocalNumber
    /// A move that loses is no conflict.
    case losingMoveForgotten

    // MARK: Causes and clocks

    /// A change is applied without what it had seen.
    case causesIgnored
    /// What is stamped far ahead is applied at once.
    case heldApplied
    /// What was held is not applied when it is due.
    case heldNeverReleased
    /// What was applied stays when the clock is set back.
    case appliedNeverHeldAgain
    /// An effective stamp is that of the author.
    case stampNotRaised
    /// A restamp orders nothing anew.
    case restampIgnored
    /// A restamp orders anew what was stamped before it, too.
    case restampTakesAll
    /// Everyone may restamp.
    case strangersRestamp
    /// A reader's token is taken to be good whatever became of the commits that it has seen.
    case eraIgnored
    /// Of conflicting writes that are restamped the one that was in force stays so.
    case winnerStaysWhenRestamped
    /// Late moves that were deferred come in when something else is settled, or never.
    case lateMovesForgotten
    /// A device does not restamp its own changes once its clock is right.
    case ownChangesNotRestamped
    /// A clock takes no note of what was applied.
    case clockNotRatcheted
    /// Nobody is told when a device's clock shows another time.
    case timeNeverToldAgain
    /// A device believes its clock without another's word.
    case clockNeedsNoWitness
    /// A device whose clock was set back tells others the time by it.
    case setBackClockIsBelieved
    /// Computing the state anew starts from the registers as they are.
    case rebuildKeepsRegisters

    // MARK: Forks and copies

    /// Tied writes of two forks are ordered by which fork came first.
    case branchesTieByArrival
    /// A name that two changes share means the first of them.
    case sameNameTakenForFirst
    /// Of a chain that has forked only the fork that came first is sent.
    case secondBranchNotSent
    /// Frontiers are compared by sequences alone.
    case fingerprintWithoutHashes
    /// Hashes of one sequence that differ are not looked into.
    case differenceOverlooked
    /// A database that was moved goes on as if it were the original.
    case copyUnnoticed
    /// A database that went back in time goes on with its chain.
    case rollbackUnnoticed
    /// A database goes on as one that went back in time, if a peer says so.
    case claimBelieved
    /// Which replica a device writes under is forgotten when it restarts.
    case replicaForgotten

    // MARK: History

    /// A state of the past counts whatever is known by now.
    case pastTakesAll
    /// What was deleted shows in a state of the past.
    case pastForgetsDeletions
    /// Of everything up to a time, moves without effect count too.
    case pastMovesUnchecked
    /// The number of a property's version begins anew when a value is written after a removal.
    case versionsCountedAnew
    /// An undo is an edit like any other to the next one, and cannot be done again.
    case undoTakenForEdit
    /// Whoever says that a change of another device is taken back is believed, also if no edit comes with it.
    case reversalsOfOthersCount
    /// Each change is taken for an action by itself.
    case piecesTakenForActions
    /// What a merge has brought is taken back change by change, among what was done beside it.
    case mergesUndoneByStep
    /// What a merge had brought is its edits alone: of the undos that came with them nothing is taken back.
    case mergedUndosStay
    /// Whatever other devices erase is erased at once.
    case erasuresOfOthersNeverWait
    /// An undo of a deletion brings an object back that somebody else has deleted too.
    case undoRevivesDeleted
    /// A compaction drops every write that is not in force, also what nobody had seen yet who wrote later.
    case unseenWritesDropped
    /// A compaction does not ask what open branches show.
    case branchesForgottenByCompaction
    /// A read of the past takes the last write that is kept for the one that was in force.
    case droppedWritesPassedOver
    /// Writes that were dropped elsewhere are not counted.
    case droppedWritesUncounted
    /// A write that was dropped elsewhere counts as superseded, whether what had seen it is here or not.
    case droppedWritesTakenForSuperseded
    /// The hash of a change does not hold the names of the properties that it writes.
    case namesOfDroppedWritesUnhashed
    /// The hash of a change holds of each edit which object it is of alone, so any can pass for a write that was
    /// dropped.
    case otherKindsRedactable
    /// What was dropped elsewhere and is needed here is not asked for.
    case neededContentNotAskedFor
    /// The digest of the state keeps what objects were before.
    case digestKeepsFormerState
    /// Objects that a peer has otherwise are named, and stay as they are.
    case differencesAreNotMended
    /// A plan takes a property whose value is missing for one that is not there.
    case missingTakenForNone
    /// An erasure that is not done when the process ends is never done.
    case erasuresForgottenAtStart
    /// An edit of a branch shows on the main timeline at once.
    case branchCountsAtOnce
    /// Who names a change of a branch has merged the branch.
    case contextMergesBranches
    /// Whoever likes to opens, merges and closes a branch, also of another user.
    case branchesOpenToAll
    /// A branch that somebody gives up is gone with what he had not seen of it.
    case closingRemovesUnseen
    /// A merge takes in no branches of the branch.
    case nestedBranchesForgotten
    /// A merge takes in what was written on the branch after it, as far as it is here.
    case laterEditsMerged
    /// A branch shows what is written on the main timeline after it began.
    case branchFollowsMain
    /// An undo on a branch takes back what counts on the main timeline.
    case branchUndoneAsMain
    /// A redo leaves properties as the undo has made them.
    case redoForgetsValues
    /// Properties that an object did not have stay when it is brought back.
    case restoreKeepsNewer

    // MARK: Exchange

    /// What is written is not pushed to those who are connected.
    case livePushForgotten
    /// Changes of other devices are not passed on.
    case onlyOwnSent
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
    /// An acknowledgement gives back 64 bytes of credit too few.
    case creditLeaks
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
    /// A caller is answered before the commit.
    case answeredBeforeCommit
    /// An error in a commit is not heeded.
    case commitErrorSwallowed
    /// A commit does not wait for the disk.
    case commitNotAwaited
    /// What a commit would overwrite is kept in memory alone.
    case journalInMemory
    /// The log and the frontier are committed first, and the state after them.
    case stateCommittedApart
    /// How far the chains reach is not written when they grow.
    case frontierNotStored
    /// What a fork had seen before it left is forgotten when the database is opened.
    case inheritanceForgotten
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

    /// Whether this is the bug that this process has, and so many bytes are more than half of what an edit may have.
    package func refuses(_ byteCount: Int) -> Bool { self.isPlanted && byteCount > Limits.editByteCountMax / 2 }

    /// The bug that this process has, if it has one.
    package static var current: PlantedBug? { unsafe PlantedBug.planted }

    /// To how many bits names of points are cut, so that they are shared all the time; nil if they are not cut.
    nonisolated(unsafe) private static var nameBitCount: Int?

    /// To how many bits names of points are cut; nil if they are not.
    package static var nameBits: Int? { unsafe PlantedBug.nameBitCount }

    /// Cuts the names of points from now on.
    package static func shortenNames(toBits count: Int?) { unsafe PlantedBug.nameBitCount = count }

    /// A name as this process cuts it.
    package static func shortened(_ name: UInt64) -> UInt64 {
        unsafe PlantedBug.nameBitCount.map { name >> UInt64(64 - $0) } ?? name
    }

    /// Plants one bug: to be called before anything else happens, or between two runs.
    package static func plant(_ bug: PlantedBug?) { unsafe PlantedBug.planted = bug }
}
