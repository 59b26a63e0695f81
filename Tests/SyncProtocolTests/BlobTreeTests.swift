import CRDTCore
import MergeModel
import SyncProtocol
import Testing

@Suite struct BlobTreeTests {
    /// The vectors of docs/FORMATS.md, computed by another program: byte *i* of the content is *i* modulo 251.
    private static let vectors: [(byteCount: Int, root: String)] = [
        (0, "20480e35a629630c6be8f145d62f7bfe2b46f0f8809e84da232c921123ffd244"),
        (1, "91aeb15e4b8e375600d1e970f843d61975a61ba5a829da0d5ca0add8d96f97e7"),
        (65_536, "0e0a5c2adfc738017c346a6916d525f9d6f6a2484226f24ae8041c597c8094f2"),
        (65_537, "f89a5300eb96a48821990e306857dea94f033ebe7fd374c0d4e76229f7116699"),
        (196_608, "22884c293cc60bd6f41888b646182e0dadaf7f372d8a24262ac226e65a7263dc"),
        (327_687, "2d94eed016cb90469ad7bf1f0827d5d46e828ba26b123e75c1bb7f6070f38ee3"),
        (4_194_304, "09849fa213fa0511746bf72c90594bb25a8d1045904bfaecf29337e2dd99280e"),
        (4_194_305, "dabca2bf6155ea3a474904d4c95c5a0b1f86aa94613be3adcc7cf2c749f08966"),
        (13_107_199, "84b608c395504f70d4aa5b078497d71cf5f012a7fc70c3fad60592dbb9e2b85d"),
    ]

    @Test func `roots are those of the published vectors`() {
        for vector in Self.vectors {
            #expect(Self.tree(of: Self.content(vector.byteCount)).root.description == vector.root)
        }
    }

    @Test func `pieces make no difference, however they are cut`() {
        var generator = SplitMix64(seed: 1)
        for vector in Self.vectors.suffix(4) {
            let content = Self.content(vector.byteCount)
            var hasher = BlobHasher()
            var leaves: [Hash256] = []
            var rest = content[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 0...200_000, using: &generator))
                hasher.update(Array(piece))
                leaves += hasher.takeLeaves()
                rest = rest.dropFirst(piece.count)
            }
            let end = hasher.finalize()
            #expect(end.root.description == vector.root)
            #expect(leaves + end.leaves == Self.tree(of: content).levels[0])
        }
    }

    /// The largest power of two below the number of leaves divides them, as RFC 6962 says; groups and levels must not
    /// show.
    @Test(arguments: Array(1...20) + [63, 64, 65, 66, 127, 128, 129, 191, 192, 193, 255, 256, 257, 320, 384, 449])
    func `tops and proofs are as by recursion`(leafCount: Int) throws {
        let leaves = (0..<leafCount).map { BlobHash.leaf([UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)]) }
        #expect(BlobHash.top(leaves) == Self.recursiveTop(leaves[...]))
        let byteCount = UInt64(leafCount - 1) * UInt64(BlobShape.leafByteCount) + 1
        let shape = try #require(BlobShape(byteCount: byteCount))
        #expect(shape.leafCount == leafCount)
        let root = BlobHash.root(top: BlobHash.top(leaves), byteCount: byteCount)
        let tree = BlobTree(levels: Self.levels(above: leaves))
        for group in 0..<shape.groupCount {
            let proof = tree.proof(group: group, of: shape)
            #expect(proof.isValid(group: group, of: shape, root: root))
            try Self.expectTight(proof, group: group, shape: shape, root: root)
        }
    }

    @Test func `a layout has a place for each hash that is kept, and no other`() throws {
        for leafCount in [1, 2, 64, 65, 128, 129, 4096, 4097, 8200] {
            let shape = try #require(BlobShape(byteCount: UInt64(leafCount) * UInt64(BlobShape.leafByteCount)))
            let layout = BlobTreeLayout(shape)
            var next: UInt64 = 0
            for level in [0] + Array(BlobShape.groupLevel...BlobShape.levelCountMax) {
                guard level == 0 || shape.nodeCount(level: level) > 1 else { continue }
                for node in 0..<shape.nodeCount(level: level) {
                    #expect(layout.offset(level: level, node: node) == next)
                    next += 32
                }
            }
            #expect(layout.byteCount == next)
        }
    }

    @Test func `the longest blob has the largest proof, and none is longer`() throws {
        let longest = try #require(BlobShape(byteCount: BlobReference.byteCountMax))
        #expect(longest.leafCount == 1 << BlobShape.levelCountMax)
        #expect(longest.siblings(group: 5).count == BlobShape.siblingCountMax)
        #expect(BlobShape(byteCount: BlobReference.byteCountMax + 1) == nil)
        #expect(longest.byteCount(leaf: longest.leafCount - 1) == BlobShape.leafByteCount)
        #expect(longest.leaves(bytes: 65_535..<65_537) == 0..<2)
        #expect(longest.leaves(bytes: BlobReference.byteCountMax..<UInt64.max).isEmpty)
        let empty = try #require(BlobShape(byteCount: 0))
        #expect(empty.leafCount == 1 && empty.byteCount(leaf: 0) == 0 && empty.leaves(bytes: 0..<9).isEmpty)
    }

    /// A proof in which anything is changed, left out or exchanged proves nothing; nor does it of another place, length
    /// or root.
    private static func expectTight(_ proof: GroupProof, group: Int, shape: BlobShape, root: BlobRoot) throws {
        for index in proof.leaves.indices {
            var changed = proof
            changed.leaves[index] = BlobHash.leaf([1, 2, 3])
            #expect(!changed.isValid(group: group, of: shape, root: root))
        }
        for index in proof.siblings.indices {
            var changed = proof
            changed.siblings[index] = BlobHash.leaf([1, 2, 3])
            #expect(!changed.isValid(group: group, of: shape, root: root))
            changed.siblings.remove(at: index)
            #expect(!changed.isValid(group: group, of: shape, root: root))
        }
        var longer = proof
        longer.siblings.append(.zero)
        #expect(!longer.isValid(group: group, of: shape, root: root))
        for other in -1...shape.groupCount where other != group {
            #expect(!proof.isValid(group: other, of: shape, root: root))
        }
        let shorter = try #require(BlobShape(byteCount: shape.byteCount - 1))
        #expect(!proof.isValid(group: group, of: shorter, root: root))
        #expect(!proof.isValid(group: group, of: shape, root: BlobRoot(bytes: .zero)))
    }

    private static func content(_ byteCount: Int) -> [UInt8] { (0..<byteCount).map { UInt8($0 % 251) } }

    private static func recursiveTop(_ leaves: ArraySlice<Hash256>) -> Hash256 {
        guard leaves.count > 1 else { return leaves.first ?? .zero }
        var left = 1
        while left * 2 < leaves.count { left *= 2 }
        return BlobHash.node(Self.recursiveTop(leaves.prefix(left)), Self.recursiveTop(leaves.dropFirst(left)))
    }

    private static func levels(above leaves: [Hash256]) -> [[Hash256]] {
        var levels = [leaves]
        while let last = levels.last, last.count > 1 { levels.append(BlobHash.parents(of: last)) }
        return levels
    }

    private static func tree(of content: [UInt8]) -> (root: BlobRoot, levels: [[Hash256]]) {
        let leaves = stride(from: 0, to: max(content.count, 1), by: BlobShape.leafByteCount).map { begin in
            BlobHash.leaf(Array(content[begin..<min(begin + BlobShape.leafByteCount, content.count)]))
        }
        let levels = Self.levels(above: leaves)
        return (BlobHash.root(top: levels.last?.first ?? .zero, byteCount: UInt64(content.count)), levels)
    }
}

/// All hashes of a tree, by level.
private struct BlobTree {
    var levels: [[Hash256]]

    func proof(group: Int, of shape: BlobShape) -> GroupProof {
        GroupProof(
            leaves: Array(self.levels[0][shape.leaves(group: group)]),
            siblings: shape.siblings(group: group).map { self.levels[$0.level][$0.node] }
        )
    }
}
