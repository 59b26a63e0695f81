/// Sequences by the numbers of segments, in a tree of which copies share what is the same in both.
///
/// A node has a place for each of 32 segments, or of 32 nodes below it, and keeps those that are taken (P. Bagwell,
/// "Ideal Hash Trees", 2001, without the hashes: numbers of segments are dense).
struct SeenTree: Sendable {
    private var root = Node()
    /// How many nodes are between the root and a segment.
    private var depth = 0

    private static let bitsPerNode = 5

    // Only the copy that alone refers to a node changes it, as with the buffer of an array.
    private final class Node: @unchecked Sendable {
        /// Which places are taken.
        var taken: UInt32 = 0
        /// Of the taken places, in a node of segments.
        var sequences: [UInt64] = []
        /// Of the taken places, in a node of nodes.
        var children: [Node] = []

        init() {}

        init(copying other: Node) {
            (self.taken, self.sequences, self.children) = (other.taken, other.sequences, other.children)
        }

        /// Where a place is among those that are taken, or would be.
        func position(of place: UInt32) -> Int { (self.taken & (1 << place - 1)).nonzeroBitCount }
    }

    /// Whether this is a copy that neither has changed since.
    func isSame(as other: SeenTree) -> Bool { self.root === other.root }

    /// The number above that of the last segment.
    var endOfLines: Int {
        var (node, end) = (self.root, 0)
        for level in stride(from: self.depth, through: 0, by: -1) {
            guard node.taken != 0 else { return 0 }
            end |= (31 - node.taken.leadingZeroBitCount) << (level * SeenTree.bitsPerNode)
            if level > 0, let last = node.children.last { node = last }
        }
        return end + 1
    }

    subscript(segment: UInt32) -> UInt64 {
        guard self.reaches(segment) else { return 0 }
        var node = self.root
        for level in stride(from: self.depth, through: 0, by: -1) {
            let place = SeenTree.place(of: segment, at: level)
            guard node.taken & (1 << place) != 0 else { return 0 }
            let position = node.position(of: place)
            if level == 0 { return node.sequences[position] }
            node = node.children[position]
        }
        return 0
    }

    /// All segments in ascending order.
    var all: [(segment: SegmentIndex, sequence: UInt64)] {
        var found: [(segment: SegmentIndex, sequence: UInt64)] = []
        SeenTree.collect(self.root, self.depth, from: 0, into: &found)
        return found
    }

    /// The first segment, from one on, that was seen farther than in another tree.
    ///
    /// - Complexity: O(log *n*) for the highest segment *n*, and O(1) for each node that has to be looked at and that
    ///   the trees do not share.
    func next(from segment: UInt32, beyond other: SeenTree) -> UInt32? {
        var (tree, other) = (self, other)
        while tree.depth < other.depth { tree.grow() }
        while other.depth < tree.depth { other.grow() }
        guard tree.reaches(segment) else { return nil }
        return SeenTree.next(from: segment, in: tree.root, beyond: other.root, tree.depth)
    }

    private static func next(from segment: UInt32, in node: Node, beyond other: Node?, _ level: Int) -> UInt32? {
        if node === other { return nil }
        let shift = UInt32(level * self.bitsPerNode)
        // The places from that of the segment on.
        var open = node.taken & (.max << self.place(of: segment, at: level))
        while open != 0 {
            let place = UInt32(open.trailingZeroBitCount)
            open &= open - 1
            let position = node.position(of: place)
            let isInOther = other.map { $0.taken & (1 << place) != 0 } ?? false
            let first = (segment >> shift & ~31 | place) << shift
            if level == 0 {
                let former = isInOther ? other.map { $0.sequences[$0.position(of: place)] } ?? 0 : 0
                if node.sequences[position] > former { return first }
                continue
            }
            let below = isInOther ? other.map { $0.children[$0.position(of: place)] } : nil
            let found = self.next(from: max(segment, first), in: node.children[position], beyond: below, level - 1)
            if let found { return found }
        }
        return nil
    }

    /// Puts a level above the root.
    private mutating func grow() {
        let root = Node()
        if self.root.taken != 0 { (root.taken, root.children) = (1, [self.root]) }
        self.root = root
        self.depth += 1
    }

    /// Puts a segment's sequence in place of the one that was there.
    mutating func raise(_ segment: UInt32, to sequence: UInt64) {
        while !self.reaches(segment) { self.grow() }
        SeenTree.set(segment, sequence, in: &self.root, self.depth)
    }

    private func reaches(_ segment: UInt32) -> Bool {
        let bits = (self.depth + 1) * SeenTree.bitsPerNode
        return bits >= UInt32.bitWidth || segment >> UInt32(bits) == 0
    }

    private static func place(of segment: UInt32, at level: Int) -> UInt32 {
        segment >> UInt32(level * self.bitsPerNode) & 31
    }

    private static func set(_ segment: UInt32, _ sequence: UInt64, in node: inout Node, _ level: Int) {
        if !isKnownUniquelyReferenced(&node) { node = Node(copying: node) }
        let place = self.place(of: segment, at: level)
        let position = node.position(of: place)
        let isTaken = node.taken & (1 << place) != 0
        node.taken |= 1 << place
        if level == 0 {
            if isTaken { node.sequences[position] = sequence } else { node.sequences.insert(sequence, at: position) }
        } else {
            if !isTaken { node.children.insert(Node(), at: position) }
            self.set(segment, sequence, in: &node.children[position], level - 1)
        }
    }

    private static func collect(
        _ node: Node,
        _ level: Int,
        from first: UInt32,
        into found: inout [(segment: SegmentIndex, sequence: UInt64)]
    ) {
        var position = 0
        for place in 0..<UInt32(32) where node.taken & (1 << place) != 0 {
            let segment = first | place << UInt32(level * self.bitsPerNode)
            if level == 0 {
                found.append((SegmentIndex(rawValue: segment), node.sequences[position]))
            } else {
                self.collect(node.children[position], level - 1, from: segment, into: &found)
            }
            position += 1
        }
    }
}
