// Small values that a store keeps. Ids are replaced by small numbers that mean something in one store only.

/// Stands for a replica in one store.
package struct ReplicaIndex: RawRepresentable, Hashable, Sendable {
    package var rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// Stands for an object in one store.
package struct ObjectIndex: RawRepresentable, Hashable, Sendable {
    package var rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// Stands for a property name, type or kind in one store.
package struct NameIndex: RawRepresentable, Hashable, Sendable {
    package var rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// Names one register: a property of an object.
package struct RegisterKey: Hashable, Sendable {
    package var object: ObjectIndex
    package var name: NameIndex

    package init(object: ObjectIndex, name: NameIndex) {
        self.object = object
        self.name = name
    }

    package static func == (left: RegisterKey, right: RegisterKey) -> Bool { left.packed == right.packed }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.packed) }

    /// Both numbers in one.
    var packed: UInt64 { UInt64(self.object.rawValue) << 32 | UInt64(self.name.rawValue) }
}

/// Where an operation stands in the log, and its stamp: what orders writes.
package struct WriteReference: Hashable, Sendable {
    package var stamp: Stamp
    package var replica: ReplicaIndex
    package var sequence: UInt64
    package var index: UInt32

    package init(stamp: Stamp, replica: ReplicaIndex, sequence: UInt64, index: UInt32) {
        self.stamp = stamp
        self.replica = replica
        self.sequence = sequence
        self.index = index
    }

    /// The place within the replica's chain as one number that rises along it.
    package var ordinal: ChainOrdinal { ChainOrdinal(sequence: self.sequence, index: self.index) }
}

/// The place of an operation in its replica's chain: sequence and index in one number.
package struct ChainOrdinal: Hashable, Comparable, Sendable {
    package var rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package init(sequence: UInt64, index: UInt32) {
        self.rawValue = min(sequence, Limits.sequenceMax) << 17 | UInt64(min(index, 0xffff)) + 1
    }

    /// Before everything.
    package static let zero = ChainOrdinal(rawValue: 0)

    /// After every operation of the change with this sequence.
    package static func end(ofSequence sequence: UInt64) -> ChainOrdinal {
        ChainOrdinal(rawValue: min(sequence, Limits.sequenceMax) << 17 | 0x1ffff)
    }

    package static func < (left: ChainOrdinal, right: ChainOrdinal) -> Bool { left.rawValue < right.rawValue }
}

/// The state of one register: the write in force.
package struct Register: Hashable, Sendable {
    package var winner: WriteReference
    /// Whether the write in force removes the property.
    package var isRemoval: Bool
    /// How many other writes are concurrent with the winner and not yet superseded.
    package var conflictCount: UInt32

    package init(winner: WriteReference, isRemoval: Bool, conflictCount: UInt32) {
        self.winner = winner
        self.isRemoval = isRemoval
        self.conflictCount = conflictCount
    }
}

/// What became of a write that is not in force.
package enum VersionStatus: UInt8, Hashable, Sendable {
    /// A later write had seen it.
    case superseded = 0
    /// Concurrent with the write in force; shown as a conflict until someone writes again.
    case conflict = 1
    /// Never counted: its change is not effective.
    case rejected = 2
}

/// The state of one object.
package struct ObjectRecord: Hashable, Sendable {
    package var id: ObjectID
    /// The creation that counts: the first in order.
    ///
    /// Nil for an object only ever referred to.
    package var creation: Creation?
    package var existence = Existence()
    /// The highest stamp of an effective operation on the object.
    package var updated = Stamp.zero
    package var parent: ObjectIndex?
    package var position = Position.initial
    /// Objects whose place is under this one, living or not.
    package var childCount: UInt32 = 0
    /// Those of them that are visible.
    package var visibleChildCount: UInt32 = 0
    /// Whether the object shows: it lives, or something below it does.
    package var isVisible = false

    package init(id: ObjectID) { self.id = id }

    /// Which creation made the object what it is.
    package struct Creation: Hashable, Sendable {
        package var write: WriteReference
        package var type: NameIndex
        package var kind: NameIndex

        package init(write: WriteReference, type: NameIndex, kind: NameIndex) {
            self.write = write
            self.type = type
            self.kind = kind
        }
    }
}

/// One move of an object, in force at its time or not.
package struct MoveRecord: Hashable, Sendable {
    package var write: WriteReference
    package var object: ObjectIndex
    package var parent: ObjectIndex?
    package var position: Position
    /// False if the move would have closed a cycle at its place in stamp order.
    package var isEffective: Bool

    package init(
        write: WriteReference,
        object: ObjectIndex,
        parent: ObjectIndex?,
        position: Position,
        isEffective: Bool
    ) {
        self.write = write
        self.object = object
        self.parent = parent
        self.position = position
        self.isEffective = isEffective
    }
}

/// Why a replica's changes after some sequence do not count.
package enum ExclusionReason: UInt8, Hashable, Sendable {
    /// Two different changes carry one dot, both signed.
    case equivocation = 1
    /// The device itself took them back.
    case retired = 2
    /// A change is stamped no later than something it had seen.
    case backdated = 3
}

/// Where a replica's effective changes end, and why.
package struct Exclusion: Hashable, Sendable {
    /// The last sequence that counts.
    package var lastSequence: UInt64
    package var reason: ExclusionReason

    package init(lastSequence: UInt64, reason: ExclusionReason) {
        self.lastSequence = lastSequence
        self.reason = reason
    }
}

/// What a store knows of one replica.
package struct ReplicaRecord: Hashable, Sendable {
    package var id: ReplicaID
    /// Who writes; nil as long as its first change is not here.
    package var introduction: Introduction? {
        get { self.introductionBox?.content }
        set { self.introductionBox = newValue.map { IntroductionBox($0) } }
    }
    /// The device that signs the chain; nil as long as its first change is not here.
    package var device: DeviceID? { self.introductionBox?.content.device }
    // Apart, since records are copied for every change, and this never changes.
    private var introductionBox: IntroductionBox?
    /// The last change in the log, and its hash and stamp.
    package var storedSequence: UInt64 = 0
    package var storedHash: Hash256
    package var storedStamp = Stamp.zero
    /// The last change that has been applied, as effective or as rejected.
    package var appliedSequence: UInt64 = 0
    package var appliedStamp = Stamp.zero
    /// What the next change was last seen to wait for.
    ///
    /// A note to save work, which a store need not keep.
    var waitsFor: Merge.Wait?
    /// The context at the last applied change: a sequence for each replica index, 0 where it is short.
    package var context: [UInt64] = []
    /// The first sequence of which two different changes are proved.
    package var forkSequence: UInt64?
    /// The last sequence that the device did not take back.
    package var retiredAfter: UInt64?
    /// The last sequence before one stamped no later than what it had seen.
    package var backdatedAfter: UInt64?

    /// `origin`: the hash before the first change.
    package init(id: ReplicaID, origin: Hash256) {
        self.id = id
        self.storedHash = origin
    }

    /// Where the effective changes end: the lowest of the reasons there are.
    ///
    /// Nil if all count.
    package var exclusion: Exclusion? {
        #if PLANTED_BUGS
        if PlantedBug.disputedChangeCounts.isPlanted, let fork = self.forkSequence {
            return Exclusion(lastSequence: fork, reason: .equivocation)
        }
        #endif
        guard self.forkSequence != nil || self.retiredAfter != nil || self.backdatedAfter != nil else { return nil }
        var lowest: Exclusion?
        func consider(_ sequence: UInt64?, _ reason: ExclusionReason) {
            guard let sequence, sequence < lowest?.lastSequence ?? .max else { return }
            lowest = Exclusion(lastSequence: sequence, reason: reason)
        }
        consider(self.forkSequence.map { $0 > 0 ? $0 - 1 : 0 }, .equivocation)
        consider(self.retiredAfter, .retired)
        consider(self.backdatedAfter, .backdated)
        return lowest
    }

    /// How far the chain has come.
    package var progress: ReplicaProgress {
        ReplicaProgress(
            storedSequence: self.storedSequence,
            appliedSequence: self.appliedSequence,
            effectiveEnd: self.exclusion?.lastSequence ?? .max
        )
    }

    /// Whether a change of this replica counts.
    package func isEffective(_ sequence: UInt64) -> Bool {
        self.exclusion.map { sequence <= $0.lastSequence } ?? true
    }
}

/// How far a replica's chain has come in one store.
///
/// What merging asks most often of a record, and a trivial value, which a record is not.
package struct ReplicaProgress: Hashable, Sendable {
    package var storedSequence: UInt64
    package var appliedSequence: UInt64
    /// The last sequence that may count.
    package var effectiveEnd: UInt64

    package init(storedSequence: UInt64, appliedSequence: UInt64, effectiveEnd: UInt64) {
        self.storedSequence = storedSequence
        self.appliedSequence = appliedSequence
        self.effectiveEnd = effectiveEnd
    }

    /// Whether changes are stored that have not been applied.
    package var isPending: Bool { self.appliedSequence < self.storedSequence }

    /// Whether what a change had seen of the replica is applied here.
    ///
    /// What does not count need not be there, but all that counts before it must.
    func covers(_ sequence: UInt64) -> Bool { self.appliedSequence >= min(sequence, self.effectiveEnd) }
}

/// An introduction in one word.
private final class IntroductionBox: Hashable, Sendable {
    let content: Introduction

    init(_ content: Introduction) { self.content = content }

    static func == (left: IntroductionBox, right: IntroductionBox) -> Bool {
        left === right || left.content == right.content
    }

    func hash(into hasher: inout Hasher) { hasher.combine(self.content) }
}
