internal import CRDTCore
internal import Simulation

/// What a planted bug breaks.
struct Victim: Hashable, Sendable {
    /// The property, by its number in the list of properties.
    var property: String
    /// Scenario files that must fail with it, by the beginnings of their names.
    var scenarios: [String]
    /// To how many bits names of changes are cut where it is looked for; nil if they are not.
    var nameBitCount: Int?

    init(_ property: String, _ scenarios: String..., nameBitCount: Int? = nil) {
        self.property = property
        self.scenarios = scenarios
        self.nameBitCount = nameBitCount
    }
}

extension PlantedBug {
    var victim: Victim {
        switch self {
        case .lastArrivalWins: Victim("P2", "S07")
        case .overtakenWritesUncounted: Victim("P19")
        case .lessAcceptedThanMade, .lessLoadedThanAccepted, .runsJoinedBeyondLimit, .largeRunAwaitsCredit:
            Victim("P33", "S39")
        case .shortPositionsAccepted: Victim("P33", "S40")
        case .shortContextsAccepted: Victim("P33", "S41")
        case .tieGoesToTheFirstHeard, .removalAlwaysLoses: Victim("P17")
        case .headsEndAtForks, .lateStatementsTurnNothing: Victim("P8")
        case .anyGrantOverrides: Victim("P26", "SH08")
        case .equalsRemoveEachOther: Victim("P26", "SH05")
        case .removalCutsByTime: Victim("P26", "SH02", "SH03")
        case .grantsReachBack: Victim("P26", "SH07", "SH12")
        case .waitingStatementsIgnored: Victim("P26", "SH17")
        case .circlesOpenToAll: Victim("P26", "SH01", "SH16")
        case .mountsFoundOnce: Victim("P8")
        case .hiddenValuesCopied: Victim("P26", "SH16-hidden-property")
        case .leftBehindForGood: Victim("P26", "SH14", "SH15")
        case .readersForGood: Victim("P26", "SH06")
        case .removedStillMet: Victim("P26", "SH-dismissed", "SH09", "SH21")
        case .hidingLeavesOpenValue: Victim("P26", "SH16-hidden-after-sharing")
        case .newReadersHearNothing: Victim("P26", "found-lazy-peer-reads-again")
        case .lostSharesSentBack: Victim("P26", "SH-not-sent-back")
        case .leftStillShows: Victim("P26", "SH-left")
        case .generationsStandAlike: Victim("P26", "SH11")
        case .writersErase: Victim("P26", "SH20-erased-by-a-writer")
        case .nothingIsCarried: Victim("P26", "SH18")
        case .conflictForgotten, .conflictRowsDropped: Victim("P8", "S07")
        case .updateTimeByArrival: Victim("P3", "S03")
        case .deletionTakesUnseen: Victim("P1", "S04-delete-and-edit-with-a-crash", "S04-delete-and-edit.scn")
        case .deletionTakesOnlyOwn: Victim("P15")
        case .formerLifeReturns: Victim("P15", "S10")
        case .editRevivesNothing: Victim("P14", "S04")
        case .lastCreationCounts: Victim("P5", "S10")
        case .cycleUnchecked: Victim("P16", "S01", "S02")
        case .visibilityStopsAtParent: Victim("P16")
        case .folderHidesContent: Victim("P16", "S05", "S06")
        case .movesOnArrival: Victim("P5", "S01", "S02", "S03")
        case .verdictNotRecorded: Victim("P8", "S02-three-way")
        case .siblingsByArrival: Victim("P8", "S01", "S02", "S03")
        case .undoneMovesFallToRoot, .positionIgnored: Victim("P8")
        case .positionNotStored: Victim("P7")
        case .tiedMovesByLocalNumber: Victim("P32", "P32")
        case .losingMoveForgotten: Victim("P8", "S03")
        case .causesIgnored: Victim("P12", "S15")
        case .inheritanceForgotten: Victim("P12")
        case .heldApplied: Victim("P9", "S13-far-future", "S13-two-ahead-and-gone")
        case .heldNeverReleased: Victim("P9", "S13-two-ahead")
        case .appliedNeverHeldAgain: Victim("P9", "S13-two-ahead-and-gone")
        case .timeNeverToldAgain: Victim("P9", "S13-far-future.scn")
        case .clockNeedsNoWitness, .setBackClockIsBelieved: Victim("P14", "S13-two-behind")
        case .stampNotRaised: Victim("P14", "S13-two-ahead.scn", "S13-ahead-while-away")
        case .restampIgnored: Victim("P14", "S13-far-future", "S13-two-ahead", "S13-last-stamp")
        case .restampTakesAll: Victim("P14")
        case .strangersRestamp: Victim("P26")
        case .winnerStaysWhenRestamped: Victim("P14")
        case .ownChangesNotRestamped: Victim("P14", "S13-far-future.scn", "S13-two-ahead", "S13-ahead-for")
        case .clockNotRatcheted: Victim("P14", "S12")
        case .branchesTieByArrival: Victim("P27", "S26-equivocation")
        case .sameNameTakenForFirst, .rebuildKeepsRegisters: Victim("P35", nameBitCount: 4)
        case .secondBranchNotSent: Victim("P14", "S14-restored-backup-of-which", "S26-equivocation-from")
        case .fingerprintWithoutHashes, .differenceOverlooked: Victim("P10", "S14-restored-backup-that")
        case .copyUnnoticed: Victim("P27", "S14-restored-database", "S15-copied-database")
        case .failedCommitComesBack: Victim("P28", "found-commit-whose")
        case .claimBelieved: Victim("P11", "S26-claims-of-our-own")
        case .rollbackUnnoticed: Victim("P11", "S14-restored-backup.scn")
        case .replicaForgotten: Victim("P11", "S12")
        case .lateMovesForgotten: Victim("P24")
        case .eraIgnored: Victim("P11", "P21-restart")
        case .pastTakesAll, .pastForgetsDeletions: Victim("P20")
        case .pastMovesUnchecked: Victim("P20", "P20-moves")
        case .versionsCountedAnew: Victim("P19", "P19-versions")
        case .undoTakenForEdit: Victim("P21", "P21-two-devices", "P21-restart")
        case .erasuresOfOthersNeverWait: Victim("P22", "P22-erasures-in-bulk")
        case .reversalsOfOthersCount: Victim("P21", "P21-reversed-by-another")
        case .piecesTakenForActions: Victim("P21", "P21-one-action")
        case .mergesUndoneByStep: Victim("P21")
        case .mergedUndosStay: Victim("P21", "P21-undo-that-was-merged")
        case .undoRevivesDeleted: Victim("P21", "P21-concurrent-delete")
        case .redoForgetsValues: Victim("P21", "P21-restart")
        case .restoreKeepsNewer: Victim("P20", "P20-restore")
        case .unseenWritesDropped: Victim("P22", "P22-conflict")
        case .branchesForgottenByCompaction: Victim("P22", "P22-open-branch")
        case .droppedWritesPassedOver: Victim("P20", "P22-past")
        case .droppedWritesUncounted: Victim("P19", "P22-newcomer")
        case .droppedWritesTakenForSuperseded: Victim("P22", "P22-lying-relay")
        case .namesOfDroppedWritesUnhashed: Victim("P22", "P22-renamed-by-a-relay", "SH19")
        case .otherKindsRedactable: Victim("P22", "P22-other-kinds")
        case .neededContentNotAskedFor: Victim("P22", "P22-successor-lost")
        case .digestKeepsFormerState, .differencesAreNotMended: Victim("P10", "P10-altered-properties")
        case .missingTakenForNone: Victim("P22", "P22-made-again-without-what-is-missing")
        case .erasuresForgottenAtStart: Victim("P22", "P22-killed-erasure")
        case .branchCountsAtOnce: Victim("P36", "P36-two-machines", "P36-crash")
        case .contextMergesBranches: Victim("P36", "P36-named")
        case .branchesOpenToAll: Victim("P36")
        case .closingRemovesUnseen: Victim("P36", "P36-deleted")
        case .nestedBranchesForgotten: Victim("P36", "P36-branch-of-a-branch")
        case .laterEditsMerged: Victim("P36", "P36-edits-after")
        case .branchFollowsMain: Victim("P36", "P36-two-machines", "P36-from-the-past")
        case .branchUndoneAsMain: Victim("P21", "P21-on-a-branch")
        case .livePushForgotten,
            .announcedNotAskedFor,
            .nothingLeftAnswered,
            .fragmentsDropped,
            .creditKept:
            Victim("P24")
        case .creditLeaks: Victim("P31", "P31")
        case .onlyOwnSent: Victim("P6", "S27")
        case .resumesTooFar: Victim("P25", "S16")
        case .everythingSentAgain, .longRunOvershoots: Victim("P25")
        case .helloFrontierReadLate: Victim("P25", "P25-written")
        case .duplicateIsViolation: Victim("P4")
        case .failedIngestGoesOn: Victim("P13", "S35")
        case .silenceTolerated, .bytesTakenForLife: Victim("P24", "S38-changed")
        case .bothSessionsKept: Victim("P24", "S37-simultaneous")
        case .olderSessionStays: Victim("P24", "S37-stale")
        case .retriesAtOnce, .introductionsUnheeded: Victim("P24")
        case .replayBelieved, .strangersUnlimited: Victim("P24", "S38-replayed")
        case .answeredBeforeCommit: Victim("P14", "S35")
        case .commitErrorSwallowed: Victim("P28", "S35")
        case .commitNotAwaited: Victim("P28", "S17", "S18")
        case .journalInMemory: Victim("P28", "S17")
        case .stateCommittedApart: Victim("P13")
        case .frontierNotStored, .rolledBackChainsKept: Victim("P11")
        case .rolledBackNumbersKept, .diskFullForGood: Victim("P28", "S35")
        }
    }
}
