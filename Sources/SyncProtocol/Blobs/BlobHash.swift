package import CRDTCore
internal import PeerCrypto

/// The hashes of a blob's tree: BLAKE2b-256, with a personalisation of its own for each kind of node.
package enum BlobHash {
    /// The algorithm that a root names: this tree, of leaves of 64 KiB.
    package static let algorithm: UInt8 = 1
    static let leafPersonal = HashPersonal("peerd/blobleaf/1")
    private static let nodePersonal = HashPersonal("peerd/blobnode/1")
    private static let rootPersonal = HashPersonal("peerd/blobroot/1")

    /// The hash of a leaf.
    package static func leaf(_ content: UnsafeRawBufferPointer) -> Hash256 {
        Hash256(Blake2b.hash256(Self.leafPersonal, content))
    }

    /// The hash of a leaf.
    package static func leaf(_ content: [UInt8]) -> Hash256 { content.withUnsafeBytes { Self.leaf($0) } }

    /// The hash of a node above two others.
    package static func node(_ left: Hash256, _ right: Hash256) -> Hash256 {
        var message: [UInt8] = []
        message.reserveCapacity(2 * Bytes32.byteCount)
        left.bytes.append(to: &message)
        right.bytes.append(to: &message)
        return Hash256(Blake2b.hash256(Self.nodePersonal, message))
    }

    /// The hash above nodes of one level, of which only the last may be the left part of a node: what has nothing to
    /// its right goes up as it is.
    ///
    /// - Precondition: there is a node.
    package static func top(_ nodes: [Hash256]) -> Hash256 {
        precondition(!nodes.isEmpty, "a node to begin with")
        var nodes = nodes
        while nodes.count > 1 { nodes = Self.parents(of: nodes) }
        return nodes[0]
    }

    /// The nodes of the next level.
    package static func parents(of nodes: [Hash256]) -> [Hash256] {
        stride(from: 0, to: nodes.count, by: 2).map { index in
            index + 1 < nodes.count ? Self.node(nodes[index], nodes[index + 1]) : nodes[index]
        }
    }

    /// The root: what a reference names, which commits to the length besides the content.
    package static func root(top: Hash256, byteCount: UInt64) -> BlobRoot {
        var message = [Self.algorithm]
        message.appendBigEndian(byteCount)
        top.bytes.append(to: &message)
        return BlobRoot(bytes: Hash256(Blake2b.hash256(Self.rootPersonal, message)).bytes)
    }
}

extension Hash256 {
    init(_ digest: Blake2b.Digest256) {
        self.init(
            bytes: Bytes32(digest.0.byteSwapped, digest.1.byteSwapped, digest.2.byteSwapped, digest.3.byteSwapped)
        )
    }
}
