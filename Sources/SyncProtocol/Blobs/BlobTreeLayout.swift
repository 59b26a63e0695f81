internal import CRDTCore

/// Where the hashes of a blob's tree lie in the file beside it.
///
/// Those of all leaves come first, then each level from the groups up to the last one of more than one node. The levels
/// between are computed, at most 64 hashes at a time. The file is 1/2,000 of the blob, and each proof is read with one
/// read for its leaves and one for each sibling.
package struct BlobTreeLayout: Hashable, Sendable {
    package let shape: BlobShape

    package init(_ shape: BlobShape) { self.shape = shape }

    /// Bytes of the file.
    package var byteCount: UInt64 { self.hashCount(below: BlobShape.levelCountMax + 1) * UInt64(Bytes32.byteCount) }

    /// Where the hash of a node begins.
    ///
    /// - Precondition: the level is 0, or that of groups or above it.
    package func offset(level: Int, node: Int) -> UInt64 {
        precondition(level == 0 || level >= BlobShape.groupLevel, "a level that is kept")
        return (self.hashCount(below: level) + UInt64(node)) * UInt64(Bytes32.byteCount)
    }

    private func hashCount(below level: Int) -> UInt64 {
        guard level > 0 else { return 0 }
        var count = UInt64(self.shape.leafCount)
        for kept in BlobShape.groupLevel..<max(level, BlobShape.groupLevel) where self.shape.nodeCount(level: kept) > 1
        {
            count += UInt64(self.shape.nodeCount(level: kept))
        }
        return count
    }
}
