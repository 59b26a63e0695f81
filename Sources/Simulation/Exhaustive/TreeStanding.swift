internal import CRDTCore
internal import MergeModel

/// How the three nodes of a `TreeWorld` stand, in one number: cheap to read from a store and to compare half a million
/// times.
///
/// For each node, sixteen bits: its parent, its place among siblings, who touched it last, whether it shows, how many
/// stand under it, in all and showing, and how many moves of it lose and are in conflict; after those, four bits for
/// the authors whose move is an object's last and has no effect.
struct TreeStanding: Hashable {
    private(set) var bits: UInt64

    init(bits: UInt64) { self.bits = bits }

    private static let bitsPerNode: UInt64 = 16

    /// One node's part.
    private struct Node {
        var parent: Int
        var position: Position
        var updated: Stamp
        var isVisible: Bool
        var childCount: Int
        var visibleChildCount: Int
        var losingMoveCount: Int

        var bits: UInt64 {
            var positionNumber = 15
            if self.position == .initial { positionNumber = 4 }
            if self.position.bytes.count == 1 { positionNumber = Int(UInt8(ascii: "d") &- self.position.bytes[0]) & 7 }
            return UInt64(self.parent) | UInt64(positionNumber) << 2 | (self.updated.rawValue & 15) << 5
                | (self.isVisible ? 1 << 9 : 0) | UInt64(self.childCount & 3) << 10
                | UInt64(self.visibleChildCount & 3) << 12 | UInt64(self.losingMoveCount & 3) << 14
        }
    }

    private mutating func put(_ node: Node, at number: Int) {
        self.bits |= node.bits << (UInt64(number) * TreeStanding.bitsPerNode)
    }

    /// Stamps tell the authors apart.
    private mutating func putMoveWithoutEffect(_ stamp: Stamp) {
        self.bits |= 1 << (3 * TreeStanding.bitsPerNode + (stamp.rawValue &- 10) & 3)
    }

    /// As a store has it.
    init(of transaction: inout MemoryTransaction, nodes: [ObjectIndex]) {
        self.bits = 0
        for (number, index) in nodes.enumerated() {
            let record = transaction.object(index)
            let parent = record.parent.map { parent in nodes.firstIndex(of: parent) ?? 3 } ?? 3
            self.put(
                Node(
                    parent: parent,
                    position: record.position,
                    updated: record.updated,
                    isVisible: record.isVisible,
                    childCount: Int(record.childCount),
                    visibleChildCount: Int(record.visibleChildCount),
                    losingMoveCount: record.otherOpenMoves.count
                ),
                at: number
            )
        }
        for move in transaction.movesWithoutEffect() { self.putMoveWithoutEffect(move.write.stamp) }
    }

    /// As it should be.
    init(of state: PlainState) {
        self.bits = 0
        for (number, id) in TreeWorld.objects.enumerated() {
            guard let object = state.objects.first(where: { $0.id == id }) else { continue }
            self.put(
                Node(
                    parent: object.parent.flatMap { TreeWorld.objects.firstIndex(of: $0) } ?? 3,
                    position: object.position,
                    updated: object.updated,
                    isVisible: object.isVisible,
                    childCount: state.objects.count { $0.parent == id },
                    visibleChildCount: object.children.count,
                    losingMoveCount: max(0, object.openMoves.count - 1)
                ),
                at: number
            )
        }
        for write in state.movesWithoutEffect { self.putMoveWithoutEffect(write.stamp) }
    }
}
