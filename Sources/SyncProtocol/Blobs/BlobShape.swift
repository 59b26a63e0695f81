internal import CRDTCore

/// How a blob of a given length is cut into leaves, and these are gathered in groups.
///
/// The hash tree is that of RFC 6962: the left part of every node is the largest power of two of leaves that leaves
/// something for the right. So a node of level *l* covers up to 2^*l* leaves from a multiple of 2^*l* on, and one whose
/// right part would be empty is its left part. A *group* is a node of level 6: what is proved to a peer at once.
package struct BlobShape: Hashable, Sendable {
    /// The length of the blob in bytes.
    package let byteCount: UInt64

    /// Bytes of each leaf but the last one.
    package static let leafByteCount = 1 << 16
    /// The level of a group in the tree.
    package static let groupLevel = 6
    /// Leaves of each group but the last one.
    package static let groupLeafCount = 1 << groupLevel
    /// Levels of the tree of the longest blob, above its leaves.
    package static let levelCountMax = 24
    /// Groups of the longest blob.
    package static let groupCountMax = 1 << (levelCountMax - groupLevel)
    /// Hashes beside the way from a group to the top, in the tree of the longest blob.
    package static let siblingCountMax = levelCountMax - groupLevel

    /// Nil for what is longer than a blob may be.
    package init?(byteCount: UInt64) {
        guard byteCount <= BlobReference.byteCountMax else { return nil }
        self.byteCount = byteCount
    }

    /// How many leaves there are: one of no bytes in an empty blob.
    package var leafCount: Int { self.nodeCount(level: 0) }

    /// How many groups there are.
    package var groupCount: Int { self.nodeCount(level: Self.groupLevel) }

    /// How many nodes of a level there are; at least one.
    package func nodeCount(level: Int) -> Int {
        let nodeByteCount = UInt64(Self.leafByteCount) << UInt64(level)
        return max(1, Int((self.byteCount + nodeByteCount - 1) / nodeByteCount))
    }

    /// How long a leaf is.
    ///
    /// - Precondition: the blob has this leaf.
    package func byteCount(leaf: Int) -> Int {
        precondition(leaf >= 0 && leaf < self.leafCount, "a leaf of the blob")
        return Int(min(UInt64(Self.leafByteCount), self.byteCount - UInt64(leaf) * UInt64(Self.leafByteCount)))
    }

    /// Bytes of some leaves of a group, the first one of which is the lowest bit.
    ///
    /// - Precondition: the blob has these leaves.
    package func byteCount(of leaves: UInt64, group: Int) -> Int {
        let last = self.leaves(group: group).upperBound - 1
        let others = leaves.nonzeroBitCount * Self.leafByteCount
        guard leaves >> UInt64(last & (Self.groupLeafCount - 1)) & 1 == 1 else { return others }
        return others - Self.leafByteCount + self.byteCount(leaf: last)
    }

    /// The leaves of a group.
    ///
    /// - Precondition: the blob has this group.
    package func leaves(group: Int) -> Range<Int> {
        precondition(group >= 0 && group < self.groupCount, "a group of the blob")
        let first = group << Self.groupLevel
        return first..<min(first + Self.groupLeafCount, self.leafCount)
    }

    /// The leaves in which a range of bytes lies; none for an empty range.
    package func leaves(bytes: Range<UInt64>) -> Range<Int> {
        let bytes = bytes.clamped(to: 0..<self.byteCount)
        guard !bytes.isEmpty else { return 0..<0 }
        let leafByteCount = UInt64(Self.leafByteCount)
        return Int(bytes.lowerBound / leafByteCount)..<Int((bytes.upperBound - 1) / leafByteCount) + 1
    }

    /// The nodes beside the way from a group to the top, from below: each with its level and its number there.
    package func siblings(group: Int) -> [(level: Int, node: Int)] {
        var (level, node) = (Self.groupLevel, group)
        var siblings: [(level: Int, node: Int)] = []
        while self.nodeCount(level: level) > 1 {
            if node ^ 1 < self.nodeCount(level: level) { siblings.append((level, node ^ 1)) }
            (level, node) = (level + 1, node >> 1)
        }
        return siblings
    }
}
