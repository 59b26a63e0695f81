/// What the merge gives over the changes that count in a view, found by looking at what is asked for and no more.
///
/// A property is the last write that counts. The place of an object is its last move that counts and has effect. Of
/// everything up to a time, the effect of a move is what it was when it came: it depends on earlier moves alone. Of
/// some changes it is found by doing the moves of the object and of everything that was ever above it again. In the
/// present of the main timeline all of it stands in the tables of a store.
package struct History {
    package let view: HistoryView
    /// The places that were found.
    private var places: [ObjectIndex: Place] = [:]
    /// The moves that were done again, by objects; with those of one, those of all that was ever above it.
    private var replayed: [ObjectIndex: [MoveRecord]] = [:]
    var lives: [ObjectIndex: Bool] = [:]
    var visibilities: [ObjectIndex: Bool] = [:]
    var leftCircles: Set<CircleIndex>?

    /// The number of objects that are looked at in one go.
    static let pageCount = 256
    /// So many places and lives are kept; with more, it begins again to find them.
    static let keptCountMax = 1 << 16

    package init(_ view: HistoryView) { self.view = view }

    /// Whether the tables of the store say it.
    var isPresent: Bool { self.view.isPresent }

    /// How far each segment counts, of those that some authors have written.
    func ends(
        in transaction: inout some StoreTransaction,
        where isWanted: (Introduction) -> Bool
    ) -> [SegmentIndex: UInt64] {
        var ends: [SegmentIndex: UInt64] = [:]
        for segment in transaction.segmentIndices {
            guard let author = transaction.segment(segment).introduction, isWanted(author) else { continue }
            let progress = transaction.progress(of: segment)
            let sequence = self.view.seen.map { min($0[segment], progress.appliedSequence) } ?? progress.countedSequence
            if sequence >= progress.firstSequence { ends[segment] = sequence }
        }
        return ends
    }

    /// Where an object stood.
    package struct Place: Hashable, Sendable {
        package var parent: ObjectIndex?
        package var position: Position
    }

    // MARK: - Properties

    /// The write in force for a property, whose content is here; nil if it has none.
    ///
    /// Throws `compacted` if it is missing, or may be one that was dropped.
    /// - Complexity: that of `lastWrite`.
    package mutating func write(
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> WriteReference? {
        let write = try self.lastWrite(at: key, in: &transaction)
        if !self.isPresent, let write, try transaction.isMissing(write) { throw .compacted }
        return write
    }

    /// The write in force for a property, be its content here or missing; nil if it has none.
    ///
    /// Throws `compacted` if it may be one that was dropped.
    /// - Complexity: O(log *n* + *k*) for *k* later writes that do not count; there are none if a time is asked for.
    package mutating func lastWrite(
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> WriteReference? {
        if self.isPresent { return try transaction.register(key)?.winner }
        let last = try self.lastWrites(at: key, through: self.view.lastStamp, in: &transaction)
            .max { WriteOrder.precedes($0, $1, transaction) }
        try transaction.requireKept(last, at: key, in: self.view)
        return last
    }

    /// The writes to a property between two stamps, as far as they are kept, the last first.
    ///
    /// - Complexity: O(*n* log *m*) for *n* of them; there are `Limits.undoPassedCountMax` at most.
    package mutating func writes(
        at key: RegisterKey,
        from first: Stamp,
        through last: Stamp,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [WriteReference] {
        var (found, bound): ([WriteReference], Stamp) = ([], last)
        while found.count < Limits.undoPassedCountMax {
            let group = try self.lastWrites(at: key, through: bound, in: &transaction)
            guard let stamp = group.first?.stamp, stamp >= first else { break }
            found += group.sorted { WriteOrder.precedes($1, $0, transaction) }
            guard stamp > .zero else { break }
            bound = Stamp(rawValue: stamp.rawValue - 1)
        }
        return found
    }

    /// Of the writes to a property up to a stamp, those with the highest that any has, the last of each change.
    private func lastWrites(
        at key: RegisterKey,
        through bound: Stamp,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [WriteReference] {
        var found = try transaction.lastWrites(at: key, through: bound, where: self.view.counts)
        // Along a segment, later writes come after earlier ones.
        for end in self.view.unmerged {
            var sequence = end.sequence
            while let last = try transaction.lastUnmerged(at: key, on: end.segment, upTo: sequence) {
                let write = try transaction.write(of: last)
                let highest = found.first?.stamp ?? .zero
                if write.stamp <= bound {
                    if write.stamp > highest { found.removeAll() }
                    if write.stamp >= highest { found.append(write) }
                    break
                }
                sequence = last.sequence - 1
            }
        }
        return found
    }

    /// The operations on an object that count and are on branches which are not merged.
    func unmergedOperations(
        on object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [UnmergedOperation] {
        guard !self.view.unmerged.isEmpty else { return [] }
        return try transaction.unmergedOperations(on: object).filter(self.view.counts)
    }

    /// Those of them of one kind.
    func unmerged(
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
    package mutating func value(
        at key: RegisterKey,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Value? {
        guard let write = try self.write(at: key, in: &transaction) else { return nil }
        if case .set(_, _, let value) = try transaction.edit(write) { return value }
        return nil
    }

    /// All properties of an object, in no particular order.
    package mutating func properties(
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

    /// The properties that an object has or had, in no particular order.
    package func names(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [NameIndex] {
        var names = try transaction.registers(of: object).map(\.0)
        var known = Set(names)
        // Of some, nothing may be here but that there was something.
        for name in try transaction.namesWithRedactedWrites(of: object) where known.insert(name).inserted {
            names.append(name)
        }
        let added = Set(try self.unmergedOperations(on: object, in: &transaction).map(\.key.name))
        names += added.filter { !known.contains($0) && $0 != .lifetime && $0 != .place }
            .sorted { $0.rawValue < $1.rawValue }
        return names
    }

    // MARK: - The hierarchy

    /// Where an object stood; the root if it had not been moved.
    package mutating func place(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Place {
        if self.isPresent {
            return try transaction.look(at: object) { Place(parent: $0.parent, position: $0.position) }
        }
        if let known = self.places[object] { return known }
        self.trim()
        if self.view.seen != nil {
            try self.replay(object, in: &transaction)
        } else {
            let move = try transaction.lastEffectiveMove(of: object, through: self.view.lastStamp)
            self.places[object] = Place(parent: move?.parent, position: move?.position ?? .initial)
        }
        return self.places[object] ?? Place(parent: nil, position: .initial)
    }

    /// All moves of an object that the view has, with the effect that they have there, in no particular order.
    package mutating func moves(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [MoveRecord] {
        if self.view.isPresent { return try transaction.moves(of: object) }
        if let known = self.replayed[object] { return known }
        self.trim()
        try self.replay(object, in: &transaction)
        return self.replayed[object] ?? []
    }

    /// The last move of an object that counts and has effect; nil if there is none.
    ///
    /// - Complexity: O(*n* log *n*) in the moves of the object.
    package mutating func lastMove(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> MoveRecord? {
        try self.moves(of: object, in: &transaction).filter(\.isEffective)
            .max { WriteOrder.precedes($0.write, $1.write, transaction) }
    }

    private mutating func trim() {
        guard self.places.count >= Self.keptCountMax else { return }
        self.places.removeAll(keepingCapacity: true)
        self.replayed.removeAll(keepingCapacity: true)
    }

    /// Does the moves of an object again, with those of all that they put it below.
    ///
    /// Everything that was ever above something whose moves are known is known too. So an object that is not known was
    /// never above one that is: moves below what is known close no cycle, and one need not look further up.
    /// - Complexity: O(*n* log *n* + *m* *d*) for *n* moves, *m* of them of something that has something below it, and
    ///   *d* levels that are not known.
    private mutating func replay(
        _ object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var moves: [MoveRecord] = []
        var (met, waiting): (Set<ObjectIndex>, [ObjectIndex]) = ([object], [object])
        while let next = waiting.popLast() {
            var found = try transaction.moves(of: next).filter { self.view.counts($0.write) }
            found += try self.unmergedMoves(of: next, in: &transaction)
            moves += found
            for case let parent? in found.map(\.parent) where self.replayed[parent] == nil {
                if met.insert(parent).inserted { waiting.append(parent) }
            }
        }
        moves.sort { WriteOrder.precedes($0.write, $1.write, transaction) }
        var (places, parents): ([ObjectIndex: Place], Set<ObjectIndex>) = ([:], [])
        for object in met { self.replayed[object] = [] }
        for var move in moves {
            // What has nothing below it closes no cycle.
            var above = parents.contains(move.object) || move.parent == move.object ? move.parent : nil
            while let next = above, next != move.object { above = places[next]?.parent }
            move.isEffective = above == nil
            if move.isEffective {
                places[move.object] = Place(parent: move.parent, position: move.position)
                if let parent = move.parent { parents.insert(parent) }
            }
            self.replayed[move.object]?.append(move)
        }
        for object in met { self.places[object] = places[object] ?? Place(parent: nil, position: .initial) }
    }

    private func unmergedMoves(
        of object: ObjectIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [MoveRecord] {
        var moves: [MoveRecord] = []
        for write in try self.unmerged(.move, of: object, in: &transaction) {
            guard case .move(_, let place) = try transaction.edit(write) else { continue }
            var parent: ObjectIndex?
            if let id = place.parent { parent = try transaction.objectIndex(of: id, by: write.segment) }
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
