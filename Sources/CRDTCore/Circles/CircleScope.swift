/// Some of the circles of a store: those that something is about, or that somebody reads.
package enum CircleScope: Hashable, Sendable {
    case all
    case some(Set<CircleIndex>)

    package func contains(_ circle: CircleIndex) -> Bool {
        switch self {
        case .all: true
        case .some(let circles): circles.contains(circle)
        }
    }

    /// What is in both.
    package func intersection(_ other: CircleScope) -> CircleScope {
        switch (self, other) {
        case (.all, let scope), (let scope, .all): scope
        case (.some(let left), .some(let right)): .some(left.intersection(right))
        }
    }
}

extension StoreTransaction {
    /// The circles that a device reads, as far as is known here.
    ///
    /// Everybody in the workspace reads the roster: whoever asks knows that the device is in it.
    /// - Complexity: O(*c* *g*) for *c* circles with *g* grants each.
    package func circles(readableBy author: ChainAuthor, founder: UserID) -> CircleScope {
        var readable: Set<CircleIndex> = []
        for number in 0..<UInt32(self.circles.count) {
            let index = CircleIndex(rawValue: number)
            let circle = self.circles[index]
            if let rights = self.rights.rights(in: index) {
                if circle == .roster || rights.reads(author) { readable.insert(index) }
            } else if circle == .roster || circle.owner(founder: founder) == author.user {
                readable.insert(index)
            }
        }
        return readable.count == self.circles.count ? .all : .some(readable)
    }
}
