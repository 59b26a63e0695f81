/// Some of the circles of a store, as somebody reads them; one that is new to the store is not among them.
package struct CircleScope: Hashable, Sendable {
    /// Whether it has a circle, by the circle's number; no later one.
    private var flags: [Bool]

    package init(_ circles: some Sequence<CircleIndex>) {
        self.flags = []
        for circle in circles {
            let number = Int(circle.rawValue)
            while self.flags.count <= number { self.flags.append(false) }
            self.flags[number] = true
        }
    }

    package static let nothing = CircleScope([])
    package static let home = CircleScope([.home])

    package func contains(_ circle: CircleIndex) -> Bool {
        Int(circle.rawValue) < self.flags.count && self.flags[Int(circle.rawValue)]
    }

    /// Whether it has all circles that a store knows.
    package func contains(allOf circles: CircleTable) -> Bool {
        self.flags.count == circles.count && !self.flags.contains(false)
    }

    /// What is in this one alone.
    package func subtracting(_ other: CircleScope) -> CircleScope {
        let numbers = self.flags.indices.map { CircleIndex(rawValue: UInt32($0)) }
        return CircleScope(numbers.filter { self.contains($0) && !other.contains($0) })
    }

    /// What is in both.
    package func intersection(_ other: CircleScope) -> CircleScope {
        let numbers = self.flags.indices.map { CircleIndex(rawValue: UInt32($0)) }
        return CircleScope(numbers.filter { self.contains($0) && other.contains($0) })
    }
}

extension StoreTransaction {
    /// The circles that a device reads, as far as is known here.
    ///
    /// Everybody in the workspace reads the roster: whoever asks knows that the device is in it. What the user of this
    /// store has left his other devices have too, and are to hear that he has left it.
    /// - Complexity: O(*c* *g*) for *c* circles with *g* grants each.
    package func circles(readableBy author: ChainAuthor, founder: UserID) -> CircleScope {
        let circles = (0..<UInt32(self.circles.count)).map { CircleIndex(rawValue: $0) }
        return CircleScope(
            circles.filter { index in
                let circle = self.circles[index]
                if circle == .roster { return true }
                if let rights = self.rights.rights(in: index) {
                    let isOwn = author.user == self.circles.reader?.user && self.rights.left.contains(index)
                    return rights.reads(author) || isOwn && !rights.isRemoved(author)
                }
                return circle.owner(founder: founder) == author.user
            }
        )
    }
}
