/// Positions by keys made of a store's own small numbers: the first key has position 0, the next new one 1, and so on.
///
/// Faster than a dictionary, whose hashing withstands keys that someone chose; numbers that a store gives out in the
/// order of arrival need only be spread. Keys cannot be removed.
package struct IndexTable: Sendable {
    private struct Slot: Sendable {
        var key: UInt64
        /// -1 in a slot that is free.
        var position: Int32
    }

    private var slots: [Slot] = []
    /// How many keys there are, which is the position of the next.
    private(set) var count = 0

    private static let slotCountMin = 16

    package init() {}

    /// The position of a key; nil if it is not there.
    ///
    /// - Complexity: O(1) on average.
    package func position(of key: UInt64) -> Int? {
        guard !self.slots.isEmpty else { return nil }
        let slot = self.slots[self.slot(of: key)]
        return slot.position < 0 ? nil : Int(slot.position)
    }

    /// The position of a key, which gets the next one if it is new.
    ///
    /// - Complexity: O(1) on average, amortised.
    package mutating func insert(_ key: UInt64) -> Int {
        if self.count * 2 >= self.slots.count { self.grow() }
        let slot = self.slot(of: key)
        if self.slots[slot].position < 0 {
            self.slots[slot] = Slot(key: key, position: Int32(self.count))
            self.count += 1
        }
        return Int(self.slots[slot].position)
    }

    /// The slot that has a key, or the free one where it belongs.
    private func slot(of key: UInt64) -> Int {
        let mask = self.slots.count - 1
        var spread = key &* 0x9e37_79b9_7f4a_7c15
        spread ^= spread >> 32
        var slot = Int(truncatingIfNeeded: spread) & mask
        while self.slots[slot].position >= 0, self.slots[slot].key != key { slot = (slot + 1) & mask }
        return slot
    }

    private mutating func grow() {
        let old = self.slots
        let count = max(IndexTable.slotCountMin, old.count * 2)
        self.slots = Array(repeating: Slot(key: 0, position: -1), count: count)
        for entry in old where entry.position >= 0 {
            let slot = self.slot(of: entry.key)
            self.slots[slot] = entry
        }
    }
}
