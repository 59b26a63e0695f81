#if PLANTED_BUGS
internal import CRDTCore

extension PlantedBug {
    /// Where in the program it is planted.
    enum Part: String, CaseIterable, Sendable {
        case merge
        /// The node with its sessions, and the protocol.
        case session
        case store
    }

    var part: Part {
        switch self {
        case .lastArrivalWins,
            .tieGoesToTheFirstHeard,
            .removalAlwaysLoses,
            .conflictForgotten,
            .updateTimeByArrival,
            .deletionTakesUnseen,
            .deletionTakesOnlyOwn,
            .editRevivesNothing,
            .lastCreationCounts,
            .cycleUnchecked,
            .positionIgnored,
            .folderHidesContent,
            .visibilityStopsAtParent,
            .causesIgnored,
            .heldApplied,
            .clockNotRatcheted,
            .retirementIgnored,
            .forkedTailCounts,
            .disputedChangeCounts,
            .fingerprintWithoutHashes:
            .merge
        case .formerLifeReturns,
            .heldNeverReleased,
            .heldNoticeForgotten,
            .heldBehindDueUnsaid,
            .repairLosesWrites,
            .repairStampsNow,
            .repairsWaitForEachOther,
            .differenceOverlooked,
            .announcementTrusted,
            .disputedChainSent,
            .forkProofKept,
            .branchNotRewritten,
            .otherBranchNotAsked,
            .branchNotPassedOn,
            .restOfBranchesNotAsked,
            .forkInBranchMissed,
            .proofNotObserved,
            .ownHeldChangeNotObserved,
            .rebuiltWaitsForgotten,
            .damageSignedAnew,
            .branchRewrittenAgain,
            .copyUnnoticed,
            .rollbackUnnoticed,
            .replicaForgotten,
            .livePushForgotten,
            .onlyOwnSent,
            .formerChainNotPushed,
            .everythingSentAgain,
            .resumesTooFar,
            .longRunOvershoots,
            .helloFrontierReadLate,
            .duplicateIsViolation,
            .failedIngestGoesOn,
            .creditKept,
            .announcedNotAskedFor,
            .nothingLeftAnswered,
            .fragmentsDropped,
            .silenceTolerated,
            .bytesTakenForLife,
            .bothSessionsKept,
            .olderSessionStays,
            .retriesAtOnce,
            .replayBelieved,
            .strangersUnlimited,
            .introductionsUnheeded,
            .answeredBeforeCommit,
            .diskFullForGood:
            .session
        case .conflictRowsDropped,
            .movesOnArrival,
            .undoneMovesFallToRoot,
            .verdictNotRecorded,
            .siblingsByArrival,
            .positionNotStored,
            .rebuildKeepsRegisters,
            .commitErrorSwallowed,
            .commitNotAwaited,
            .journalInMemory,
            .unsyncedCommitTold,
            .stateCommittedApart,
            .frontierNotStored,
            .rolledBackNumbersKept,
            .rolledBackChainsKept,
            .failedCommitComesBack:
            .store
        }
    }
}
#endif
