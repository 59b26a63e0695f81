/// What was written to a property where others read its object, while somebody hid it there; and what was written where
/// it was hidden, while somebody showed it again.
extension StoreTransaction {
    /// Every object that shows, and of which such a write may be in force, or in conflict.
    package mutating func coveredObjects() throws(StoreError) -> [ObjectIndex] {
        guard self.circles.hasBeside else { return [] }
        return try self.currentOverlay().covered.sorted { $0.rawValue < $1.rawValue }
    }

    /// The writes to properties of an object that shows in whose place something else shows.
    ///
    /// What was taken along as a property was hidden, or shown again, counts as old as it was.
    /// - Complexity: O(*n* log *m*) for *n* properties that are, or were, hidden.
    package mutating func coveredWrites(on shown: ObjectIndex) throws(StoreError) -> [LeftWrite] {
        guard self.circles.hasBeside, try self.currentOverlay().covered.contains(shown) else { return [] }
        let besides = try self.besides(shown)
        var (covered, known): ([LeftWrite], Set<NameIndex>) = ([], [])
        for beside in besides {
            for (name, _) in try self.registers(of: beside) where known.insert(name).inserted {
                let property = CoveredProperty(name: name, places: [shown] + besides)
                if let showing = try self.besides(shown, holding: name).first {
                    covered += try property.writes(to: shown, showing: showing, of: shown, in: &self)
                } else {
                    for other in besides {
                        covered += try property.writes(to: other, showing: shown, of: shown, in: &self)
                    }
                }
            }
        }
        return covered
    }

    /// Whether an object that shows has anything to look at for that.
    ///
    /// - Complexity: O(*n*) for *n* properties that are, or were, hidden.
    mutating func mayHaveCovered(on shown: ObjectIndex) throws(StoreError) -> Bool {
        for beside in try self.besides(shown) {
            for (name, register) in try self.registers(of: beside) {
                if register.conflictCount > 0 { return true }
                guard let own = try self.register(RegisterKey(object: shown, name: name)) else { continue }
                if own.conflictCount > 0 { return true }
                if try self.valueInCircle(of: name, on: shown) != nil { return true }
            }
        }
        return false
    }
}

/// A property of an object that is, or was, hidden.
struct CoveredProperty {
    let name: NameIndex
    /// The objects that may hold it: that which shows, and those beside it.
    let places: [ObjectIndex]

    /// Writes to a property in one place that are looked at to find one; and how often it went from one place to
    /// another.
    private static let lookedAtCountMax = 64

    /// The writes in one place that are later than that which shows from another one.
    func writes(
        to place: ObjectIndex,
        showing: ObjectIndex,
        of shown: ObjectIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> [LeftWrite] {
        let key = RegisterKey(object: place, name: self.name)
        guard let register = try rows.register(key) else { return [] }
        var writes = [register.winner]
        if register.conflictCount > 0 { writes += try rows.conflicts(at: key) }
        // What took it away from there decided nothing about what was written there meanwhile.
        var inForce: WriteReference? = register.winner
        if try self.tookAlong(register.winner, at: place, in: &rows) {
            inForce = writes.dropFirst().max { WriteOrder.precedes($0, $1, rows) }
        }
        let standing = try rows.register(RegisterKey(object: showing, name: self.name))?.winner
        let way = try LeftBehind(shown, in: &rows)
        let age = try standing.map { write throws(StoreError) in
            try way.age(of: write, of: self.name, on: showing, in: &rows)
        }
        var found: [LeftWrite] = []
        for write in writes {
            // What takes it away leaves nothing there.
            guard case .set = try rows.edit(write) else { continue }
            var left = LeftWrite(
                object: place,
                shown: shown,
                name: self.name,
                write: write,
                isInForce: write == inForce
            )
            left.isLater = try rows.saysOther(write, than: standing)
            if left.isLater, let age {
                left.isLater = try age < way.age(of: write, of: self.name, on: place, in: &rows)
            }
            found.append(left)
        }
        return found
    }

    /// What a write took along from another place, where its transaction has taken it away; nil if it did not.
    func former(
        of write: WriteReference,
        at place: ObjectIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> (WriteReference, ObjectIndex)? {
        for other in self.places where other != place {
            guard let taking = try self.partner(of: write, at: other, in: &rows) else { continue }
            guard case .unset = try rows.edit(taking) else { continue }
            let context = try rows.authorContext(of: taking)
            let key = RegisterKey(object: other, name: self.name)
            let taken = try rows.lastWrites(at: key, through: taking.stamp) { context.covers($0) }.first
            return taken.flatMap { $0.stamp < write.stamp ? ($0, other) : nil }
        }
        return nil
    }

    /// Whether a write has taken the property away from a place, and its transaction has set it in another one.
    func tookAlong(
        _ write: WriteReference,
        at place: ObjectIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard case .unset = try rows.edit(write) else { return false }
        for other in self.places where other != place {
            guard let setting = try self.partner(of: write, at: other, in: &rows) else { continue }
            if case .set = try rows.edit(setting) { return true }
        }
        return false
    }

    /// What the action of a write has written to the property in another place; nil for nothing.
    private func partner(
        of write: WriteReference,
        at place: ObjectIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) -> WriteReference? {
        guard let start = try rows.actionStart(of: write.point) else { return nil }
        let (device, key) = (rows.segment(write.segment).device, RegisterKey(object: place, name: self.name))
        var bound = Stamp(rawValue: .max)
        for _ in 0..<Self.lookedAtCountMax {
            let group = try rows.lastWrites(at: key, through: bound, where: { _ in true })
            guard let stamp = group.first?.stamp, stamp >= start, stamp > .zero else { return nil }
            for other in group where rows.segment(other.segment).device == device {
                if try rows.actionStart(of: other.point) == start { return other }
            }
            bound = Stamp(rawValue: stamp.rawValue - 1)
        }
        return nil
    }
}
