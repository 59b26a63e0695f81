package import CRDTCore
internal import PeerCrypto

/// Hashes a blob that comes in pieces, from its beginning.
///
/// It keeps a hash for each 4 MiB: 8 MiB for the longest blob. The hashes of leaves go to whoever asks for them, so
/// that a tree can be written beside the content.
package struct BlobHasher: Sendable {
    /// The length of what it has taken.
    package private(set) var byteCount: UInt64 = 0

    /// The hashes of leaves that nobody has taken yet.
    private var leaves: [Hash256] = []
    /// The leaves of the group that is not full yet.
    private var group: [Hash256] = []
    private var groups: [Hash256] = []
    private var leaf = Blake2b.Hasher256(BlobHash.leafPersonal)
    private var leafByteCount = 0

    package init() {}

    /// Takes the next bytes.
    package mutating func update(_ piece: UnsafeRawBufferPointer) {
        var rest = piece[...]
        while !rest.isEmpty {
            if self.leafByteCount == BlobShape.leafByteCount { self.endLeaf() }
            let part = rest.prefix(BlobShape.leafByteCount - self.leafByteCount)
            self.leaf.update(UnsafeRawBufferPointer(rebasing: part))
            self.leafByteCount += part.count
            rest = rest.dropFirst(part.count)
        }
        self.byteCount += UInt64(piece.count)
    }

    /// Takes the next bytes.
    package mutating func update(_ piece: [UInt8]) { piece.withUnsafeBytes { self.update($0) } }

    /// The hashes of the leaves that have ended since this was last called.
    package mutating func takeLeaves() -> [Hash256] {
        defer { self.leaves.removeAll(keepingCapacity: true) }
        return self.leaves
    }

    /// Ends the blob.
    ///
    /// - Returns: its root, the hashes of leaves that nobody has taken, and those of all groups.
    package consuming func finalize() -> (root: BlobRoot, leaves: [Hash256], groups: [Hash256]) {
        // The last leaf ends here; only an empty blob has one of no bytes.
        self.endLeaf()
        if !self.group.isEmpty { self.endGroup() }
        let root = BlobHash.root(top: BlobHash.top(self.groups), byteCount: self.byteCount)
        return (root, self.leaves, self.groups)
    }

    private mutating func endLeaf() {
        let hash = Hash256(self.leaf.finalize())
        (self.leaf, self.leafByteCount) = (Blake2b.Hasher256(BlobHash.leafPersonal), 0)
        self.leaves.append(hash)
        self.group.append(hash)
        if self.group.count == BlobShape.groupLeafCount { self.endGroup() }
    }

    private mutating func endGroup() {
        self.groups.append(BlobHash.top(self.group))
        self.group.removeAll(keepingCapacity: true)
    }
}
