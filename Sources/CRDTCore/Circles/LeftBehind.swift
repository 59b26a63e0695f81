/// What was written to an object in a circle that somebody moved it from meanwhile, neither knowing of the other.
///
/// It has its effect where the object was, and who reads both circles sees the object where it was moved to. There it
/// competes with what is in force, as a concurrent write does, until somebody writes that again.
package struct LeftWrite: Hashable, Sendable {
    /// The object in the other circle.
    package var object: ObjectIndex
    /// The one that shows.
    package var shown: ObjectIndex
    /// The name of the property; `NameIndex.place` for a move.
    package var name: NameIndex
    package var write: WriteReference
    /// Whether it is in force in the other circle.
    package var isInForce: Bool
    /// Whether it is later than what shows, and says something else, so that it competes with that.
    package var isLater = true

    /// What changes that carry over name as the program that made them.
    ///
    /// No program calls itself that, so nobody's undo takes them for what he did last.
    package static let label = "peerd: carried over"
}

extension CircleReading {
    /// Whether an object that is hidden was moved to where another one with its id shows, and is no copy of that.
    package mutating func wasMoved(_ hidden: ObjectIndex, to shown: ObjectIndex) throws(StoreError) -> Bool {
        guard let mover = self.creator(of: try self.object(shown)) else { return false }
        return try self.deleters(of: hidden)[mover] != nil
    }
}

extension StoreTransaction {
    /// Every object that shows, and that was moved to where it shows so that something may have been left behind.
    ///
    /// `objects`: those that are looked at; nil for all.
    package mutating func contestedObjects(of objects: Set<ObjectIndex>? = nil) throws(StoreError) -> [LeftBehind] {
        guard self.circles.count > 1 else { return [] }
        var found: [LeftBehind] = []
        let contested = try self.currentOverlay().contested
        let looked = objects.map { $0.filter(contested.contains) } ?? contested
        for shown in looked.sorted(by: { $0.rawValue < $1.rawValue }) {
            let left = try LeftBehind(shown, in: &self)
            if !left.departed.isEmpty { found.append(left) }
        }
        return found
    }

    /// All that was left behind of an object that shows.
    package mutating func leftWrites(behind shown: ObjectIndex) throws(StoreError) -> [LeftWrite] {
        guard self.circles.count > 1, try self.currentOverlay().contested.contains(shown) else { return [] }
        let left = try LeftBehind(shown, in: &self)
        return try left.writes(in: &self)
    }
}

/// What is left of an object in the circles that it was moved from.
package struct LeftBehind {
    /// The object that shows.
    package let shown: ObjectIndex
    /// Those in other circles that it was moved from.
    package var departed: [ObjectIndex] { self.departures.keys.sorted { $0.rawValue < $1.rawValue } }

    /// All objects with the id, the changes that made each, and its deletions by device, in the order of stamps.
    private let objects: [ObjectIndex]
    private var creations: [ObjectIndex: Set<SegmentPoint>] = [:]
    private var deletions: [ObjectIndex: [DeviceID: [WriteReference]]] = [:]
    private var departures: [ObjectIndex: Departure] = [:]

    /// How many creations and deletions were read.
    package var rowCount: Int {
        self.creations.values.reduce(0) { $0 + $1.count }
            + self.deletions.values.reduce(0) { count, byDevice in byDevice.values.reduce(count) { $0 + $1.count } }
    }

    /// Why what was written to an object in another circle matters where it shows.
    private enum Departure {
        /// Who made it where it shows had deleted it there, and when.
        case moved([WriteReference])
        /// Its user moved it to both, on two machines at once.
        case twice
    }

    /// Deletions of which the latest are looked at.
    private static let departureCountMax = 64
    /// Versions of a property that are looked at to find the one that was carried over.
    private static let versionCountMax = 64

    /// - Complexity: O(*n* log *n*) for *n* creations and deletions of the id.
    init(_ shown: ObjectIndex, in rows: inout some StoreTransaction) throws(StoreError) {
        self.shown = shown
        self.objects = try rows.objects(of: rows.object(shown).id)
        for object in self.objects {
            self.creations[object] = try rows.creationPoints(of: object)
            var deletions: [DeviceID: [WriteReference]] = [:]
            for write in try rows.deletions(of: object) {
                if let device = rows.segment(write.segment).device { deletions[device, default: []].append(write) }
            }
            self.deletions[object] = deletions.mapValues { $0.sorted { $0.stamp < $1.stamp } }
        }
        // What lies beside others is no place that an object is moved from.
        for object in self.objects where object != shown {
            guard try !rows.circles[rows.object(object).circle].isBeside else { continue }
            self.departures[object] = try self.departure(of: object, in: &rows)
        }
    }

    private func departure(
        of object: ObjectIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> Departure? {
        guard let mover = rows.creator(of: try rows.object(self.shown)) else { return nil }
        let deletions = self.deletions[object]?.values.joined().filter {
            rows.segment($0.segment).introduction?.user == mover
        }
        if let deletions, !deletions.isEmpty { return .moved(Self.last(of: deletions, in: rows)) }
        guard rows.creator(of: try rows.object(object)) == mover else { return nil }
        let way = try self.way(to: self.shown, in: &rows)
        for (former, deletion) in try self.way(to: object, in: &rows) {
            guard let other = way[former], try !rows.authorContext(of: deletion).covers(other) else { continue }
            if try !rows.authorContext(of: other).covers(deletion) { return .twice }
        }
        return nil
    }

    /// The last of some deletions, the latest first.
    ///
    /// Earlier ones count as well: who deletes what is left of an object, where it does not show, decides nothing about
    /// what others had written there.
    private static func last(of deletions: [WriteReference], in rows: some StoreTransaction) -> [WriteReference] {
        Array(deletions.sorted { WriteOrder.precedes($1, $0, rows) }.prefix(Self.departureCountMax))
    }

    /// The deletions by which an object came to be where it is, each with the object that it was before.
    private func way(
        to object: ObjectIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> [ObjectIndex: WriteReference] {
        var (way, current): ([ObjectIndex: WriteReference], ObjectIndex) = ([:], object)
        while let creation = try rows.look(at: current, { $0.creation?.write }) {
            let device = rows.segment(creation.segment).device
            var nearest: (former: ObjectIndex, deletion: WriteReference)?
            for former in self.objects where former != current && way[former] == nil {
                guard let deletion = self.deletion(of: former, by: device, after: creation) else { continue }
                if nearest.map({ deletion.stamp < $0.deletion.stamp }) ?? true { nearest = (former, deletion) }
            }
            guard let nearest else { break }
            way[nearest.former] = nearest.deletion
            current = nearest.former
        }
        return way
    }

    /// The deletion of an object right after a write to another one, by which a device moved it.
    private func deletion(
        of former: ObjectIndex,
        by device: DeviceID?,
        after write: WriteReference
    ) -> WriteReference? {
        guard let device, let all = self.deletions[former]?[device] else { return nil }
        let place = all.firstPosition { $0.stamp >= write.stamp }
        return place < all.count ? all[place] : nil
    }

    /// Whether a write to an object is one that whoever moved it had not seen.
    ///
    /// An undo or a redo by somebody who knew that it was moved wants it there.
    private func isApart(
        _ write: WriteReference,
        to object: ObjectIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        switch self.departures[object] {
        case nil: return false
        case .twice: return try !rows.look(at: object) { $0.existence.hasRemoved(write) }
        case .moved(let deletions):
            let known = try rows.authorContext(of: write)
            var (isBeyondAll, isKnown) = (true, false)
            for deletion in deletions {
                if try rows.authorContext(of: deletion).covers(write) {
                    isBeyondAll = false
                } else if known.covers(deletion) {
                    isKnown = true
                } else {
                    return true
                }
            }
            // Who knew that it was moved need not have seen where to; who takes something back wants it there.
            if !isBeyondAll || !isKnown { return false }
            return try rows.undo(at: write.point) == nil
        }
    }

    /// Whether all that keeps an object alive in another circle is one user's, who knew nothing of its move.
    package func isLeft(
        _ object: ObjectIndex,
        by user: UserID,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        // Of two that were made at once, other machines may think that the other one is to go.
        guard case .moved = self.departures[object] else { return false }
        let living = try rows.look(at: object) { $0.existence.entries.filter { $0.touched > $0.removed } }
        for entry in living {
            guard rows.segment(entry.segment).introduction?.user == user else { return false }
            let touch = WriteReference(
                stamp: .zero,
                segment: entry.segment,
                sequence: entry.touched.sequence,
                index: entry.touched.index
            )
            guard try self.isApart(touch, to: object, in: &rows) else { return false }
        }
        return !living.isEmpty
    }

    /// The move that put something below an object that was moved meanwhile, neither knowing of the other; nil if there
    /// is no such move in force.
    package func move(
        of child: ObjectIndex,
        below object: ObjectIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> WriteReference? {
        guard let move = try rows.moveInForce(of: child), move.parent == object else { return nil }
        if case .twice = self.departures[object] { return move.write }
        return try self.isApart(move.write, to: object, in: &rows) ? move.write : nil
    }

    /// What was left behind in all circles that it was moved from.
    package func writes(in rows: inout some StoreTransaction) throws(StoreError) -> [LeftWrite] {
        var left: [LeftWrite] = []
        for object in self.departed { left += try self.writes(on: object, in: &rows) }
        return left
    }

    /// What was left behind on an object in another circle than the one where it shows: writes in force there, or in
    /// conflict, that are later than what is in force where it shows, and say something else.
    ///
    /// What a move itself has written counts as old as what it took along.
    /// - Complexity: O(*n* log *m*) for *n* properties.
    package func writes(
        on object: ObjectIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> [LeftWrite] {
        var left: [LeftWrite] = []
        for (name, register) in try rows.registers(of: object) {
            var writes = [register.winner]
            if register.conflictCount > 0 {
                writes += try rows.conflicts(at: RegisterKey(object: object, name: name))
            }
            // What took it away from there decided nothing about what was written there meanwhile.
            var inForce: WriteReference? = register.winner
            let property = CoveredProperty(name: name, places: self.objects)
            if rows.circles.hasBeside, try property.tookAlong(register.winner, at: object, in: &rows) {
                inForce = writes.dropFirst().max { WriteOrder.precedes($0, $1, rows) }
            }
            // What is hidden shows from beside, and is as old as what was hidden.
            let hidden = try rows.circles.hasBeside ? rows.besides(self.shown, holding: name).first : nil
            let standing = try rows.register(RegisterKey(object: hidden ?? self.shown, name: name))?.winner
            for write in writes where try self.isApart(write, to: object, in: &rows) {
                guard try rows.saysOther(write, than: standing),
                    try self.isLater(write, of: name, on: object, than: standing, at: hidden ?? self.shown, in: &rows)
                else { continue }
                left.append(
                    LeftWrite(
                        object: object,
                        shown: self.shown,
                        name: name,
                        write: write,
                        isInForce: write == inForce
                    )
                )
            }
        }
        guard let move = try rows.moveInForce(of: object), try self.isApart(move.write, to: object, in: &rows),
            try self.leadsElsewhere(move, in: &rows)
        else { return left }
        let standing = try rows.moveInForce(of: self.shown)?.write
        if try self.isLater(move.write, of: .place, on: object, than: standing, at: self.shown, in: &rows) {
            left.append(
                LeftWrite(object: object, shown: self.shown, name: .place, write: move.write, isInForce: true)
            )
        }
        return left
    }

    /// Whether a move puts an object elsewhere than it stands where it shows.
    private func leadsElsewhere(
        _ move: MoveRecord,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        let record = try rows.object(self.shown)
        // Where that stands among the things of the base is said there.
        let base = rows.circles.base
        if record.circle != base, record.parent == nil, try rows.object(move.object).circle == base { return false }
        let parents = try [move.parent, record.parent].map { parent throws(StoreError) in
            try parent.map { above throws(StoreError) in try rows.object(above).id }
        }
        return parents[0] != parents[1] || move.position != record.position
    }

    // MARK: - How old things are that were moved

    private func isLater(
        _ write: WriteReference,
        of name: NameIndex,
        on object: ObjectIndex,
        than standing: WriteReference?,
        at place: ObjectIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard let standing else { return true }
        let known = try self.age(of: standing, of: name, on: place, in: &rows)
        return try known < self.age(of: write, of: name, on: object, in: &rows)
    }

    /// The stamp of a write; of one by which a move to another circle took something along, or a hide to one beside it,
    /// or by which somebody carried over what was left behind, that of what it took.
    func age(
        of write: WriteReference,
        of name: NameIndex,
        on object: ObjectIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> Stamp {
        var (write, object) = (write, object)
        let property = CoveredProperty(name: name, places: self.objects)
        let mayBeHidden = name != .place && rows.circles.hasBeside
        // Each step goes back in time, to another circle.
        for _ in 0..<Self.versionCountMax {
            if mayBeHidden, let hidden = try property.former(of: write, at: object, in: &rows) {
                (write, object) = hidden
            } else if let former = try self.former(of: write, of: name, on: object, in: &rows) {
                (write, object) = former
            } else if let carried = try self.carried(by: write, of: name, on: object, in: &rows) {
                (write, object) = carried
            } else {
                break
            }
        }
        return write.stamp
    }

    /// What a move to another circle took along as a write to an object there; nil if the write is none of a move.
    private func former(
        of write: WriteReference,
        of name: NameIndex,
        on object: ObjectIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> (WriteReference, ObjectIndex)? {
        guard try self.isPartOfMove(write, of: name, on: object, in: &rows) else { return nil }
        let device = rows.segment(write.segment).device
        for former in self.objects where former != object {
            guard let deletion = self.deletion(of: former, by: device, after: write) else { continue }
            let context = try rows.authorContext(of: deletion)
            let known: WriteReference?
            if name == .place {
                known = try rows.moves(of: former).map(\.write).filter { context.covers($0) }
                    .max { WriteOrder.precedes($0, $1, rows) }
            } else {
                let key = RegisterKey(object: former, name: name)
                known = try rows.lastWrites(at: key, through: deletion.stamp) { context.covers($0) }.first
                if known == nil, let dropped = try self.lastDropped(at: key, before: deletion, in: &rows),
                    dropped.stamp < write.stamp
                {
                    return (dropped, former)
                }
            }
            guard let known, known.stamp < write.stamp else { continue }
            // What says something else was deleted there as well, and did not come from there.
            let isDropped = try rows.edit(known).map { $0.kind == .redacted } ?? true
            if name == .place || isDropped { return (known, former) }
            if try !rows.saysOther(write, than: known) { return (known, former) }
        }
        return nil
    }

    /// The last write to a property that was dropped, so that nothing more is known of it than how old it is at most.
    private func lastDropped(
        at key: RegisterKey,
        before deletion: WriteReference,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> WriteReference? {
        try rows.redactedWrites(at: key).filter { $0.lastStamp < deletion.stamp }
            .map { WriteReference(stamp: $0.lastStamp, segment: $0.segment, sequence: $0.last, index: 0) }
            .max { WriteOrder.precedes($0, $1, rows) }
    }

    /// What somebody carried over as a write to an object; nil if the write is none of those.
    private func carried(
        by write: WriteReference,
        of name: NameIndex,
        on object: ObjectIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> (WriteReference, ObjectIndex)? {
        guard name != .place, try rows.isCarriedOver(at: write.point) else { return nil }
        var found: (write: WriteReference, object: ObjectIndex)?
        for other in self.objects where other != object {
            let key = RegisterKey(object: other, name: name)
            var through = write.stamp
            for _ in 0..<Self.versionCountMax {
                guard let known = try rows.lastWrites(at: key, through: through, where: { _ in true }).first else {
                    break
                }
                if try !rows.saysOther(known, than: write) {
                    if found.map({ $0.write.stamp < known.stamp }) ?? true { found = (known, other) }
                    break
                }
                guard known.stamp.rawValue > 0 else { break }
                through = Stamp(rawValue: known.stamp.rawValue - 1)
            }
        }
        return found
    }

    /// Whether a write was made as its object was moved from another circle, by whoever moved it and not for its own
    /// sake.
    private func isPartOfMove(
        _ write: WriteReference,
        of name: NameIndex,
        on object: ObjectIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard self.creations[object]?.contains(write.point) ?? false else { return false }
        guard name == .place, case .move(_, let place) = try rows.edit(write), let id = place.parent else {
            return true
        }
        // What is put below something that did not come along was put there on purpose.
        guard let parent = try rows.existingObjectIndex(of: id, in: rows.object(object).circle) else { return false }
        return try rows.creationPoints(of: parent).contains(write.point)
    }
}

extension StoreTransaction {
    /// The changes that created an object: the one that counts need not be recorded beside it.
    mutating func creationPoints(of object: ObjectIndex) throws(StoreError) -> Set<SegmentPoint> {
        var points = Set(try self.creations(of: object).map(\.point))
        if let counting = try self.look(at: object, { $0.creation?.write.point }) { points.insert(counting) }
        return points
    }

    /// Whether the content of a write to a property is here, and another than that of a second one, if there is one.
    mutating func saysOther(
        _ write: WriteReference,
        than standing: WriteReference?
    ) throws(StoreError) -> Bool {
        switch (try self.edit(write), try standing.map { other throws(StoreError) in try self.edit(other) }) {
        case (.set(_, _, let value), .set(_, _, let other)): value != other
        case (.set, _): true
        case (.unset, .unset), (.unset, nil): false
        case (.unset, _): true
        default: false
        }
    }
}
