internal import CRDTCore
internal import MergeModel

/// A replica's whole state in one number, which says nothing of the numbers that its own store gives out; and what of
/// the state is wrong in itself.
///
/// Cheap to read, since every trial reads it once for each of its replicas.
struct StateDigest {
    private(set) var bits: UInt64 = 0
    /// What cannot be in any state.
    private(set) var problem: (property: CheckedProperty, message: String)?
    private(set) var marks = MergeMarks()
    private let segments: [(id: UInt64, isForked: Bool)]

    private struct Node {
        var index: ObjectIndex?
        var record: ObjectRecord
    }

    init(of transaction: inout MemoryTransaction) {
        var segments: [(id: UInt64, isForked: Bool)] = []
        for segment in transaction.segmentIndices {
            let record = transaction.segment(segment)
            segments.append((record.id.bytes.low, record.origin != nil || record.next != nil))
            self.bits &+= StateDigest.mixed(
                record.id.bytes.low ^ record.storedHash.bytes.words.0,
                record.storedSequence,
                record.appliedSequence
            )
            if record.appliedSequence < record.storedSequence, self.problem == nil {
                let counts = "\(record.appliedSequence) of \(record.storedSequence)"
                self.problem = (.residue, "of the changes of \(record.id), \(counts) are applied")
            }
        }
        self.segments = segments
        self.addObjects(&transaction)
        for move in transaction.movesWithoutEffect() {
            self.marks.insert(.moveWithoutEffect)
            self.bits &+= StateDigest.mixed(1, self.number(of: move.write, &transaction), 0)
        }
    }

    private mutating func addObjects(_ transaction: inout MemoryTransaction) {
        var nodes: [Node] = []
        nodes.reserveCapacity(PlanVocabulary.objectCount)
        for id in PlanVocabulary.objects {
            let index = transaction.existingObjectIndex(of: id, in: .home)
            nodes.append(Node(index: index, record: index.map { transaction.object($0) } ?? ObjectRecord(id: id)))
        }
        for (number, node) in nodes.enumerated() {
            guard let index = node.index else { continue }
            let parent = node.record.parent.map { parent in nodes.firstIndex { $0.index == parent } ?? -2 } ?? -1
            self.bits &+= self.bits(of: node.record, number, parent: parent, &transaction)
            self.addOpenMoves(of: node.record, &transaction)
            for (name, register) in transaction.registers(of: index) {
                self.add(register, at: RegisterKey(object: index, name: name), of: number, &transaction)
            }
            self.check(number, parent: parent, nodes)
        }
    }

    /// Which of them the record names is a matter of which came first.
    private mutating func addOpenMoves(
        of record: ObjectRecord,
        _ transaction: inout MemoryTransaction
    ) {
        for open in (record.openMove.map { [$0] } ?? []) + record.otherOpenMoves {
            let (sequence, place) = (open.ordinal.sequence, open.ordinal.index)
            let write = WriteReference(stamp: .zero, segment: open.segment, sequence: sequence, index: place)
            self.bits &+= StateDigest.mixed(3, self.number(of: write, &transaction), 0)
        }
        if !record.otherOpenMoves.isEmpty { self.marks.insert(.moveInConflict) }
    }

    private func bits(
        of record: ObjectRecord,
        _ number: Int,
        parent: Int,
        _ transaction: inout MemoryTransaction
    ) -> UInt64 {
        var position: UInt64 = 0
        for byte in record.position.bytes { position = position << 8 | UInt64(byte) + 1 }
        let flags: UInt64 = (record.isVisible ? 1 : 0) | (record.existence.isAlive ? 2 : 0)
        let counts = UInt64(record.childCount) << 32 | UInt64(record.visibleChildCount)
        let place = StateDigest.mixed(UInt64(bitPattern: Int64(parent)), position, counts)
        let creation = record.creation.map { self.number(of: $0.write, &transaction) } ?? 0
        return StateDigest.mixed(UInt64(number) << 8 | flags, place ^ record.updated.rawValue &* 31, creation)
    }

    private mutating func add(
        _ register: Register,
        at key: RegisterKey,
        of number: Int,
        _ transaction: inout MemoryTransaction
    ) {
        var name: UInt64 = 0
        for byte in transaction.name(key.name).utf8 { name = name << 8 ^ name >> 57 ^ UInt64(byte) + 1 }
        var conflicts: UInt64 = 0
        if register.conflictCount > 0 {
            self.marks.insert(.conflictShown)
            let writes = transaction.conflicts(at: key)
            for write in writes { conflicts &+= StateDigest.mixed(2, self.number(of: write, &transaction), 0) }
            if writes.count != Int(register.conflictCount), self.problem == nil {
                self.problem = (.damage, "\(register.conflictCount) conflicts are counted, \(writes.count) recorded")
            }
        }
        let counts = UInt64(register.writeCount) << 32 | UInt64(register.conflictCount)
        let flags = counts << 1 | (register.isRemoval ? 1 : 0)
        self.bits &+= StateDigest.mixed(
            name ^ UInt64(number) << 56,
            self.number(of: register.winner, &transaction) &+ conflicts,
            flags
        )
    }

    /// An operation, by what every replica calls it.
    private func number(of write: WriteReference, _ transaction: inout MemoryTransaction) -> UInt64 {
        let segment = self.segments[Int(write.segment.rawValue)]
        var name = segment.id
        // Two forks of a chain may have a change with one sequence each.
        if segment.isForked, let header = transaction.header(at: write.point) { name ^= header.hash.bytes.words.0 }
        return StateDigest.mixed(write.stamp.rawValue, name, write.ordinal.rawValue)
    }

    /// The tree is one, and what is counted in it is right.
    private mutating func check(_ number: Int, parent: Int, _ nodes: [Node]) {
        let record = nodes[number].record
        guard self.problem == nil else { return }
        var ancestor = record.parent
        var height = 0
        while let current = ancestor, height <= nodes.count {
            ancestor = nodes.first { $0.index == current }?.record.parent
            height += 1
        }
        var childCount = 0
        var visibleChildCount = 0
        for child in nodes where child.index != nil && child.record.parent == nodes[number].index {
            childCount += 1
            if child.record.isVisible { visibleChildCount += 1 }
        }
        if parent == -2 {
            self.problem = (.brokenTree, "object \(number) stands under something that nothing names")
        } else if height > nodes.count {
            self.problem = (.brokenTree, "object \(number) is below itself")
        } else if childCount != Int(record.childCount) || visibleChildCount != Int(record.visibleChildCount) {
            self.problem = (.brokenTree, "object \(number) has another number of children than it counts")
        } else if record.isVisible != (record.existence.isAlive || visibleChildCount > 0) {
            self.problem = (.brokenTree, "object \(number) shows\(record.isVisible ? "" : " not"), against the rule")
        }
        if !record.isVisible, record.creation != nil { self.marks.insert(.objectGone) }
    }

    static func mixed(_ first: UInt64, _ second: UInt64, _ third: UInt64) -> UInt64 {
        var bits = (first ^ 0x9e37_79b9_7f4a_7c15) &* 0xbf58_476d_1ce4_e5b9
        bits = (bits ^ bits >> 29 ^ second) &* 0x94d0_49bb_1331_11eb
        bits = (bits ^ bits >> 32 ^ third) &* 0xd6e8_feb8_6659_fd93
        return bits ^ bits >> 32
    }
}

/// Rare states that merge trials reach.
package struct MergeMarks: OptionSet, Hashable, Sendable {
    package var rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    static let conflictShown = MergeMarks(rawValue: 1)
    static let moveWithoutEffect = MergeMarks(rawValue: 2)
    /// Something arrived before what it had seen, or was held, and waited.
    static let changeWaited = MergeMarks(rawValue: 4)
    /// An object that was created does not show in the end.
    static let objectGone = MergeMarks(rawValue: 8)
    /// Something came a second time, or too early, and was not taken in.
    static let deliveryRefused = MergeMarks(rawValue: 16)

    /// Several moves of an object have not seen each other.
    static let moveInConflict = MergeMarks(rawValue: 32)
    /// A chain turned out to have two forks.
    static let chainForked = MergeMarks(rawValue: 64)
    /// Changes that had been applied were ordered anew, or held.
    static let orderedAnew = MergeMarks(rawValue: 128)

    package static let names = [
        "conflictShown", "moveWithoutEffect", "changeWaited", "objectGone", "deliveryRefused", "moveInConflict",
        "chainForked", "orderedAnew",
    ]
}
