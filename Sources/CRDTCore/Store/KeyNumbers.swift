/// Numbers for keys: the first key has number 0, the next new one 1, and so on.
///
/// A few keys are looked through, which takes less time than hashing one; more than that are hashed, with a hash that
/// withstands keys that someone chose.
struct KeyNumbers<Key: Hashable & Sendable>: Sendable {
    /// All keys in order, as long as they are few.
    private var few: [Key] = []
    /// Empty as long as they are few.
    private var many: [Key: UInt32] = [:]

    private static var fewCountMax: Int { 8 }

    /// The number of a key; nil if it has none.
    ///
    /// - Complexity: O(1) on average.
    func number(of key: Key) -> UInt32? {
        self.many.isEmpty ? self.few.firstIndex(of: key).map { UInt32($0) } : self.many[key]
    }

    /// Gives the next number to a key that has none.
    ///
    /// - Complexity: O(1) on average, amortised.
    mutating func append(_ key: Key) {
        if !self.many.isEmpty {
            self.many[key] = UInt32(self.many.count)
            return
        }
        self.few.append(key)
        guard self.few.count > Self.fewCountMax else { return }
        for (number, key) in self.few.enumerated() { self.many[key] = UInt32(number) }
        self.few = []
    }
}
