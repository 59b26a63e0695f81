/// Whether objects show: settled once for a transaction, from what has changed up to their ancestors.
extension Merge {
    /// Takes note that an object may have to show, or to show no more.
    ///
    /// It is settled once for the transaction: above an object may be very many that show only with it.
    mutating func noteStale(_ object: ObjectIndex) {
        if self.hierarchy.stale.last != object { self.hierarchy.stale.append(object) }
    }

    /// Lets objects show that should, and then those show no more that should not: so none changes more than twice.
    mutating func settleVisibility(in transaction: inout some StoreTransaction) throws(StoreError) {
        var stale: [ObjectIndex] = []
        swap(&stale, &self.hierarchy.stale)
        for becomesVisible in [true, false] {
            for object in stale where try transaction.shouldBeVisible(object) == becomesVisible {
                try self.refreshVisibility(of: object, in: &transaction)
            }
        }
    }

    /// Carries a change of an object's visibility up to its ancestors.
    private mutating func refreshVisibility(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var current = object
        while try transaction.look(at: current, { $0.isVisible }) != transaction.shouldBeVisible(current) {
            let isVisible = try transaction.update(current) { record in
                record.isVisible.toggle()
                return record.isVisible
            }
            guard let parent = try transaction.parent(of: current) else { return }
            let step: Int64 = isVisible ? 1 : -1
            try transaction.update(parent) { above in
                // A damaged database may count less than there is.
                above.visibleChildCount = UInt32(clamping: Int64(above.visibleChildCount) + step)
            }
            current = parent
        }
    }
}

extension StoreTransaction {
    /// Whether an object shows: not in a circle that the user of the store has left, or never read.
    mutating func shouldBeVisible(_ object: ObjectIndex) throws(StoreError) -> Bool {
        let unseen = self.rights.unseen
        return try self.look(at: object) { $0.shouldBeVisible && (unseen.isEmpty || !unseen.contains($0.circle)) }
    }
}

extension ObjectRecord {
    /// An object shows if it lives, or if something below it shows.
    package var shouldBeVisible: Bool {
        self.visibleChildCount > 0 || self.existence.isAlive
    }
}
