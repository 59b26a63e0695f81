/// Notices that a way up the hierarchy comes to where it has been, as only a damaged database lets it.
///
/// One comparison for each step: R. P. Brent, "An improved Monte Carlo factorization algorithm", BIT 20 (1980).
package struct CycleWatch<Place: Equatable> {
    private var mark: Place?
    private var stepCount = 0
    private var markedCount = 1

    package init() {}

    package static var damage: StoreError { .damaged("the hierarchy in the database goes round in a circle") }

    /// Throws once a place has been passed before: at the latest after three times as many steps as the cycle and the
    /// way to it have.
    package mutating func pass(_ place: Place) throws(StoreError) {
        guard place != self.mark else { throw CycleWatch.damage }
        self.stepCount += 1
        guard self.stepCount == self.markedCount else { return }
        (self.mark, self.stepCount, self.markedCount) = (place, 0, 2 * self.markedCount)
    }
}
