package import CRDTCore

/// The hashes of all leaves of a group, and those beside its way to the top: with the root it proves each leaf alone.
///
/// 64 leaves are 4 MiB, and their proof at most 2,624 bytes. So a receiver checks each leaf as it comes, in any order
/// and from anybody, after one proof; of a blob of one group, the proof is the whole tree.
package struct GroupProof: Hashable, Sendable {
    package var leaves: [Hash256]
    package var siblings: [Hash256]

    package init(leaves: [Hash256], siblings: [Hash256]) {
        self.leaves = leaves
        self.siblings = siblings
    }

    /// Whether it proves the leaves of a group of the blob with this root.
    ///
    /// - Complexity: one hash for each hash in it.
    package func isValid(group: Int, of shape: BlobShape, root: BlobRoot) -> Bool {
        guard (0..<shape.groupCount).contains(group), self.leaves.count == shape.leaves(group: group).count else {
            return false
        }
        let places = shape.siblings(group: group)
        guard places.count == self.siblings.count else { return false }
        let top = zip(places, self.siblings).reduce(BlobHash.top(self.leaves)) { below, beside in
            // A left one has an even number, and is hashed before the right one.
            beside.0.node.isMultiple(of: 2) ? BlobHash.node(beside.1, below) : BlobHash.node(below, beside.1)
        }
        return BlobHash.root(top: top, byteCount: shape.byteCount) == root
    }
}
