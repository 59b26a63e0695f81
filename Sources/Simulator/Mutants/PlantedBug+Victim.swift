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
        case .lastArrivalWins: Victim("P2")
        case .tieGoesToTheFirstHeard, .removalAlwaysLoses: Victim("P17")
        case .conflictForgotten, .conflictRowsDropped: Victim("P8")
        case .updateTimeByArrival: Victim("P3")
        case .deletionTakesUnseen: Victim("P1")
        case .deletionTakesOnlyOwn, .formerLifeReturns: Victim("P15")
        case .editRevivesNothing: Victim("P14")
        case .lastCreationCounts: Victim("P5")
        case .cycleUnchecked, .visibilityStopsAtParent, .folderHidesContent: Victim("P16")
        case .movesOnArrival: Victim("P5")
        case .undoneMovesFallToRoot, .verdictNotRecorded, .positionIgnored, .siblingsByArrival: Victim("P8")
        case .positionNotStored: Victim("P7")
        case .causesIgnored: Victim("P12")
        case .heldApplied, .heldNeverReleased, .heldNoticeForgotten: Victim("P9")
        case .clockNotRatcheted, .retirementIgnored, .repairLosesWrites, .repairStampsNow: Victim("P14")
        case .forkedTailCounts, .disputedChangeCounts, .rebuildKeepsRegisters: Victim("P27")
        case .fingerprintWithoutHashes, .differenceOverlooked: Victim("P10")
        case .disputedChainSent, .forkProofKept, .branchRewrittenAgain, .copyUnnoticed: Victim("P27")
        case .branchNotRewritten, .otherBranchNotAsked: Victim("P14")
        case .rollbackUnnoticed, .replicaForgotten: Victim("P11")
        case .livePushForgotten, .announcedNotAskedFor, .nothingLeftAnswered, .fragmentsDropped: Victim("P24")
        case .onlyOwnSent: Victim("P6")
        case .everythingSentAgain, .resumesTooFar, .longRunOvershoots, .helloFrontierReadLate: Victim("P25")
        case .duplicateIsViolation: Victim("P4")
        case .failedIngestGoesOn: Victim("P13")
        case .creditKept, .silenceTolerated, .bytesTakenForLife, .bothSessionsKept, .olderSessionStays: Victim("P24")
        case .retriesAtOnce, .replayBelieved, .strangersUnlimited, .introductionsUnheeded: Victim("P24")
        case .answeredBeforeCommit: Victim("P14")
        case .commitErrorSwallowed, .commitNotAwaited, .journalInMemory, .unsyncedCommitTold: Victim("P28")
        case .stateCommittedApart: Victim("P13")
        case .frontierNotStored, .rolledBackChainsKept: Victim("P11")
        case .rolledBackNumbersKept, .diskFullForGood: Victim("P28")
        }
    }
}
#endif
