/// What counts on a timeline, write by write.
///
/// Undo asks what would be in force if some of it did not count. On the main timeline, that is what a store has
/// recorded. On a branch, it is found as a state of the past is, by looking at which writes the branch has seen.
package struct TimelineHistory {
    /// Nil for the main timeline.
    private var reader: PastReader?

    /// `timeline`: the branch; nil for the main timeline.
    package init(of timeline: TimelineID?, in transaction: inout some StoreTransaction) throws(StoreError) {
        #if PLANTED_BUGS
        if PlantedBug.branchUndoneAsMain.isPlanted {
            self.reader = nil
            return
        }
        #endif
        self.reader = try timeline.map { timeline throws(StoreError) in
            PastReader(try transaction.view(of: timeline))
        }
    }

    /// The last change of each line that counts, of those that a user has written.
    func ends(of user: UserID, in transaction: inout some StoreTransaction) -> [LinePoint] {
        var ends: [LinePoint] = []
        for position in 0..<transaction.lineCount {
            let line = LineIndex(rawValue: UInt32(position))
            guard transaction.line(line).introduction?.user == user else { continue }
            let progress = transaction.progress(of: line)
            let last = self.reader.map { min($0.view.seen?[line] ?? 0, progress.appliedSequence) }
            let sequence = last ?? progress.countedSequence
            if sequence >= progress.firstSequence { ends.append(LinePoint(line: line, sequence: sequence)) }
        }
        return ends
    }

    // MARK: - Properties

    /// The write in force for a property; nil if it has none.
    func write(
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> WriteReference? {
        guard let reader else { return try transaction.register(key)?.winner }
        return try reader.write(at: key, in: &transaction)
    }

    /// Of the writes to a property up to a stamp, all with the highest stamp that any has.
    ///
    /// - Complexity: O(log *n*) on the main timeline; on a branch also O(*u* + *k*), for *u* writes that are not merged
    ///   anywhere, and *k* later ones of others.
    func lastWrites(
        at key: RegisterKey,
        through bound: Stamp,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [WriteReference] {
        guard let view = self.reader?.view else {
            return try transaction.lastWrites(at: key, through: bound, where: { _ in true })
        }
        var found = try transaction.lastWrites(at: key, through: min(bound, view.lastStamp), where: view.counts)
        guard !view.unmerged.isEmpty else { return found }
        for operation in try transaction.unmergedOperations(at: key) where view.counts(operation) {
            let write = try transaction.write(of: operation)
            let highest = found.first?.stamp ?? .zero
            guard write.stamp <= bound, write.stamp >= highest else { continue }
            if write.stamp > highest { found.removeAll() }
            found.append(write)
        }
        return found
    }

    /// Throws `compacted` if a write that was dropped may come after one that was found.
    func requireKept(
        _ found: WriteReference?,
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        try transaction.requireKept(found, at: key, in: self.reader?.view)
    }

    /// The properties that an object has or had, in no particular order.
    package func names(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [NameIndex] {
        guard let reader else { return try transaction.registers(of: object).map(\.0) }
        return try reader.names(of: object, in: &transaction)
    }

    // MARK: - Places

    /// All moves of an object, in no particular order, with the effect that they have here.
    ///
    /// - Complexity: O(*n*); on a branch that of `PastReader.place`.
    mutating func moves(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [MoveRecord] {
        guard self.reader != nil else { return try transaction.moves(of: object) }
        return try self.reader?.moves(of: object, in: &transaction) ?? []
    }

    // MARK: - Existence

    /// Whether an object lives.
    package mutating func isAlive(
        _ object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard self.reader != nil else { return try transaction.look(at: object) { $0.existence.isAlive } }
        return try self.reader?.isAlive(object, in: &transaction) ?? false
    }

    /// Every operation on an object, moves and creations and deletions included, in no particular order.
    package func operations(
        on object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [WriteReference] {
        guard let reader else { return try transaction.countedHistory(of: object) }
        return try reader.operations(on: object, in: &transaction)
    }

    /// Those of them that delete it.
    func deletions(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [WriteReference] {
        guard let reader else { return try transaction.deletions(of: object) }
        return try reader.deletions(of: object, in: &transaction)
    }

    /// The last dropped writes to an object, of each property and line that has any.
    ///
    /// On a branch that has seen some of them, the last may be earlier ones.
    func lastSpentWrites(
        on object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [LinePoint] {
        var ends: [LinePoint] = []
        for spent in try transaction.spentWrites(on: object) {
            if let view = self.reader?.view {
                ends += try transaction.counted(spent, in: view).map(\.last)
            } else {
                ends += spent.last.all.map { LinePoint(line: $0, sequence: $1) }
            }
        }
        return ends
    }
}
