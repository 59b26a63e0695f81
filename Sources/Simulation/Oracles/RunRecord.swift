/// What a run has shown so far.
package struct RunRecord: Sendable {
    package private(set) var findings: [Finding] = []
    package private(set) var marks: Set<Mark> = []
    /// How often each fault took effect.
    package private(set) var faultCounts: [Fault: Int] = [:]
    package var operationCount = 0
    var deliveredByteCount = 0
    /// How long the healed core took to become equal.
    package var convergenceTime: VirtualTime?

    /// Whether to stop: what follows a broken property says nothing.
    var hasFatalFinding: Bool { !self.findings.isEmpty }

    package mutating func find(_ property: CheckedProperty, _ message: String) {
        self.findings.append(Finding(property: property, message: message))
    }

    package mutating func mark(_ mark: Mark) { self.marks.insert(mark) }

    /// Whether any of these faults took effect.
    func saw(_ faults: Fault...) -> Bool { faults.contains { self.faultCounts[$0] != nil } }

    package mutating func count(_ fault: Fault) { self.faultCounts[fault, default: 0] += 1 }
}

/// A property that did not hold.
package struct Finding: Codable, Hashable, Sendable {
    package var property: CheckedProperty
    package var message: String

    package init(property: CheckedProperty, message: String) {
        self.property = property
        self.message = message
    }
}

/// What must hold; the numbers are those of the list of properties.
package enum CheckedProperty: String, CaseIterable, Codable, Hashable, Sendable {
    /// P1, P10: equal frontiers hide different states, or the core's frontiers differ.
    case divergence
    /// P8: the naive model comes to another state.
    case modelDisagrees
    /// P5, P6, P19: the log, merged from nothing and in another order, makes another state.
    case replayDisagrees
    /// P9: something waits for what is there.
    case residue
    /// P11: a frontier went back, or a chain changed behind it.
    case frontierWentBack
    /// P12: a change is applied whose causes are not.
    case causality
    /// P13: a transaction shows in part.
    case tornTransaction
    /// P14: an acknowledged write is gone.
    case lostWrite
    /// P14: an older write is in force over one that had seen it.
    case overruled
    /// A device's stamps do not rise along its chain.
    case stampFell
    /// P16: the hierarchy has a cycle, or an object stands nowhere.
    case brokenTree
    /// P24: the healed core is not equal in time.
    case notConverged
    /// P24: equal peers go on exchanging.
    case notQuiet
    /// P24: a machine is busy without time passing.
    case spinning
    /// P25: a new session repeats what was durable.
    case repeated
    /// A database goes on under a new replica id without a reason to.
    case needlessReplica
    /// An erasure counts on a machine that keeps what it covers.
    case erasureLeft
    /// P28: a store is damaged though its disk kept its promises.
    case damage
    /// P24: what is written does not reach all who are connected at once.
    case notPushed
    /// What is stamped further ahead than a machine's clock tolerates is applied there.
    case appliedTooEarly
    /// A device whose clock is right leaves its own changes held.
    case notRepaired
    /// What was written with a clock that was not ahead is ordered as if it had been.
    case timelyRestamped
    /// What a reader has put together from the changes that he was told of is not the state.
    case observation
    /// P20: a state of the past does not read as it was, or as others read it.
    case pastDiffers
    /// P21: an undo or a redo did what it should not.
    case undo
    /// What is brought back from the past is not what it was.
    case restoration
    /// P36: a branch shows where it is not merged, shows differently on machines that have the same, or is merged
    /// otherwise than edits made offline.
    case branchDiffers
    /// The number of a property's version went back.
    case versionFell
    /// P31: a connection on which nothing happens has something left over.
    case sessionResidue
    /// A chain has forked where nothing could have led to that.
    case needlessFork
    /// Honest peers say of each other that they break the protocol.
    case violation
    /// P26: somebody is a member who held no invite, or whoever was told that he is one is not.
    case membership
    /// P26: somebody has something that was never shared with him.
    case leaked
    /// A node holds more for others than its limits say, or lets more strangers in.
    case unbounded
    /// One seed made two different runs.
    case notRepeatable
    /// P30: the process that ran the seed trapped.
    case crash
}

/// Rare states that a batch of seeds must reach: else it has not tried what it is meant to try.
package enum Mark: String, CaseIterable, Hashable, Sendable {
    case sessionStood
    case cutMidStream
    case violationSeen
    case changeHeld
    case clockDifferenceTold
    case clockSetBackTold
    case clockRepaired
    case copyNoticed
    case rollbackNoticed
    case forkSeen
    /// A device goes on under a new replica id since its chain has forked.
    case forkLeft
    /// A chain has three forks or more.
    case forkedTwice
    case writeRefusedByFullDisk
    case storeFailed
    case startFailed
    case unsyncedWriteLost
    case promiseBroken
    case damageNoticed
    case moveWithoutEffect
    case conflictShown
    case changeWaited
    case acknowledgedThenExcused
    case strangersLeft
    case pairedUnderFaults
    case pairingFailed
    case hostileSessionStood
    case hostileStayed
    /// A change waits for one that nobody has, and everything else goes on.
    case causeNeverCame
    /// A hostile member has signed two different changes with one dot.
    case liarForked
    /// A user has had changes restamped.
    case restampedWhenAsked
    /// Two writes that had not seen each other have one stamp.
    case stampsTied
    /// A change stays held whose device never came back.
    case heldOfTheGone
    /// Two members met of whom nobody had told each other.
    case memberMet
    case windowsFull
    case equalInTime
    case comparedWithModel
    case comparedWithReplay
    case comparedWithRebuilt
    /// A transaction was taken back, and one done again.
    case undone
    case redone
    /// One of these on a branch.
    case undoneOnBranch
    /// An undo or redo left something as it was, and named it.
    case undoKept
    /// An action of several changes was taken back, or done again, a change at a time.
    case undoneInPieces
    case broughtBack
    /// A compaction has dropped something; what was read in the end of an earlier state may need what was dropped.
    case valuesDropped
    /// The past of a property was erased by a write that was acknowledged; and machines were looked through for it.
    case pastErased
    case erasuresChecked
    case pastDropped
    /// Something was written on a branch, and nothing of it showed on the main timeline.
    case branchWritten
    /// A branch was merged, as edits that were made offline.
    case branchMerged
    /// Branches were compared in the end, and one that leaves another.
    case branchesCompared
    case branchOfBranch
    /// A state of the run was read again in the end, byte for byte; one in which something was restamped since.
    case pastRead
    case pastReordered
    case pastReadByTime
    /// Something was shared, taken back, and given up; a property was hidden, and shown to somebody; a machine was
    /// removed, and somebody was taken out of the workspace.
    case shared
    case unshared
    case shareLeft
    case propertyHidden
    case propertyShared
    case deviceRemoved
    case personDismissed
    case personReadmitted
    /// A machine was certified anew with the words of its user.
    case machineRecovered
    /// Something was taken back, or done again, where several people write.
    case sharedUndone
    /// One undo took back what one transaction had written in several circles.
    case undoneInSeveralCircles
    /// What was put together from several circles was compared with the naive model.
    case circlesComparedWithModel
    /// All that was taken back had seen everything else or was seen by it, so that the state must be as if it had not
    /// been.
    case undoneInOrder
}
