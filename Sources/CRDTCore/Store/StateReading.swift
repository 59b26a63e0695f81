/// The state of objects at one point, as queries, exports and plans read it.
///
/// A store shows the state that it has; a `HistoryState` shows an earlier one, or that of a branch. So whatever reads
/// through this protocol can read the past.
package protocol StateReading {
    var segmentCount: Int { get }
    func segment(_ index: SegmentIndex) -> SegmentRecord
    func progress(of index: SegmentIndex) -> SegmentProgress

    /// The number of an object of a circle that is known, whether it shows or not.
    mutating func existingObjectIndex(of id: ObjectID, in circle: CircleIndex) throws(StoreError) -> ObjectIndex?
    /// That of the one that an id means where no circle is named.
    mutating func existingObjectIndex(of id: ObjectID) throws(StoreError) -> ObjectIndex?
    /// The number of a name that is known.
    mutating func existingNameIndex(of name: String) throws(StoreError) -> NameIndex?
    mutating func name(_ index: NameIndex) throws(StoreError) -> String

    /// What an object was: id, creation, place, and whether it showed. A state may leave the other fields empty.
    mutating func object(_ index: ObjectIndex) throws(StoreError) -> ObjectRecord
    /// Where it stood alone; nil for the root.
    mutating func parent(of index: ObjectIndex) throws(StoreError) -> ObjectIndex?
    /// How many objects show directly below one.
    mutating func visibleChildCount(of index: ObjectIndex) throws(StoreError) -> Int
    /// Whether any does.
    mutating func showsAnything(below index: ObjectIndex) throws(StoreError) -> Bool
    /// The highest stamp of an operation on an object.
    mutating func lastUpdate(of index: ObjectIndex) throws(StoreError) -> Stamp

    /// The properties in force of an object, in no particular order.
    mutating func properties(of object: ObjectIndex) throws(StoreError) -> [(name: String, value: Value)]
    /// The value in force of one property; nil if there is none.
    mutating func value(of name: NameIndex, on object: ObjectIndex) throws(StoreError) -> Value?

    /// The names of the properties in force of an object whose values are not here, in ascending order.
    ///
    /// They have a value, or are removed: whoever reads a state to write it back must leave them as they are. Of a
    /// state of the past, or of a branch, `properties(of:)` and `value(of:on:)` throw `compacted` instead.
    mutating func missingProperties(of object: ObjectIndex) throws(StoreError) -> [String]

    /// Objects whose place is under `parent` (nil: the root), visible or not, ordered by position and then id.
    mutating func children(of parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex]
    /// Some of what shows under a parent (nil: the root) in its order, from behind one on.
    mutating func visibleChildren(
        of parent: ObjectIndex?,
        after last: SiblingPlace?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex]
    /// The last that shows under a parent (nil: the root) before a place in its order; nil if there is none.
    mutating func visibleChild(of parent: ObjectIndex?, before place: SiblingPlace) throws(StoreError) -> ObjectIndex?
    /// The highest position of an object whose place is under `parent`; nil if there is none.
    mutating func lastPosition(under parent: ObjectIndex?) throws(StoreError) -> Position?
    /// Every visible object, in ascending order of ids.
    mutating func visibleObjects() throws(StoreError) -> [ObjectIndex]
    /// Some of them, from behind an id on.
    mutating func visibleObjects(after id: ObjectID?, limit: Int) throws(StoreError) -> [ObjectIndex]
    /// The same for objects of one type.
    mutating func visibleObjects(
        of type: NameIndex,
        after id: ObjectID?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex]
}

extension StateReading {
    /// All segments, in the order in which they became known.
    ///
    /// It is a new list each time: what is asked for with every write counts up to `segmentCount` instead.
    package var segmentIndices: [SegmentIndex] { (0..<UInt32(self.segmentCount)).map { SegmentIndex(rawValue: $0) } }

    /// The latest effective stamp of all that is applied.
    package var latestAppliedStamp: Stamp {
        (0..<UInt32(self.segmentCount)).reduce(.zero) { latest, number in
            max(latest, self.progress(of: SegmentIndex(rawValue: number)).appliedStamp)
        }
    }

    package mutating func visibleChildCount(of index: ObjectIndex) throws(StoreError) -> Int {
        Int(try self.object(index).visibleChildCount)
    }

    package mutating func showsAnything(below index: ObjectIndex) throws(StoreError) -> Bool {
        try self.visibleChildCount(of: index) > 0
    }

    package mutating func lastUpdate(of index: ObjectIndex) throws(StoreError) -> Stamp {
        try self.object(index).updated
    }

    package mutating func visibleChild(
        of parent: ObjectIndex?,
        before place: SiblingPlace
    ) throws(StoreError) -> ObjectIndex? {
        var found: ObjectIndex?
        for child in try self.children(of: parent) {
            let record = try self.object(child)
            guard SiblingPlace(position: record.position, id: record.id) < place else { return found }
            if record.isVisible { found = child }
        }
        return found
    }

    package mutating func lastPosition(under parent: ObjectIndex?) throws(StoreError) -> Position? {
        guard let last = try self.children(of: parent).last else { return nil }
        return try self.object(last).position
    }

    /// The value in force of one property, by its name; nil if there is none.
    package mutating func property(_ name: String, of object: ObjectIndex) throws(StoreError) -> Value? {
        guard let name = try self.existingNameIndex(of: name) else { return nil }
        return try self.value(of: name, on: object)
    }

    package mutating func visibleObjects(after id: ObjectID?, limit: Int) throws(StoreError) -> [ObjectIndex] {
        var found: [ObjectIndex] = []
        for object in try self.visibleObjects() where found.count < limit {
            if try id.map({ id throws(StoreError) in try id < self.object(object).id }) ?? true { found.append(object) }
        }
        return found
    }

    package mutating func visibleObjects(
        of type: NameIndex,
        after id: ObjectID?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex] {
        try self.scanVisibleObjects(of: type, after: id, limit: limit)
    }

    /// The same where no index says which objects are of a type.
    mutating func scanVisibleObjects(
        of type: NameIndex,
        after id: ObjectID?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex] {
        var (found, last): ([ObjectIndex], ObjectID?) = ([], id)
        while found.count < limit {
            let page = try self.visibleObjects(after: last, limit: Self.scanCount)
            for object in page where found.count < limit {
                let record = try self.object(object)
                if record.creation?.type == type { found.append(object) }
                last = record.id
            }
            if page.count < Self.scanCount { break }
        }
        return found
    }

    /// The number of objects that are looked at in one go then.
    private static var scanCount: Int { 512 }

    package mutating func visibleChildren(
        of parent: ObjectIndex?,
        after last: SiblingPlace?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex] {
        var found: [ObjectIndex] = []
        for child in try self.children(of: parent) where found.count < limit {
            let record = try self.object(child)
            let place = SiblingPlace(position: record.position, id: record.id)
            if record.isVisible, last.map({ $0 < place }) ?? true { found.append(child) }
        }
        return found
    }
}
