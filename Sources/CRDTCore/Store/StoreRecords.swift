// Small values that a store keeps. Ids are replaced by small numbers that mean something in one store only.

/// Stands for a segment in one store: a stretch of a replica's chain without a fork.
///
/// A chain that has not forked is one segment. Each further fork is a segment that hangs on a change of another.
/// Which fork is which segment depends on what came first; nothing outside of the store does.
package struct SegmentIndex: RawRepresentable, Hashable, Sendable {
    package var rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// Names one change in one store; sequence 0 is the beginning of the chain.
package struct SegmentPoint: Hashable, Comparable, Sendable {
    package var segment: SegmentIndex
    package var sequence: UInt64

    package init(segment: SegmentIndex, sequence: UInt64) {
        self.segment = segment
        self.sequence = sequence
    }

    /// The beginning of a chain of which nothing is stored.
    static let start = SegmentPoint(segment: SegmentIndex(rawValue: .max), sequence: 0)

    package static func < (left: SegmentPoint, right: SegmentPoint) -> Bool {
        (left.segment.rawValue, left.sequence) < (right.segment.rawValue, right.sequence)
    }
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

    /// Stands where a name would for an object's creations and deletions.
    package static let lifetime = NameIndex(rawValue: .max)
    /// Stands where a name would for an object's moves, among the operations of a branch.
    package static let place = NameIndex(rawValue: .max - 1)
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

    init(packed: UInt64) {
        self.init(
            object: ObjectIndex(rawValue: UInt32(truncatingIfNeeded: packed >> 32)),
            name: NameIndex(rawValue: UInt32(truncatingIfNeeded: packed))
        )
    }
}

/// Where an operation stands in the log, and its effective stamp: what orders writes.
package struct WriteReference: Hashable, Sendable {
    package var stamp: Stamp
    package var segment: SegmentIndex
    package var sequence: UInt64
    package var index: UInt32

    package init(stamp: Stamp, segment: SegmentIndex, sequence: UInt64, index: UInt32) {
        self.stamp = stamp
        self.segment = segment
        self.sequence = sequence
        self.index = index
    }

    /// Comes after every write in order.
    static let end = WriteReference(
        stamp: Stamp(rawValue: .max),
        segment: SegmentIndex(rawValue: 0),
        sequence: Limits.sequenceMax,
        index: 0
    )

    /// The change that the operation belongs to.
    package var point: SegmentPoint { SegmentPoint(segment: self.segment, sequence: self.sequence) }

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

    /// The two numbers that it was made of.
    package var sequence: UInt64 { self.rawValue >> 17 }
    package var index: UInt32 { UInt32((max(self.rawValue, 1) - 1) & 0xffff) }

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
    /// Whether the write in force shows nothing: it removes the property, or its content is missing.
    package var isRemoval: Bool
    /// How many other writes are concurrent with the winner and not yet superseded.
    package var conflictCount: UInt32
    /// How many writes there are, in force or not, with those that were dropped.
    package var writeCount: Int64

    package init(winner: WriteReference, isRemoval: Bool, conflictCount: UInt32, writeCount: Int64) {
        self.winner = winner
        self.isRemoval = isRemoval
        self.conflictCount = conflictCount
        self.writeCount = writeCount
    }
}

/// The writes to a property that were dropped, of those on one segment.
///
/// Each was ordered before a write that had seen it, and that is recorded still.
package struct RedactedWrites: Hashable, Sendable {
    package var segment: SegmentIndex
    package var count: Int64
    /// The first and the last change with one of them.
    ///
    /// Of what was repaired or withdrawn, the last reaches as far as the change before it.
    package var first: UInt64
    package var last: UInt64
    /// None of them is ordered after this stamp.
    package var lastStamp: Stamp

    package init(segment: SegmentIndex, count: Int64, first: UInt64, last: UInt64, lastStamp: Stamp) {
        (self.segment, self.count, self.first, self.last) = (segment, count, first, last)
        self.lastStamp = lastStamp
    }

    /// So many in a change with a stamp, and those that are known on its segment.
    static func adding(_ count: Int64, in change: SegmentPoint, at stamp: Stamp, to known: RedactedWrites?)
        -> RedactedWrites
    {
        RedactedWrites(
            segment: change.segment,
            count: (known?.count ?? 0) + count,
            first: min(known?.first ?? .max, change.sequence),
            last: max(known?.last ?? 0, change.sequence),
            lastStamp: max(known?.lastStamp ?? .zero, stamp)
        )
    }

    /// These without so many in a change; nil if none is left at all.
    ///
    /// `leavingOthers`: whether others are left in that change. The last stamp stays what it was.
    func removing(_ count: Int64, in change: SegmentPoint, leavingOthers: Bool) -> RedactedWrites? {
        var rest = self
        rest.count -= count
        if self.last == change.sequence, !leavingOthers { rest.last = change.sequence - 1 }
        return rest.count > 0 && rest.first <= rest.last ? rest : nil
    }
}

/// An erasure that counts and is not done yet.
package struct PendingErasure: Hashable, Sendable {
    package var key: RegisterKey
    /// The change that asks for it: what it had seen of the property is to be dropped.
    package var change: SegmentPoint
    /// Whether it has waited, or somebody here has let it through: then it is done however much it erases.
    package var isReleased = false

    package init(key: RegisterKey, change: SegmentPoint, isReleased: Bool = false) {
        (self.key, self.change, self.isReleased) = (key, change, isReleased)
    }
}

/// Erasures of one segment that wait.
package struct WaitingErasures: Hashable, Sendable {
    package var segment: SegmentIndex
    package var count: Int
    /// When the first of them is due; `PendingErasure.never` if somebody here has stopped them.
    package var due: WallTime

    package init(segment: SegmentIndex, count: Int, due: WallTime) {
        (self.segment, self.count, self.due) = (segment, count, due)
    }
}

extension PendingErasure {
    /// When what was stopped is done.
    package static let never = WallTime(milliseconds: UInt64(Int64.max))
}

/// What became of a write that is not in force.
package enum VersionStatus: UInt8, Hashable, Sendable {
    /// A later write had seen it.
    case superseded = 0
    /// Concurrent with the write in force; shown as a conflict until someone writes again.
    case conflict = 1
    /// A creation of the object.
    case creation = 2
    /// A deletion of the object.
    case deletion = 3
}

/// An operation of a branch that is not merged.
package struct UnmergedOperation: Hashable, Sendable {
    package var key: RegisterKey
    package var segment: SegmentIndex
    package var sequence: UInt64
    package var index: UInt32
    package var kind: OperationKind
    /// Where a move puts the object; nil for the root.
    package var parent: ObjectIndex?

    /// `key`: that of the property; of `NameIndex.lifetime` for creations and deletions, `NameIndex.place` for moves.
    package init(key: RegisterKey, write: WriteReference, kind: OperationKind, parent: ObjectIndex?) {
        (self.key, self.kind, self.parent) = (key, kind, parent)
        (self.segment, self.sequence, self.index) = (write.segment, write.sequence, write.index)
    }

    package var point: SegmentPoint { SegmentPoint(segment: self.segment, sequence: self.sequence) }
}

/// The state of one object.
package struct ObjectRecord: Hashable, Sendable {
    package var id: ObjectID
    package var circle: CircleIndex
    /// The creation that counts: the first in order.
    ///
    /// Nil for an object only ever referred to.
    package var creation: Creation?
    package var existence = Existence()
    /// The highest stamp of an effective operation on the object.
    package var updated = Stamp.zero
    package var parent: ObjectIndex?
    package var position = Position.initial
    /// A move that no other move has seen; nil if the object was never moved.
    package var openMove: OpenMove?
    /// The others of them: which one is named first is a matter of which came first.
    package var otherOpenMoves: [OpenMove] = []
    /// Objects whose place is under this one, living or not.
    package var childCount: UInt32 = 0
    /// Those of them that are visible.
    package var visibleChildCount: UInt32 = 0
    /// Whether the object shows: it lives, or something below it does.
    package var isVisible = false

    package init(id: ObjectID, circle: CircleIndex = .home) { (self.id, self.circle) = (id, circle) }

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

/// Where a move stands in the log.
package struct OpenMove: Hashable, Sendable {
    package var segment: SegmentIndex
    package var ordinal: ChainOrdinal

    package init(segment: SegmentIndex, ordinal: ChainOrdinal) {
        self.segment = segment
        self.ordinal = ordinal
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

/// Where a fork begins: what its segment hangs on.
package struct SegmentOrigin: Hashable, Sendable {
    /// The change that the segment's first one extends: of another segment, or sequence 0 for the beginning of the
    /// chain.
    package var parent: SegmentPoint
    /// The hash of the segment's first change.
    package var firstHash: Hash256
    /// The hash of the change of the parent's segment that extends the same change.
    package var siblingHash: Hash256

    package init(parent: SegmentPoint, firstHash: Hash256, siblingHash: Hash256) {
        self.parent = parent
        self.firstHash = firstHash
        self.siblingHash = siblingHash
    }
}

/// What a store knows of one segment.
package struct SegmentRecord: Hashable, Sendable {
    /// The replica whose chain it belongs to.
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
    /// The branch of the workspace that the chain belongs to; nil for the main timeline.
    package var branch: BranchID? { self.introductionBox?.content.branch }
    /// The circle that it belongs to, which its introduction names; the store numbers it.
    package var circle = CircleIndex.home
    /// The last change of a branch that counts in the main state, since a change of that has merged it.
    package var mergedSequence: UInt64 = 0
    /// The last change of a branch that somebody had seen who gave the branch up.
    package var closedSequence: UInt64 = 0
    /// Where the segment hangs; nil for the first segment of its replica.
    package var origin: SegmentOrigin?
    /// The next segment of the same replica.
    package var next: SegmentIndex?
    /// The last change in the log, and its hash.
    package var storedSequence: UInt64 = 0
    package var storedHash: Hash256
    /// The last change that has been applied, and its effective stamp.
    package var appliedSequence: UInt64 = 0
    package var appliedStamp = Stamp.zero
    /// What the next change was last seen to wait for.
    ///
    /// A note to save work, which a store need not keep.
    var waitsFor: Merge.Wait?
    /// What the last applied change had seen.
    ///
    /// Of segments that this one hangs on, it is where the next one hangs.
    package var context = SeenSegments()
    /// How a store keeps that.
    package var trail = ContextTrail()
    /// The first change whose effective stamp is not its own; nil if there is none.
    package var firstRaised: UInt64?

    /// The first segment of a replica.
    ///
    /// `origin`: the hash before the first change.
    package init(id: ReplicaID, introduction: Introduction? = nil, origin: Hash256) {
        self.id = id
        self.storedHash = origin
        self.introduction = introduction
    }

    /// A further segment of a replica.
    ///
    /// `previous`: the hash of the change that it hangs on.
    package init(
        id: ReplicaID,
        introduction: Introduction?,
        origin: SegmentOrigin,
        previous: Hash256
    ) {
        self.id = id
        self.storedHash = previous
        self.origin = origin
        self.introduction = introduction
        self.storedSequence = origin.parent.sequence
        self.appliedSequence = origin.parent.sequence
        self.mergedSequence = origin.parent.sequence
    }

    /// The last change that counts in the main state.
    package var countedSequence: UInt64 { self.branch == nil ? self.appliedSequence : self.mergedSequence }

    /// The sequence of the segment's first change.
    package var firstSequence: UInt64 { (self.origin?.parent.sequence ?? 0) + 1 }

    /// How far the segment has come.
    package var progress: SegmentProgress {
        SegmentProgress(
            firstSequence: self.firstSequence,
            storedSequence: self.storedSequence,
            appliedSequence: self.appliedSequence,
            countedSequence: self.countedSequence,
            closedSequence: self.closedSequence,
            branch: self.branch,
            circle: self.circle,
            appliedStamp: self.appliedStamp,
            firstRaised: self.firstRaised,
            next: self.next
        )
    }
}

/// How far a segment has come in one store.
///
/// What merging asks most often of a record, and a trivial value, which a record is not.
package struct SegmentProgress: Hashable, Sendable {
    package var firstSequence: UInt64
    package var storedSequence: UInt64
    package var appliedSequence: UInt64
    /// The last change that counts in the main state: less than is applied on a branch that is not merged.
    package var countedSequence: UInt64
    /// The last change of a branch that somebody had seen who gave the branch up; 0 if nobody has.
    package var closedSequence: UInt64
    /// The branch that it belongs to; nil for the main timeline.
    package var branch: BranchID?
    package var circle: CircleIndex
    package var appliedStamp: Stamp
    package var firstRaised: UInt64?
    /// The next segment of the same replica.
    package var next: SegmentIndex?

    /// Whether changes are applied that do not count in the main state.
    package var hasUnmerged: Bool { self.countedSequence < self.appliedSequence }

    /// Whether any of the segment's changes is applied.
    package var hasApplied: Bool { self.appliedSequence >= self.firstSequence }

    /// Whether changes are stored that have not been applied.
    package var isPending: Bool { self.appliedSequence < self.storedSequence }
}

/// What the log says of one change.
package struct ChangeHeader: Hashable, Sendable {
    /// The stamp that its author gave it.
    package var stamp: Stamp
    package var hash: Hash256

    package init(stamp: Stamp, hash: Hash256) {
        self.stamp = stamp
        self.hash = hash
    }
}

/// The effective stamp of a change where it is not its own, and the change that it follows from.
package struct RaisedStamp: Hashable, Sendable {
    package var stamp: Stamp
    /// The change that it is one above; nil if it had seen nothing.
    package var cause: SegmentPoint?

    package init(stamp: Stamp, cause: SegmentPoint?) {
        self.stamp = stamp
        self.cause = cause
    }
}

/// A restamp with the stamp of the change that carries it, as its author claims it.
package struct StampedRestamp: Hashable, Sendable {
    package var restamp: Restamp
    /// What is stamped no later than this is not restamped.
    package var stamp: Stamp

    package init(_ restamp: Restamp, at stamp: Stamp) {
        self.restamp = restamp
        self.stamp = stamp
    }
}

/// A restamp that is stored, and the segment of its author.
package struct RestampRecord: Hashable, Sendable {
    package var content: StampedRestamp
    package var author: SegmentIndex

    package var restamp: Restamp { self.content.restamp }
    package var stamp: Stamp { self.content.stamp }

    package init(restamp: Restamp, at stamp: Stamp, author: SegmentIndex) {
        self.content = StampedRestamp(restamp, at: stamp)
        self.author = author
    }
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
