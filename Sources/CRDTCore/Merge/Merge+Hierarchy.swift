/// The move operation (M. Kleppmann et al., "A Highly-Available Move Operation for Replicated Trees", 2021): moves take
/// effect in the order of their stamps, and one that would close a cycle has no effect.
///
/// Late arrivals are handled for a whole transaction at once: the moves ordered after the earliest new one are undone,
/// then all are done again in order. What was not moved since keeps its place and is read from the store as it is met;
/// so is the place that an undone object had before, and none of an object that ends where it was.
extension Merge {
    /// Whether a change that is ready is deferred, since so many moves would have to be done again for its own.
    ///
    /// A late move of a few bytes may come before very many, and the next one again. Many that come in together cost as
    /// much as the earliest of them.
    mutating func defers(
        _ place: SegmentPoint,
        _ operations: ArraySlice<Operation>,
        _ stamp: Stamp,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if let first = self.deferred.changes[place.segment], place.sequence >= first { return true }
        guard self.policy.redoneMoveCountMax < .max, place.segment != self.policy.promptSegment,
            self.hierarchy.firstLateStamp.map({ stamp < $0 }) ?? true, operations.contains(where: { $0.kind == .move })
        else { return false }
        // Those of the same stamp, too: their replicas say which comes first.
        let count = try transaction.moveCount(from: stamp, upTo: self.policy.redoneMoveCountMax + 1)
        guard count > 0 else { return false }
        if count > self.policy.redoneMoveCountMax {
            self.deferred.changes[place.segment] = place.sequence
            return true
        }
        self.hierarchy.firstLateStamp = stamp
        return false
    }

    /// Takes the transaction's moves into the hierarchy.
    ///
    /// - Complexity: O((*n* + *k*) log *m* + *d*) for *n* new moves, *k* recorded ones ordered after the earliest of
    ///   them, and *d* objects above their parents, of *m* in all.
    mutating func settleMoves(in transaction: inout some StoreTransaction) throws(StoreError) {
        var arrived: [MoveRecord] = []
        swap(&arrived, &self.hierarchy.moves)
        if arrived.count > 1 { arrived.sort { WriteOrder.precedes($0.write, $1.write, transaction) } }
        let withdrawn = self.hierarchy.withdrawn
        self.hierarchy.withdrawn = nil
        var earliest = withdrawn?.first
        if let first = arrived.first?.write, earliest.map({ WriteOrder.precedes(first, $0, transaction) }) ?? true {
            earliest = first
        }
        guard let earliest else { return }
        let undone = try transaction.moves(after: earliest)
        self.summary.redoneMoveCount += undone.count
        var window = MoveWindow(start: earliest, isLate: withdrawn != nil || !undone.isEmpty)
        for (number, move) in undone.enumerated() { window.undo(move, number) }
        for object in (withdrawn?.objects ?? []).sorted(by: { $0.rawValue < $1.rawValue }) {
            try self.restore(object, in: &window, &transaction)
            window.forgetFormer(of: object)
        }
        try self.redo(arrived, undone, &window, in: &transaction)
        try self.install(&window, in: &transaction)
    }

    /// Gives an object of the window the place that it had before the window's moves.
    private func restore(
        _ object: ObjectIndex,
        in window: inout MoveWindow,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let before = try transaction.lastEffectiveMove(of: object, before: window.start)
        window.note(object, under: before?.parent, at: before?.position ?? .initial, asOf: nil)
    }

    /// Does new and undone moves in order, and records which are effective.
    private mutating func redo(
        _ arrived: [MoveRecord],
        _ undone: [MoveRecord],
        _ window: inout MoveWindow,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var next = (arrived: 0, undone: 0)
        while next.arrived < arrived.count || next.undone < undone.count {
            let isNew: Bool
            if next.undone == undone.count {
                isNew = true
            } else if next.arrived == arrived.count {
                isNew = false
            } else {
                isNew = WriteOrder.precedes(arrived[next.arrived].write, undone[next.undone].write, transaction)
            }
            var move = isNew ? arrived[next.arrived] : undone[next.undone]
            if isNew { next.arrived += 1 } else { next.undone += 1 }
            let isEffective = try !self.closesCycle(move, &window, in: &transaction)
            if isEffective {
                if window.forest.contains(move.object), let parent = move.parent {
                    try self.map(parent, in: &window, &transaction)
                }
                window.place(
                    move.object,
                    under: move.parent,
                    at: move.position,
                    asOf: isNew ? nil : next.undone - 1
                )
            }
            if isNew {
                move.isEffective = isEffective
                try transaction.addMove(move)
            } else if move.isEffective != isEffective {
                move.isEffective = isEffective
                try transaction.setMove(move)
            }
        }
    }

    /// Whether the object is the new parent, or above it, as things stand in the window.
    private mutating func closesCycle(
        _ move: MoveRecord,
        _ window: inout MoveWindow,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard let parent = move.parent else { return false }
        if parent == move.object { return true }
        // As long as nothing is done again, an object that nothing stands under is above nothing. This keeps building a
        // long chain from the top linear.
        if !window.isLate, !(window[move.object]?.isParent ?? false),
            try transaction.look(at: move.object, { $0.childCount }) == 0
        {
            return false
        }
        var ancestor: ObjectIndex? = parent
        for _ in 0..<self.policy.climbedCountMax {
            guard let current = ancestor else { return false }
            if current == move.object { return true }
            ancestor = try self.parent(of: current, in: &window, &transaction)
        }
        // Many moves below a deep place would climb the same way again and again.
        try self.map(parent, in: &window, &transaction)
        try self.map(move.object, in: &window, &transaction)
        return window.forest.isAbove(move.object, parent)
    }

    private func parent(
        of object: ObjectIndex,
        in window: inout MoveWindow,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) -> ObjectIndex? {
        guard let standing = window[object] else { return try transaction.parent(of: object) }
        if standing.isPlaced { return standing.parent }
        guard standing.isUndone else { return try transaction.parent(of: object) }
        try self.restore(object, in: &window, &transaction)
        return window[object]?.parent
    }

    /// Takes an object, and all above it, into the window's forest.
    private func map(
        _ object: ObjectIndex,
        in window: inout MoveWindow,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard !window.forest.contains(object) else { return }
        var current = object
        window.forest.enter(current)
        while let parent = try self.parent(of: current, in: &window, &transaction) {
            let isMapped = window.forest.contains(parent)
            if !isMapped { window.forest.enter(parent) }
            guard !window.forest.isAbove(current, parent) else { throw CycleWatch<ObjectIndex>.damage }
            window.forest.place(current, under: parent)
            if isMapped { return }
            current = parent
        }
    }

    /// Gives every object of the window its final place.
    ///
    /// All that change are taken out before any is put back, so that no step in between has a cycle.
    private mutating func install(
        _ window: inout MoveWindow,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        for standing in window.standings where standing.isUndone && !standing.isPlaced && standing.former != nil {
            try self.restore(standing.object, in: &window, &transaction)
        }
        var changed: [Int] = []
        for (number, standing) in window.standings.enumerated() where standing.isPlaced {
            if let former = standing.former, former == standing.last { continue }
            let (parent, isVisible) = try transaction.look(at: standing.object) {
                ($0.parent, $0.isVisible)
            }
            let position = window.positions[number]
            if parent == standing.parent {
                if try transaction.look(at: standing.object, { $0.position != position }) {
                    try transaction.update(standing.object) { $0.position = position }
                }
                continue
            }
            changed.append(number)
            try transaction.update(standing.object) { $0.parent = nil }
            if let parent { try self.count(-1, under: parent, isVisible: isVisible, in: &transaction) }
        }
        for number in changed {
            let standing = window.standings[number]
            var isVisible = false
            try transaction.update(standing.object) { record in
                record.parent = standing.parent
                record.position = window.positions[number]
                isVisible = record.isVisible
            }
            if let parent = standing.parent { try self.count(1, under: parent, isVisible: isVisible, in: &transaction) }
        }
    }

    private mutating func count(
        _ step: Int64,
        under parent: ObjectIndex,
        isVisible: Bool,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        try transaction.update(parent) { record in
            record.childCount = UInt32(clamping: Int64(record.childCount) + step)
            if isVisible {
                record.visibleChildCount = UInt32(clamping: Int64(record.visibleChildCount) + step)
            }
        }
        if isVisible { self.noteStale(parent) }
    }
}

/// The places of the objects that were moved within a stretch of the stamp order.
private struct MoveWindow {
    /// One object that was moved, or that something stood under.
    ///
    /// Small, since climbing up the hierarchy reads many.
    struct Standing {
        var object: ObjectIndex
        var parent: ObjectIndex?
        /// The undone move that gave the object the place that is in the store, and the one that has given it the place
        /// that it has here, by their numbers; nil if another did, or if it is not known.
        var former: Int32?
        var last: Int32?
        /// Whether `parent` is what the object stands under.
        var isPlaced = false
        /// Whether a move of the object was undone, so that it does not stand where it does in the store.
        var isUndone = false
        /// Whether something stood under the object at some moment, as far as that is known here.
        var isParent = false
    }

    /// The first of the moves.
    let start: WriteReference
    /// Whether there is anything that is done again.
    let isLate: Bool

    /// Used only as soon as there are more objects than can be looked through as fast.
    private var numbers = IndexTable()
    /// In the order in which the objects came in.
    private(set) var standings: [Standing] = []
    /// The position of each object that is placed.
    private(set) var positions: [Position] = []

    private static let searchedCountMax = 8

    /// The hierarchy above the places that lay too deep to climb up from each time.
    var forest = AncestorForest()

    init(start: WriteReference, isLate: Bool) { (self.start, self.isLate) = (start, isLate) }

    subscript(object: ObjectIndex) -> Standing? { self.number(of: object).map { self.standings[$0] } }

    private func number(of object: ObjectIndex) -> Int? {
        self.standings.count <= MoveWindow.searchedCountMax
            ? self.standings.firstIndex { $0.object == object }
            : self.numbers.position(of: UInt64(object.rawValue))
    }

    /// Takes a recorded move back, which has this number.
    mutating func undo(_ move: MoveRecord, _ number: Int) {
        let entry = self.enter(move.object)
        self.standings[entry].isUndone = true
        if move.isEffective { self.standings[entry].former = Int32(clamping: number) }
    }

    /// Forgets which move gave an object its place in the store: it was taken out of the order.
    mutating func forgetFormer(of object: ObjectIndex) {
        if let number = self.number(of: object) { self.standings[number].former = nil }
    }

    /// Puts an object under another, by the undone move of this number or by another move.
    mutating func place(_ object: ObjectIndex, under parent: ObjectIndex?, at position: Position, asOf move: Int?) {
        self.note(object, under: parent, at: position, asOf: move)
        if self.forest.contains(object) { self.forest.place(object, under: parent) }
    }

    /// Notes what an object stands under; in the forest it is not, or is about to be placed.
    mutating func note(_ object: ObjectIndex, under parent: ObjectIndex?, at position: Position, asOf move: Int?) {
        let number = self.enter(object)
        self.standings[number].parent = parent
        self.standings[number].isPlaced = true
        self.standings[number].last = move.map { Int32(clamping: $0) }
        self.positions[number] = position
        if let parent, !self.isLate { self.standings[self.enter(parent)].isParent = true }
    }

    private mutating func enter(_ object: ObjectIndex) -> Int {
        if let number = self.number(of: object) { return number }
        let number = self.standings.count
        self.standings.append(Standing(object: object))
        self.positions.append(.initial)
        if number == MoveWindow.searchedCountMax {
            for standing in self.standings { _ = self.numbers.insert(UInt64(standing.object.rawValue)) }
        } else if number > MoveWindow.searchedCountMax {
            _ = self.numbers.insert(UInt64(object.rawValue))
        }
        return number
    }
}
