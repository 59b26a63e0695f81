/// Which leaves of a blob are here: one bit each.
package struct LeafSet: Hashable, Sendable {
    /// How many leaves the blob has.
    package let leafCount: Int
    /// How many of them are here.
    package private(set) var count = 0
    private var words: [UInt64]

    package init(leafCount: Int) {
        self.leafCount = leafCount
        self.words = Array(repeating: 0, count: (leafCount + 63) / 64)
    }

    package var isComplete: Bool { self.count == self.leafCount }

    package func contains(_ leaf: Int) -> Bool {
        guard leaf >= 0 && leaf < self.leafCount else { return false }
        return self.words[leaf / 64] >> UInt64(leaf % 64) & 1 == 1
    }

    /// Adds a leaf.
    ///
    /// - Precondition: the blob has this leaf.
    package mutating func insert(_ leaf: Int) {
        precondition(leaf >= 0 && leaf < self.leafCount, "a leaf of the blob")
        guard !self.contains(leaf) else { return }
        self.words[leaf / 64] |= 1 << UInt64(leaf % 64)
        self.count += 1
    }

    /// Appends the leaves as bits, the first one as the lowest bit of the first byte.
    package func encode(to bytes: inout [UInt8]) {
        for index in 0..<(self.leafCount + 7) / 8 {
            bytes.append(UInt8(truncatingIfNeeded: self.words[index / 8] >> UInt64(index % 8 * 8)))
        }
    }

    /// Reads what `encode` has written for a blob of so many leaves; nil for anything else.
    package init?(leafCount: Int, encoded bytes: ArraySlice<UInt8>) {
        guard bytes.count == (leafCount + 7) / 8 else { return nil }
        self.init(leafCount: leafCount)
        for (index, byte) in bytes.enumerated() { self.words[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8) }
        if leafCount % 64 != 0, self.words[self.words.count - 1] >> UInt64(leafCount % 64) != 0 { return nil }
        self.count = self.words.reduce(0) { $0 + $1.nonzeroBitCount }
    }
}
