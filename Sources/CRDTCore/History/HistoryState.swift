/// The state of objects in a view of their history, for everything that reads the state of a store.
///
/// - Complexity: In the present, that of the store. Else each function costs what it reads, and for each property
///   O(log *n*) in its writes. Lists of all objects look at all that ever were, and the children of a parent at all
///   that ever stood there.
package struct HistoryState<Rows: StoreTransaction>: CircleReading {
    private var rows: Rows
    private let found: Found
    /// Whether the store shows it by itself.
    package let isPresent: Bool
    /// The circle whose objects are meant by ids.
    private let circle: CircleIndex

    private static var keptChildCountMax: Int { 1 << 16 }

    /// What was found already; copies of a state share it.
    private final class Found {
        var history: History
        /// The children of some parents in their order, so that reading them page by page finds them once.
        var families: [ObjectIndex?: [(place: SiblingPlace, object: ObjectIndex)]] = [:]
        var keptChildCount = 0
        /// What is missing of the object whose properties were read last.
        var missing: (object: ObjectIndex, names: [NameIndex])?

        init(_ history: History) { self.history = history }
    }

    package init(_ view: HistoryView, of rows: Rows, in circle: CircleIndex = .home) {
        (self.rows, self.circle) = (rows, circle)
        self.found = Found(History(view))
        self.isPresent = view.isPresent
    }

    package var circles: CircleTable { self.rows.circles }
    package var segmentCount: Int { self.rows.segmentCount }
    package func segment(_ index: SegmentIndex) -> SegmentRecord { self.rows.segment(index) }
    package func progress(of index: SegmentIndex) -> SegmentProgress { self.rows.progress(of: index) }

    package mutating func existingObjectIndex(
        of id: ObjectID,
        in circle: CircleIndex
    ) throws(StoreError) -> ObjectIndex? {
        try self.rows.existingObjectIndex(of: id, in: circle)
    }

    package mutating func existingObjectIndex(of id: ObjectID) throws(StoreError) -> ObjectIndex? {
        try self.rows.existingObjectIndex(of: id, in: self.circle)
    }

    package mutating func objects(of id: ObjectID) throws(StoreError) -> [ObjectIndex] {
        try self.rows.objects(of: id)
    }

    package mutating func isAlive(_ object: ObjectIndex) throws(StoreError) -> Bool {
        try self.found.history.isAlive(object, in: &self.rows)
    }

    package mutating func deleters(of object: ObjectIndex) throws(StoreError) -> [UserID: Stamp] {
        let history = self.found.history
        let deletions = try history.deletions(of: object, in: &self.rows)
        return try self.rows.deleters(deletions, history.creations(of: object, in: &self.rows))
    }

    /// What shows otherwise to who reads all circles.
    mutating func overlay() throws(StoreError) -> CircleOverlay {
        guard self.isPresent else { return try CircleOverlay(in: &self, shown: self.visibleObjects()) }
        return try self.rows.currentOverlay()
    }

    /// What stands elsewhere than its circle says.
    mutating func mounts(_ overlay: CircleOverlay) throws(StoreError) -> CircleMounts {
        guard self.isPresent else { return try CircleMounts(overlay, in: &self) }
        return try self.rows.currentMounts()
    }

    /// Of the past nobody asks.
    package mutating func leftWrites(behind shown: ObjectIndex) throws(StoreError) -> [LeftWrite] {
        self.isPresent ? try self.rows.leftWrites(behind: shown) : []
    }

    package mutating func existingNameIndex(of name: String) throws(StoreError) -> NameIndex? {
        try self.rows.existingNameIndex(of: name)
    }

    package mutating func name(_ index: NameIndex) throws(StoreError) -> String { try self.rows.name(index) }

    package mutating func object(_ index: ObjectIndex) throws(StoreError) -> ObjectRecord {
        if self.isPresent { return try self.rows.object(index) }
        var record = try self.rows.look(at: index) { ObjectRecord(id: $0.id, circle: $0.circle) }
        record.creation = try self.found.history.creation(of: index, in: &self.rows)
        let place = try self.found.history.place(of: index, in: &self.rows)
        (record.parent, record.position) = (place.parent, place.position)
        record.isVisible = try self.found.history.isVisible(index, in: &self.rows)
        return record
    }

    package mutating func parent(of index: ObjectIndex) throws(StoreError) -> ObjectIndex? {
        try self.found.history.place(of: index, in: &self.rows).parent
    }

    package mutating func visibleChildCount(of index: ObjectIndex) throws(StoreError) -> Int {
        if self.isPresent { return try self.rows.visibleChildCount(of: index) }
        return try self.visibleChildren(of: index, after: nil, limit: .max).count
    }

    package mutating func showsAnything(below index: ObjectIndex) throws(StoreError) -> Bool {
        if self.isPresent { return try self.rows.showsAnything(below: index) }
        return try !self.visibleChildren(of: index, after: nil, limit: 1).isEmpty
    }

    package mutating func lastUpdate(of index: ObjectIndex) throws(StoreError) -> Stamp {
        try self.found.history.lastUpdate(of: index, in: &self.rows)
    }

    package mutating func properties(of object: ObjectIndex) throws(StoreError) -> [(name: String, value: Value)] {
        if self.isPresent { return try self.rows.properties(of: object) }
        var (found, missing): ([(name: String, value: Value)], [NameIndex]) = ([], [])
        for name in try self.found.history.names(of: object, in: &self.rows) {
            do throws(StoreError) {
                let key = RegisterKey(object: object, name: name)
                guard let value = try self.found.history.value(at: key, in: &self.rows) else { continue }
                found.append((try self.rows.name(name), value))
            } catch {
                guard error == .compacted, self.found.history.view.namesMissing else { throw error }
                missing.append(name)
            }
        }
        self.found.missing = (object, missing)
        return found
    }

    package mutating func missingProperties(of object: ObjectIndex) throws(StoreError) -> [String] {
        if self.isPresent { return try self.rows.missingProperties(of: object) }
        guard self.found.history.view.namesMissing else { return [] }
        if self.found.missing?.object != object { _ = try self.properties(of: object) }
        var names: [String] = []
        for name in self.found.missing?.names ?? [] { names.append(try self.rows.name(name)) }
        return names
    }

    package mutating func value(of name: NameIndex, on object: ObjectIndex) throws(StoreError) -> Value? {
        if self.isPresent { return try self.rows.value(of: name, on: object) }
        return try self.found.history.value(at: RegisterKey(object: object, name: name), in: &self.rows)
    }

    package mutating func children(of parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex] {
        if self.isPresent { return try self.rows.children(of: parent) }
        return try self.family(of: parent).map(\.object)
    }

    package mutating func visibleChildren(
        of parent: ObjectIndex?,
        after last: SiblingPlace?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex] {
        if self.isPresent { return try self.rows.visibleChildren(of: parent, after: last, limit: limit) }
        let family = try self.family(of: parent)
        let start = last.map { last in family.firstPosition { last < $0.place } } ?? 0
        var found: [ObjectIndex] = []
        for child in family[start...] where found.count < limit {
            if try self.found.history.isVisible(child.object, in: &self.rows) { found.append(child.object) }
        }
        return found
    }

    package mutating func visibleChild(
        of parent: ObjectIndex?,
        before place: SiblingPlace
    ) throws(StoreError) -> ObjectIndex? {
        if self.isPresent { return try self.rows.visibleChild(of: parent, before: place) }
        let family = try self.family(of: parent)
        for child in family[..<family.firstPosition(where: { place <= $0.place })].reversed()
        where try self.found.history.isVisible(child.object, in: &self.rows) {
            return child.object
        }
        return nil
    }

    package mutating func lastPosition(under parent: ObjectIndex?) throws(StoreError) -> Position? {
        if self.isPresent { return try self.rows.lastPosition(under: parent) }
        return try self.family(of: parent).last?.place.position
    }

    private mutating func family(
        of parent: ObjectIndex?
    ) throws(StoreError) -> [(place: SiblingPlace, object: ObjectIndex)] {
        if let known = self.found.families[parent] { return known }
        let family = try self.found.history.placedChildren(of: parent, in: &self.rows)
        self.found.keptChildCount += family.count + 1
        if self.found.keptChildCount > Self.keptChildCountMax {
            self.found.families.removeAll(keepingCapacity: true)
            self.found.keptChildCount = family.count + 1
        }
        self.found.families[parent] = family
        return family
    }

    package mutating func visibleObjects() throws(StoreError) -> [ObjectIndex] {
        if self.isPresent { return try self.rows.visibleObjects() }
        return try self.visibleObjects(after: nil, limit: .max)
    }

    package mutating func visibleObjects(after id: ObjectID?, limit: Int) throws(StoreError) -> [ObjectIndex] {
        if self.isPresent { return try self.rows.visibleObjects(after: id, limit: limit) }
        var found: [ObjectIndex] = []
        var last = id.map { CircledObjectID($0, in: CircleIndex(rawValue: .max)) }
        while found.count < limit {
            let page = try self.rows.knownObjects(after: last, limit: History.pageCount)
            for object in page where found.count < limit {
                if try self.found.history.isVisible(object, in: &self.rows) { found.append(object) }
            }
            guard page.count == History.pageCount, let end = page.last else { break }
            last = try self.rows.look(at: end) { CircledObjectID($0.id, in: $0.circle) }
        }
        return found
    }

    package mutating func visibleObjects(
        of type: NameIndex,
        after id: ObjectID?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex] {
        if self.isPresent { return try self.rows.visibleObjects(of: type, after: id, limit: limit) }
        return try self.scanVisibleObjects(of: type, after: id, limit: limit)
    }
}
