internal import CRDTCore
internal import Simulation

extension PlantedBug {
    /// Where in the program it is planted.
    enum Part: String, CaseIterable, Sendable {
        case merge
        /// Who may do what.
        case rights
        /// Who is sent what, and what becomes of things that are shared.
        case sharing
        /// The node with its sessions, and the protocol.
        case session
        case store
    }

    var part: Part {
        switch self {
        case .removalCutsByTime, .headsEndAtForks, .anyGrantOverrides, .grantsReachBack, .equalsRemoveEachOther,
            .waitingStatementsIgnored, .lateStatementsTurnNothing:
            .rights
        case .circlesOpenToAll, .hiddenValuesCopied, .leftBehindForGood, .readersForGood, .removedStillMet,
            .hidingLeavesOpenValue, .newReadersHearNothing, .lostSharesSentBack, .leftStillShows,
            .generationsStandAlike, .writersErase, .nothingIsCarried, .mountsFoundOnce:
            .sharing
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
            .restampTakesAll,
            .strangersRestamp,
            .winnerStaysWhenRestamped,
            .clockNotRatcheted,
            .branchesTieByArrival,
            .sameNameTakenForFirst,
            .unseenWritesDropped,
            .branchesForgottenByCompaction,
            .droppedWritesPassedOver,
            .droppedWritesUncounted,
            .droppedWritesTakenForSuperseded,
            .namesOfDroppedWritesUnhashed,
            .otherKindsRedactable,
            .neededContentNotAskedFor,
            .digestKeepsFormerState,
            .differencesAreNotMended,
            .erasuresForgottenAtStart,
            .branchCountsAtOnce,
            .contextMergesBranches,
            .branchesOpenToAll,
            .closingRemovesUnseen,
            .nestedBranchesForgotten,
            .laterEditsMerged,
            .branchFollowsMain,
            .branchUndoneAsMain,
            .fingerprintWithoutHashes:
            .merge
        case .formerLifeReturns,
            .missingTakenForNone,
            .undoTakenForEdit,
            .reversalsOfOthersCount,
            .piecesTakenForActions,
            .mergesUndoneByStep,
            .mergedUndosStay,
            .erasuresOfOthersNeverWait,
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
            .claimBelieved,
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
