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
    package static let renewedCountMax = 1 << 15

    /// The insertion of one object at a place of the order: 0 is before all siblings.
    ///
    /// `positions`: those of the siblings, in ascending order; what others sent may be of any form, or equal.
    /// - Returns: nil if more siblings would need new positions than one transaction can give; never at the end.
    /// - Complexity: O(1) amortised in the number of siblings, unless others chose their positions to make it dearer.
    package static func insertion(at place: Int, among positions: [Position]) -> Insertion? {
        let lower = place > 0 ? positions[place - 1] : nil
        let upper = place < positions.count ? positions[place] : nil
        let position = Position.between(lower, upper)
        let isBetween = (lower.map { $0 < position } ?? true) && (upper.map { position < $0 } ?? true)
        if isBetween, position.bytes.count <= Limits.positionByteCountKept { return Insertion(position: position) }
        // Devices that were apart give the same positions: those on one side of the place must all go elsewhere.
        let (before, behind) = self.equals(around: place, in: positions)
        var radius = 4
        while radius < self.renewedCountMax {
            radius *= 2
            let sides = [
                max(0, place - before - radius)..<place, place..<min(positions.count, place + behind + radius),
            ]
            let around = max(0, place - radius)..<min(positions.count, place + radius)
            let windows = before + behind == 0 ? [around] : before < behind ? sides : sides.reversed()
            for window in windows where window.count <= self.renewedCountMax {
                if let insertion = self.insertion(at: place, renewing: window, of: positions) { return insertion }
            }
            if around.count == positions.count, before + behind == 0 { break }
        }
        // Whatever others have put there, something can be added at the end. Siblings may share a position.
        return place == positions.count ? Insertion(position: lower ?? .initial) : nil
    }

    /// How many siblings before a place, and behind it, have one position; none if those beside it differ.
    private static func equals(around place: Int, in positions: [Position]) -> (before: Int, behind: Int) {
        guard place > 0, place < positions.count, positions[place - 1] == positions[place] else { return (0, 0) }
        let shared = positions[place]
        let before = positions[..<place].reversed().prefix { $0 == shared }.count
        return (before, positions[place...].prefix { $0 == shared }.count)
    }

    /// The insertion if all siblings of a window are spread anew between those beside it; nil if there is no room.
    private static func insertion(at place: Int, renewing window: Range<Int>, of positions: [Position]) -> Insertion? {
        let lower = window.lowerBound > 0 ? positions[window.lowerBound - 1] : nil
        let upper = window.upperBound < positions.count ? positions[window.upperBound] : nil
        guard let spread = self.spread(window.count + 1, between: lower, upper) else { return nil }
        let bounds = [lower].compactMap(\.self) + spread + [upper].compactMap(\.self)
        guard zip(bounds, bounds.dropFirst()).allSatisfy({ $0 < $1 }) else { return nil }
        var insertion = Insertion(position: spread[place - window.lowerBound])
        for (offset, position) in spread.enumerated() where window.lowerBound + offset != place {
            let sibling = window.lowerBound + offset - (window.lowerBound + offset > place ? 1 : 0)
            insertion.renewed.append(Insertion.Renewal(place: sibling, position: position))
        }
        return insertion
    }

    /// Positions in ascending order, evenly between two others; nil as soon as one is long.
    private static func spread(_ count: Int, between lower: Position?, _ upper: Position?) -> [Position]? {
        var spread: [Position] = []
        spread.reserveCapacity(count)
        if lower != nil, upper != nil {
            return self.spread(count, between: lower, upper, into: &spread) ? spread : nil
        }
        for _ in 0..<count {
            let position =
                upper == nil ? Position.between(spread.last ?? lower, nil) : .between(nil, spread.last ?? upper)
            guard position.bytes.count <= self.renewedByteCountMax else { return nil }
            spread.append(position)
        }
        if upper != nil { spread.reverse() }
        return spread
    }

    private static func spread(
        _ count: Int,
        between lower: Position?,
        _ upper: Position?,
        into spread: inout [Position]
    ) -> Bool {
        guard count > 0 else { return true }
        let middle = Position.between(lower, upper)
        guard middle.bytes.count <= self.renewedByteCountMax,
            self.spread(count / 2, between: lower, middle, into: &spread)
        else { return false }
        spread.append(middle)
        return self.spread(count - count / 2 - 1, between: middle, upper, into: &spread)
    }
}
