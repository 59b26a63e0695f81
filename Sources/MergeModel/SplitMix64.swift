/// A small pseudo-random generator (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014) that is
/// a plain value: a copy draws the same numbers again.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { self.state = seed }

    package mutating func next() -> UInt64 {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        return SplitMix64.mixed(self.state)
    }

    /// The bits of a number stirred so that near numbers have nothing in common.
    package static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = value
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, and without, `bound`; 0 if there is none.
    package mutating func below(_ bound: Int) -> Int {
        bound <= 1 ? 0 : Int(self.next() % UInt64(bound))
    }

    /// True in `percent` of a hundred draws.
    package mutating func chance(_ percent: Int) -> Bool { self.below(100) < percent }

    /// One of the elements, each as likely as the others.
    package mutating func pick<Element>(_ elements: [Element]) -> Element { elements[self.below(elements.count)] }

    /// The elements in an order drawn at random.
    package mutating func shuffled<Element>(_ elements: [Element]) -> [Element] {
        var result = elements
        for last in result.indices.dropFirst().reversed() {
            result.swapAt(last, self.below(last + 1))
        }
        return result
    }

    /// Bytes drawn at random.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: self.next() >> 32) }
    }
}
