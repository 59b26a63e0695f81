/// Reads a state of the past: the same merge over fewer changes, found by looking at what is asked for and no more.
///
/// A property is the last write that counts. The place of an object is its last move that counts and has effect. Of
/// everything up to a time, the effect of a move is what it was when it came: it depends on earlier moves alone. Of
/// some changes it is found by doing the moves of the object and of everything that was ever above it again.
package struct PastReader {
    package let view: PastView
    /// The places that were found.
    private var places: [ObjectIndex: Place] = [:]
    private var lives: [ObjectIndex: Bool] = [:]
    private var visibilities: [ObjectIndex: Bool] = [:]

    /// The number of objects that are looked at in one go.
    static let pageCount = 256
    /// So many places and lives are kept; with more, it begins again to find them.
    private static let keptCountMax = 1 << 16

    package init(_ view: PastView) { self.view = view }

    /// Where an object stood.
    package struct Place: Hashable, Sendable {
        package var parent: ObjectIndex?
        package var position: Position
    }

    // MARK: - Properties

    /// The write that was in force for a property; nil if it had none.
    ///
    /// Throws `compacted` if it may have been one that was dropped.
    /// - Complexity: O(log *n* + *k*) for *k* later writes that do not count, which are none if a time is asked for.
    package func write(
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> WriteReference? {
        var last: WriteReference?
        for write in try transaction.lastWrites(at: key, through: self.view.lastStamp, where: self.view.counts) {
            if last.map({ WriteOrder.precedes($0, write, transaction) }) ?? true { last = write }
        }
        // Along a line, later writes come after earlier ones.
        for end in self.view.unmerged {
            guard let found = try transaction.lastUnmerged(at: key, on: end.line, upTo: end.sequence) else { continue }
            let write = try transaction.write(of: found)
            if last.map({ WriteOrder.precedes($0, write, transaction) }) ?? true { last = write }
        }
        try transaction.requireKept(last, at: key, in: self.view)
        return last
    }

    /// The operations on an object that count and are on branches which are not merged.
    private func unmergedOperations(
        on object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [UnmergedOperation] {
        guard !self.view.unmerged.isEmpty else { return [] }
        return try transaction.unmergedOperations(on: object).filter(self.view.counts)
    }

    /// Those of them of one kind.
    private func unmerged(
        _ kind: OperationKind,
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [WriteReference] {
        guard !self.view.unmerged.isEmpty else { return [] }
        let key = RegisterKey(object: object, name: kind == .move ? .place : .lifetime)
        var found: [WriteReference] = []
        for operation in try transaction.unmergedOperations(at: key)
        where operation.kind == kind && self.view.counts(operation) {
            found.append(try transaction.write(of: operation))
        }
        return found
    }

    /// The value of a property; nil if it had none.
    package func value(at key: RegisterKey, in transaction: inout some StoreTransaction) throws(StoreError) -> Value? {
        guard let write = try self.write(at: key, in: &transaction) else { return nil }
        if case .set(_, _, let value) = try transaction.edit(write) { return value }
        return nil
    }

    /// All properties of an object, in no particular order.
    package func properties(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [(name: NameIndex, value: Value)] {
        var found: [(name: NameIndex, value: Value)] = []
        for name in try self.names(of: object, in: &transaction) {
            let key = RegisterKey(object: object, name: name)
            if let value = try self.value(at: key, in: &transaction) { found.append((name, value)) }
        }
        return found
    }

    /// The properties that an object ever had.
    func names(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [NameIndex] {
        var names = try transaction.registers(of: object).map(\.0)
        var known = Set(names)
        // Of some, nothing may be here but that there was something.
        for name in try transaction.namesWithSpentWrites(of: object) where known.insert(name).inserted {
            names.append(name)
        }
        let added = Set(try self.unmergedOperations(on: object, in: &transaction).map(\.key.name))
        names += added.filter { !known.contains($0) && $0 != .lifetime && $0 != .place }
            .sorted { $0.rawValue < $1.rawValue }
        return names
    }

    // MARK: - Existence

    /// Every operation on an object that counts, moves and creations and deletions included, in no particular order.
    func operations(
        on object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [WriteReference] {
        var found = try transaction.countedHistory(of: object).filter(self.view.counts)
        for operation in try self.unmergedOperations(on: object, in: &transaction) {
            found.append(try transaction.write(of: operation))
        }
        return found
    }

    /// Those of them that delete it.
    func deletions(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [WriteReference] {
        let recorded = try transaction.deletions(of: object).filter(self.view.counts)
        return try recorded + self.unmerged(.delete, of: object, in: &transaction)
    }

    /// Whether an object lived: some touch counts that no deletion that counts had seen.
    ///
    /// - Complexity: O(log *n*) for an object that was never deleted before; else O(*n*) in the writes to it.
    package mutating func isAlive(
        _ object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if let known = self.lives[object] { return known }
        if self.lives.count >= Self.keptCountMax { self.lives.removeAll(keepingCapacity: true) }
        let isAlive = try self.findLife(of: object, in: &transaction)
        self.lives[object] = isAlive
        return isAlive
    }

    private func findLife(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        #if PLANTED_BUGS
        if PlantedBug.pastForgetsDeletions.isPlanted {
            return try transaction.history(of: object).contains(where: self.view.counts)
        }
        #endif
        let deletions = try self.deletions(of: object, in: &transaction)
        if deletions.isEmpty, let creation = try transaction.look(at: object, { $0.creation }),
            self.view.counts(creation.write)
        {
            return true
        }
        var contexts: [CausalContext] = []
        for deletion in deletions {
            let seen = try transaction.context(at: deletion.point)
            contexts.append(CausalContext(seen: seen, author: deletion.line, ordinal: deletion.ordinal))
        }
        let removed = Set(deletions)
        for write in try transaction.history(of: object) where self.view.counts(write) && !removed.contains(write) {
            if !contexts.contains(where: { $0.covers(write) }) { return true }
        }
        for operation in try self.unmergedOperations(on: object, in: &transaction) where operation.kind != .delete {
            let ordinal = ChainOrdinal(sequence: operation.sequence, index: operation.index)
            if !contexts.contains(where: { $0.covers(operation.line, ordinal) }) { return true }
        }
        return try transaction.isTouched(object, besides: contexts, in: self.view)
    }

    /// The creation that decides what an object was: the first that counts, those of the id's owner before others.
    package func creation(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> ObjectRecord.Creation? {
        let known = try transaction.look(at: object, { $0.creation })
        let added = try self.unmerged(.create, of: object, in: &transaction)
        if let known, self.view.counts(known.write), added.isEmpty { return known }
        guard known != nil || !added.isEmpty else { return nil }
        var candidates = try transaction.creations(of: object) + added
        if let known { candidates.append(known.write) }
        var first: WriteReference?
        for write in candidates where self.view.counts(write) {
            if try first.map({ first throws(StoreError) in
                try transaction.creation(write, of: object, precedes: first)
            }) ?? true {
                first = write
            }
        }
        guard let first, case .create(_, let type, let kind) = try transaction.edit(first) else { return nil }
        let (typeName, kindName) = (try transaction.nameIndex(of: type), try transaction.nameIndex(of: kind))
        return ObjectRecord.Creation(write: first, type: typeName, kind: kindName)
    }

    /// Whether an object showed: it lived, or something below it did.
    ///
    /// - Complexity: O(*n*) for *n* objects below one that did not live, which are then known.
    package mutating func isVisible(
        _ object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if let known = self.visibilities[object] { return known }
        if self.visibilities.count >= Self.keptCountMax { self.visibilities.removeAll(keepingCapacity: true) }
        // What was met, each with what it stood below; that is nil for the first.
        var (waiting, met): ([ObjectIndex], [ObjectIndex: ObjectIndex?]) = ([object], [object: nil])
        while let next = waiting.popLast() {
            let known = self.visibilities[next]
            var isShown = known ?? false
            if known == nil { isShown = try self.isAlive(next, in: &transaction) }
            if isShown {
                var shown: ObjectIndex? = next
                while let above = shown {
                    self.visibilities[above] = true
                    shown = met[above] ?? nil
                }
                return true
            }
            guard known == nil else { continue }
            for child in try self.children(of: next, in: &transaction) where met[child] == nil {
                met[child] = .some(next)
                waiting.append(child)
            }
        }
        for hidden in met.keys { self.visibilities[hidden] = false }
        return false
    }

    /// The highest stamp of an operation on an object that counts.
    ///
    /// - Complexity: O(*p* log *n* + *m*) for *p* properties with *n* writes, and *m* moves, creations and deletions.
    package func lastUpdate(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Stamp {
        var writes = try transaction.moves(of: object).map(\.write)
        writes += try transaction.deletions(of: object)
        writes += try transaction.creations(of: object)
        if let creation = try transaction.look(at: object, { $0.creation }) { writes.append(creation.write) }
        for operation in try self.unmergedOperations(on: object, in: &transaction) {
            writes.append(try transaction.write(of: operation))
        }
        var last = writes.filter(self.view.counts).map(\.stamp).max() ?? .zero
        for name in try self.names(of: object, in: &transaction) {
            let write = try self.write(at: RegisterKey(object: object, name: name), in: &transaction)
            last = max(last, write?.stamp ?? .zero)
        }
        return last
    }

    // MARK: - The hierarchy

    /// Where an object stood; the root if it had not been moved.
    package mutating func place(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Place {
        if let known = self.places[object] { return known }
        if self.places.count >= Self.keptCountMax { self.places.removeAll(keepingCapacity: true) }
        if self.view.seen != nil {
            try self.replay(object, stoppingAtKnown: true, in: &transaction)
        } else {
            let move = try transaction.lastEffectiveMove(of: object, through: self.view.lastStamp)
            self.places[object] = Place(parent: move?.parent, position: move?.position ?? .initial)
            #if PLANTED_BUGS
            let moves = try transaction.moves(of: object).filter { self.view.counts($0.write) }
            if PlantedBug.pastMovesUnchecked.isPlanted,
                let last = moves.max(by: { WriteOrder.precedes($0.write, $1.write, transaction) })
            {
                self.places[object] = Place(parent: last.parent, position: last.position)
            }
            #endif
        }
        return self.places[object] ?? Place(parent: nil, position: .initial)
    }

    /// All moves of an object that count among some changes, with the effect that they had.
    mutating func moves(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [MoveRecord] {
        try self.replay(object, stoppingAtKnown: false, in: &transaction).filter { $0.object == object }
    }

    /// Does the moves of an object again, with those of all that they put it below; returns them in their order.
    ///
    /// Everything that was ever above something whose place is known is known too. So an object that is not known was
    /// never above one that is: moves below what is known close no cycle, and one need not look further up.
    /// - Complexity: O(*n* log *n* + *n* *d*) for *n* moves and *d* levels that are not known.
    @discardableResult
    private mutating func replay(
        _ object: ObjectIndex,
        stoppingAtKnown isEnough: Bool,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [MoveRecord] {
        var moves: [MoveRecord] = []
        var (met, waiting): (Set<ObjectIndex>, [ObjectIndex]) = ([object], [object])
        while let next = waiting.popLast() {
            var found = try transaction.moves(of: next).filter { self.view.counts($0.write) }
            found += try self.unmergedMoves(of: next, in: &transaction)
            moves += found
            for case let parent? in found.map(\.parent) where !(isEnough && self.places[parent] != nil) {
                if met.insert(parent).inserted { waiting.append(parent) }
            }
        }
        moves.sort { WriteOrder.precedes($0.write, $1.write, transaction) }
        var places: [ObjectIndex: Place] = [:]
        for number in moves.indices {
            let move = moves[number]
            var above = move.parent
            while let next = above, next != move.object { above = places[next]?.parent }
            moves[number].isEffective = above == nil
            if above == nil { places[move.object] = Place(parent: move.parent, position: move.position) }
        }
        for object in met { self.places[object] = places[object] ?? Place(parent: nil, position: .initial) }
        return moves
    }

    private func unmergedMoves(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [MoveRecord] {
        var moves: [MoveRecord] = []
        for write in try self.unmerged(.move, of: object, in: &transaction) {
            guard case .move(_, let place) = try transaction.edit(write) else { continue }
            var parent: ObjectIndex?
            if let id = place.parent { parent = try transaction.objectIndex(of: id) }
            let position = place.position
            moves.append(
                MoveRecord(write: write, object: object, parent: parent, position: position, isEffective: false)
            )
        }
        return moves
    }

    /// The objects that stood below one (nil: the root), in their order, whether they lived or not.
    package mutating func children(
        of parent: ObjectIndex?,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [ObjectIndex] {
        try self.placedChildren(of: parent, in: &transaction).map(\.object)
    }

    /// The same with their places.
    ///
    /// - Complexity: O(*n* log *n*) for *n* objects that ever stood there.
    mutating func placedChildren(
        of parent: ObjectIndex?,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [(place: SiblingPlace, object: ObjectIndex)] {
        var found: [(place: SiblingPlace, object: ObjectIndex)] = []
        var candidates = try transaction.objectsEverBelow(parent)
        if !self.view.unmerged.isEmpty {
            let known = Set(candidates)
            candidates += try transaction.objectsUnmerged(below: parent).filter { !known.contains($0) }
        }
        for object in candidates {
            let place = try self.place(of: object, in: &transaction)
            guard place.parent == parent else { continue }
            let id = try transaction.look(at: object) { $0.id }
            found.append((SiblingPlace(position: place.position, id: id), object))
        }
        return found.sorted { $0.place < $1.place }
    }
}
