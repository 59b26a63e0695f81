#if CHECKED
/// The invariants that hold between the rows of a store after each transaction, checked in the build of the tests.
///
/// A row that contradicts another is reported as damage, as it would be where somebody else has changed the database:
/// the transaction is not kept, and whoever tests sees it at the transaction that caused it.
extension Merge {
    /// The number of segments, and of rows of one kind, that a check reads, so that large tests stay fast.
    private static let checkedCountMax = TouchedRows.objectCountMax

    /// Checks all segments, and what this transaction has touched.
    func checkInvariants(in transaction: inout some StoreTransaction) throws(StoreError) {
        for segment in transaction.segmentIndices.prefix(Self.checkedCountMax) {
            try self.check(segment, in: &transaction)
        }
        for object in self.touched.objects { try self.check(object, in: &transaction) }
        for key in self.touched.registers { try self.check(key, in: &transaction) }
    }

    private func require(_ holds: Bool, _ what: @autoclosure () -> String) throws(StoreError) {
        if !holds { throw .damaged("invariant: \(what())") }
    }

    // MARK: - Segments

    private func check(_ segment: SegmentIndex, in transaction: inout some StoreTransaction) throws(StoreError) {
        let record = transaction.segment(segment)
        try self.require(
            record.appliedSequence <= record.storedSequence && record.appliedSequence + 1 >= record.firstSequence,
            "\(record.id) is applied up to \(record.appliedSequence), and stored from \(record.firstSequence) up to "
                + "\(record.storedSequence)"
        )
        try self.require(
            !transaction.progress(of: segment).isPending || record.waitsFor != nil
                || self.deferred.changes[segment] != nil,
            "\(record.id) is ready after \(record.appliedSequence), and is not applied"
        )
        guard record.appliedSequence >= record.firstSequence else { return }
        for (seen, sequence) in record.context.all.prefix(Self.checkedCountMax) where seen != segment {
            let applied = transaction.progress(of: seen).appliedSequence
            try self.require(
                sequence <= applied,
                "\(record.id) is applied, and has seen \(sequence) of a segment that is applied up to \(applied)"
            )
        }
    }

    // MARK: - Objects

    private func check(_ object: ObjectIndex, in transaction: inout some StoreTransaction) throws(StoreError) {
        let record = try transaction.object(object)
        let shouldBeVisible = try transaction.shouldBeVisible(object)
        try self.require(record.isVisible == shouldBeVisible, "\(record.id) shows, or does not, without reason")
        try self.checkPlace(of: object, record, in: &transaction)
        if record.childCount <= Self.checkedCountMax {
            var visibleCount = 0
            let children = try transaction.children(of: object)
            for child in children where try transaction.look(at: child, { $0.isVisible }) { visibleCount += 1 }
            try self.require(
                children.count == Int(record.childCount) && visibleCount == Int(record.visibleChildCount),
                "\(record.id) counts \(record.childCount) children, \(record.visibleChildCount) of them visible; there "
                    + "are \(children.count) and \(visibleCount)"
            )
        }
    }

    /// An object is where its last effective move put it, below the root, and below nothing twice.
    private func checkPlace(
        of object: ObjectIndex,
        _ record: ObjectRecord,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let move = try transaction.moveInForce(of: object)
        try self.require(
            move?.parent == record.parent && (move == nil || move?.position == record.position),
            "\(record.id) is not where its last move has put it"
        )
        var passed: Set<ObjectIndex> = [object]
        var next = record.parent
        while let ancestor = next, passed.count < Self.checkedCountMax {
            try self.require(passed.insert(ancestor).inserted, "\(record.id) is below itself")
            let isVisible = try transaction.look(at: ancestor) { $0.isVisible }
            try self.require(isVisible || !record.isVisible, "\(record.id) shows below something that does not")
            next = try transaction.parent(of: ancestor)
        }
    }

    /// The winner is the last in order, and the conflicts are as many as are counted.
    private func check(_ key: RegisterKey, in transaction: inout some StoreTransaction) throws(StoreError) {
        guard let register = try transaction.register(key) else { return }
        guard register.conflictCount <= Self.checkedCountMax else { return }
        let conflicts = try transaction.conflicts(at: key)
        try self.require(
            conflicts.count == Int(register.conflictCount),
            "a property counts \(register.conflictCount) conflicting writes, and has \(conflicts.count)"
        )
        for conflict in conflicts {
            try self.require(
                WriteOrder.precedes(conflict, register.winner, transaction),
                "a conflicting write is ordered after the one in force"
            )
        }
    }
}

/// The objects that a transaction has touched, and the registers that it has put, or the first of them.
struct TouchedRows {
    static let objectCountMax = 64
    private static let registerCountMax = 4_096

    private(set) var objects: [ObjectIndex] = []
    private(set) var registers: [RegisterKey] = []
    /// The same, to find them.
    private var known: Set<RegisterKey> = []

    mutating func note(_ object: ObjectIndex) {
        if self.objects.count < Self.objectCountMax, !self.objects.contains(object) { self.objects.append(object) }
    }

    mutating func note(_ register: RegisterKey) {
        if self.registers.count < Self.registerCountMax, self.known.insert(register).inserted {
            self.registers.append(register)
        }
    }
}
#endif
