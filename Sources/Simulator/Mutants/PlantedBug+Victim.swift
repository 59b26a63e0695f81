#if PLANTED_BUGS
internal import CRDTCore

/// What a planted bug breaks.
struct Victim: Hashable, Sendable {
    /// The property, by its number in the list of properties.
    var property: String
    /// Scenario files that must fail with it, by the beginnings of their names.
    var scenarios: [String]

    init(_ property: String, _ scenarios: String...) {
        self.property = property
        self.scenarios = scenarios
    }
}

extension PlantedBug {
    var victim: Victim {
        switch self {
        case .lastArrivalWins: Victim("P2", "S07")
        case .tieGoesToTheFirstHeard, .removalAlwaysLoses: Victim("P17")
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
        case .causesIgnored: Victim("P12", "S15")
        case .heldApplied: Victim("P9", "S13")
        case .heldNeverReleased: Victim("P9", "found-due-while")
        case .heldNoticeForgotten: Victim("P9", "S13-far-future")
        case .clockNotRatcheted: Victim("P14", "S12")
        case .retirementIgnored, .repairLosesWrites, .repairStampsNow: Victim("P14", "S13")
        case .forkedTailCounts, .disputedChangeCounts, .rebuildKeepsRegisters: Victim("P27", "S15")
        case .fingerprintWithoutHashes, .differenceOverlooked: Victim("P10", "S14-restored-backup-that")
        case .announcementTrusted: Victim("P27", "S26-equivocation-both")
        case .disputedChainSent, .forkProofKept: Victim("P27", "S15")
        case .branchRewrittenAgain: Victim("P27", "S14-restored-backup-of-which")
        case .copyUnnoticed: Victim("P27", "S14-moved")
        case .branchNotRewritten, .otherBranchNotAsked: Victim("P14", "S14-restored-backup-that")
        case .heldBehindDueUnsaid: Victim("P9", "found-held-behind")
        case .repairsWaitForEachOther: Victim("P14", "found-two-that")
        case .proofNotObserved: Victim("P12", "found-stamped-before")
        case .ownHeldChangeNotObserved: Victim("P12", "found-stamped-before-what-its")
        case .rebuiltWaitsForgotten: Victim("P9", "found-held-again")
        case .damageSignedAnew: Victim("P14", "found-signed-anew")
        case .failedCommitComesBack: Victim("P28", "found-commit-whose")
        case .branchNotPassedOn: Victim("P14", "S14-restored-backup-of-which")
        case .restOfBranchesNotAsked: Victim("P14", "S14-restored-to-before-a-fork")
        case .forkInBranchMissed: Victim("P14", "found-branch-that-forks")
        case .rollbackUnnoticed: Victim("P11", "S14-restored-backup.scn")
        case .replicaForgotten: Victim("P11", "S12")
        case .livePushForgotten,
            .announcedNotAskedFor,
            .nothingLeftAnswered,
            .fragmentsDropped,
            .creditKept:
            Victim("P24")
        case .onlyOwnSent: Victim("P6", "S27")
        case .formerChainNotPushed: Victim("P24", "found-unsent-when")
        case .resumesTooFar: Victim("P25", "S16")
        case .everythingSentAgain, .longRunOvershoots, .helloFrontierReadLate: Victim("P25")
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
        case .unsyncedCommitTold: Victim("P28")
        case .stateCommittedApart: Victim("P13")
        case .frontierNotStored, .rolledBackChainsKept: Victim("P11")
        case .rolledBackNumbersKept, .diskFullForGood: Victim("P28", "S35")
        }
    }
}
#endif
