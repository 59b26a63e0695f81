#if PLANTED_BUGS
internal import Simulation
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
            .overtakenWritesUncounted,
            .updateTimeByArrival,
            .deletionTakesUnseen,
            .deletionTakesOnlyOwn,
            .editRevivesNothing,
            .lastCreationCounts,
            .cycleUnchecked,
            .positionIgnored,
            .folderHidesContent,
            .visibilityStopsAtParent,
            .losingMoveForgotten,
            .causesIgnored,
            .heldApplied,
            .appliedNeverHeldAgain,
            .stampNotRaised,
            .restampIgnored,
            .strangersRestamp,
            .winnerStaysWhenRestamped,
            .clockNotRatcheted,
            .branchesTieByArrival,
            .sameNameTakenForFirst,
            .unseenWritesDropped,
            .branchesForgottenByCompaction,
            .droppedWritesPassedOver,
            .droppedWritesUncounted,
            .neededContentNotAskedFor,
            .erasuresForgottenAtStart,
            .branchCountsAtOnce,
            .nestedBranchesForgotten,
            .laterEditsMerged,
            .branchFollowsMain,
            .branchUndoneAsMain,
            .fingerprintWithoutHashes:
            .merge
        case .formerLifeReturns,
            .undoTakenForEdit,
            .undoRevivesDeleted,
            .redoForgetsValues,
            .restoreKeepsNewer,
            .lessAcceptedThanMade,
            .shortPositionsAccepted,
            .shortContextsAccepted,
            .heldNeverReleased,
            .timeNeverToldAgain,
            .clockNeedsNoWitness,
            .setBackClockIsBelieved,
            .ownChangesNotRestamped,
            .eraIgnored,
            .lateMovesForgotten,
            .secondBranchNotSent,
            .differenceOverlooked,
            .copyUnnoticed,
            .rollbackUnnoticed,
            .replicaForgotten,
            .livePushForgotten,
            .onlyOwnSent,
            .everythingSentAgain,
            .resumesTooFar,
            .longRunOvershoots,
            .helloFrontierReadLate,
            .duplicateIsViolation,
            .failedIngestGoesOn,
            .creditLeaks,
            .creditKept,
            .largeRunAwaitsCredit,
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
        case .lessLoadedThanAccepted,
            .pastTakesAll,
            .pastForgetsDeletions,
            .pastMovesUnchecked,
            .versionsCountedAnew,
            .runsJoinedBeyondLimit,
            .conflictRowsDropped,
            .movesOnArrival,
            .undoneMovesFallToRoot,
            .verdictNotRecorded,
            .siblingsByArrival,
            .positionNotStored,
            .tiedMovesByLocalNumber,
            .rebuildKeepsRegisters,
            .commitErrorSwallowed,
            .commitNotAwaited,
            .journalInMemory,
            .stateCommittedApart,
            .frontierNotStored,
            .inheritanceForgotten,
            .rolledBackNumbersKept,
            .rolledBackChainsKept,
            .failedCommitComesBack:
            .store
        }
    }
}
#endif
