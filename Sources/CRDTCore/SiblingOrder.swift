/// Makes room for one more among siblings.
///
/// Positions between two others grow by a letter for about every six that are put at one place. Before one gets long,
/// those around it are given new ones, as databases relabel the neighbours of an entry that finds no room (P. Dietz and
/// D. Sleator, "Two Algorithms for Maintaining Order in a List", 1987): as few as it takes, so that each insertion
/// costs about two moves however many have gone before.
package enum SiblingOrder {
    /// Where an object goes, and which of those around it go elsewhere.
    package struct Insertion: Hashable, Sendable {
        package var position: Position
        /// New positions by the places of siblings in their order.
        package var renewed: [Renewal] = []

        package struct Renewal: Hashable, Sendable {
            package var place: Int
            package var position: Position
        }
    }

    /// New positions are no longer than this, so that there is room for many more before the next renewal.
    private static let renewedByteCountMax = Limits.positionByteCountKept / 2
    /// At most so many siblings get new positions at once.
    private static let renewedCountMax = 1 << 13

    /// The insertion of one object at a place of the order: 0 is before all siblings.
    ///
    /// `positions`: those of the siblings, in ascending order; what others sent may be of any form, or equal.
    /// - Complexity: O(1) amortised in the number of siblings, unless others chose their positions to make it dearer.
    package static func insertion(at place: Int, among positions: [Position]) -> Insertion {
        let lower = place > 0 ? positions[place - 1] : nil
        let upper = place < positions.count ? positions[place] : nil
        let position = Position.between(lower, upper)
        let isBetween = (lower.map { $0 < position } ?? true) && (upper.map { position < $0 } ?? true)
        if isBetween, position.bytes.count <= Limits.positionByteCountKept { return Insertion(position: position) }
        var radius = 4
        while radius < self.renewedCountMax {
            radius *= 2
            let window = max(0, place - radius)..<min(positions.count, place + radius)
            if let insertion = self.insertion(at: place, renewing: window, of: positions) { return insertion }
            if window.count == positions.count { break }
        }
        // Others have filled the place with more than can be moved out of the way. Siblings may share a position.
        if position.bytes.count <= Limits.positionByteCountMax { return Insertion(position: position) }
        return Insertion(position: lower ?? .initial)
    }

    /// The insertion if all siblings of a window are spread anew between those beside it; nil if there is no room.
    private static func insertion(at place: Int, renewing window: Range<Int>, of positions: [Position]) -> Insertion? {
        let lower = window.lowerBound > 0 ? positions[window.lowerBound - 1] : nil
        let upper = window.upperBound < positions.count ? positions[window.upperBound] : nil
        let spread = self.spread(window.count + 1, between: lower, upper)
        let bounds = [lower].compactMap(\.self) + spread + [upper].compactMap(\.self)
        guard zip(bounds, bounds.dropFirst()).allSatisfy({ $0 < $1 }),
            spread.allSatisfy({ $0.bytes.count <= self.renewedByteCountMax })
        else { return nil }
        var insertion = Insertion(position: spread[place - window.lowerBound])
        for (offset, position) in spread.enumerated() where window.lowerBound + offset != place {
            let sibling = window.lowerBound + offset - (window.lowerBound + offset > place ? 1 : 0)
            insertion.renewed.append(Insertion.Renewal(place: sibling, position: position))
        }
        return insertion
    }

    /// Positions in ascending order, evenly between two others.
    private static func spread(_ count: Int, between lower: Position?, _ upper: Position?) -> [Position] {
        var spread: [Position] = []
        spread.reserveCapacity(count)
        switch (lower, upper) {
        case (_, nil):
            for _ in 0..<count { spread.append(.between(spread.last ?? lower, nil)) }
        case (nil, _):
            for _ in 0..<count { spread.append(.between(nil, spread.last ?? upper)) }
            spread.reverse()
        default: self.spread(count, between: lower, upper, into: &spread)
        }
        return spread
    }

    private static func spread(
        _ count: Int,
        between lower: Position?,
        _ upper: Position?,
        into spread: inout [Position]
    ) {
        guard count > 0 else { return }
        let middle = Position.between(lower, upper)
        self.spread(count / 2, between: lower, middle, into: &spread)
        spread.append(middle)
        self.spread(count - count / 2 - 1, between: middle, upper, into: &spread)
    }
}
