/// The state that a user sees, put together from all circles that a store holds.
///
/// Of the objects with one id one shows (`CircleReading.choice`). What stands below one in home, or below one that was
/// moved, stands below that one. What is at the root of another circle than home is mounted where home has put it. What
/// stands below something that does not show at all, or is a copy by somebody else, is at the root. Where mounts of
/// several circles close a cycle, its object with the lowest id is at the root.
///
/// What an object beside another one has shows in the place of what that has.
///
/// - Complexity: With one circle, that of the state below. Else lists cost, besides, what is hidden and what stands
///   below that, and of the past all that ever was.
package struct CombinedState<Rows: StoreTransaction>: CircleReading {
    private var state: HistoryState<Rows>
    /// Whether there is nothing to put together.
    private let isSingle: Bool
    private let found = Found()

    /// What was found already; copies of a state share it.
    private final class Found {
        var overlay: CircleOverlay?
        var mounts: CircleMounts?
    }

    /// `circle`: the only one of which objects are looked up; nil for what is put together from all.
    package init(_ view: HistoryView, of rows: Rows, only circle: CircleIndex? = nil) {
        self.state = HistoryState(view, of: rows, in: circle ?? .home)
        self.isSingle = rows.circles.count == 1 || circle != nil
    }

    /// Whether the store shows it by itself, but for what is hidden.
    package var isPresent: Bool { self.state.isPresent }

    /// The objects that show in their circle alone.
    package mutating func hiddenObjects() throws(StoreError) -> Set<ObjectIndex> { try self.overlay().hidden }

    private mutating func overlay() throws(StoreError) -> CircleOverlay {
        if self.isSingle { return CircleOverlay() }
        if let known = self.found.overlay { return known }
        let overlay = try self.state.overlay()
        self.found.overlay = overlay
        return overlay
    }

    /// What stands elsewhere than its circle says.
    private mutating func mounts() throws(StoreError) -> CircleMounts {
        if let known = self.found.mounts { return known }
        let mounts = try self.state.mounts(self.overlay())
        self.found.mounts = mounts
        return mounts
    }

    /// The object that shows for an id; nil if none does.
    private mutating func shown(_ id: ObjectID) throws(StoreError) -> ObjectIndex? {
        let hidden = try self.hiddenObjects()
        for object in try self.state.objects(of: id) where !hidden.contains(object) {
            if try self.state.object(object).isVisible { return object }
        }
        return nil
    }

    /// The objects whose children stand below one: itself, and what shows in its place.
    private mutating func family(of parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex?] {
        guard let parent else { return [nil] }
        let hidden = try self.hiddenObjects()
        var family: [ObjectIndex?] = [parent]
        for other in try self.state.objects(of: self.state.object(parent).id) where other != parent {
            if hidden.contains(other), try self.state.leadsOn(other, to: parent) { family.append(other) }
        }
        return family
    }
}

// MARK: - One object

extension CombinedState {
    package var segmentCount: Int { self.state.segmentCount }
    package var circles: CircleTable { self.state.circles }
    package func segment(_ index: SegmentIndex) -> SegmentRecord { self.state.segment(index) }
    package func progress(of index: SegmentIndex) -> SegmentProgress { self.state.progress(of: index) }

    package mutating func existingObjectIndex(
        of id: ObjectID,
        in circle: CircleIndex
    ) throws(StoreError) -> ObjectIndex? {
        try self.state.existingObjectIndex(of: id, in: circle)
    }

    /// The one that shows; else the one that was created last.
    package mutating func existingObjectIndex(of id: ObjectID) throws(StoreError) -> ObjectIndex? {
        if self.isSingle { return try self.state.existingObjectIndex(of: id) }
        if let shown = try self.shown(id) { return shown }
        let objects = try self.state.objects(of: id)
        return try self.state.lastCreated(of: objects) ?? objects.first
    }

    package mutating func objects(of id: ObjectID) throws(StoreError) -> [ObjectIndex] {
        try self.state.objects(of: id)
    }

    package mutating func isAlive(_ object: ObjectIndex) throws(StoreError) -> Bool { try self.state.isAlive(object) }

    package mutating func deleters(of object: ObjectIndex) throws(StoreError) -> [UserID: Stamp] {
        try self.state.deleters(of: object)
    }

    package mutating func existingNameIndex(of name: String) throws(StoreError) -> NameIndex? {
        try self.state.existingNameIndex(of: name)
    }

    package mutating func name(_ index: NameIndex) throws(StoreError) -> String { try self.state.name(index) }

    package mutating func object(_ index: ObjectIndex) throws(StoreError) -> ObjectRecord {
        var record = try self.state.object(index)
        if self.isSingle { return record }
        let mounts = try self.mounts()
        if let place = mounts.place(of: index) { record.parent = place }
        if let position = mounts.position(of: index) { record.position = position }
        if try self.hiddenObjects().contains(index) { record.isVisible = false }
        return record
    }

    package mutating func parentInCircle(of object: ObjectIndex) throws(StoreError) -> ObjectIndex? {
        try self.state.object(object).parent
    }

    package mutating func parent(of index: ObjectIndex) throws(StoreError) -> ObjectIndex? {
        if !self.isSingle, let place = try self.mounts().place(of: index) { return place }
        return try self.state.parent(of: index)
    }

    package mutating func visibleChildCount(of index: ObjectIndex) throws(StoreError) -> Int {
        if self.isSingle { return try self.state.visibleChildCount(of: index) }
        if try self.hiddenObjects().isEmpty, try self.mounts().isEmpty {
            return try self.state.visibleChildCount(of: index)
        }
        return try self.visibleChildren(of: index, after: nil, limit: .max).count
    }

    package mutating func showsAnything(below index: ObjectIndex) throws(StoreError) -> Bool {
        if self.isSingle { return try self.state.showsAnything(below: index) }
        return try !self.visibleChildren(of: index, after: nil, limit: 1).isEmpty
    }

    package mutating func lastUpdate(of index: ObjectIndex) throws(StoreError) -> Stamp {
        var last = try self.state.lastUpdate(of: index)
        for beside in try self.besides(index) { last = max(last, try self.state.lastUpdate(of: beside)) }
        return last
    }

    package mutating func leftWrites(behind shown: ObjectIndex) throws(StoreError) -> [LeftWrite] {
        self.isSingle ? [] : try self.state.leftWrites(behind: shown)
    }

    package mutating func besides(_ object: ObjectIndex) throws(StoreError) -> [ObjectIndex] {
        self.isSingle ? [] : try self.state.besides(object)
    }

    package mutating func properties(of object: ObjectIndex) throws(StoreError) -> [(name: String, value: Value)] {
        let besides = try self.besides(object)
        let own = try self.state.properties(of: object)
        guard !besides.isEmpty else { return own }
        var hidden: [ExactText: Value] = [:]
        for beside in besides {
            for (name, value) in try self.state.properties(of: beside) where hidden[ExactText(name)] == nil {
                hidden[ExactText(name)] = value
            }
        }
        // Null stands there for no value.
        let shown = hidden.filter { $0.value != .null }.sorted { $0.key < $1.key }
        return own.filter { hidden[ExactText($0.name)] == nil } + shown.map { ($0.key.text, $0.value) }
    }

    package mutating func missingProperties(of object: ObjectIndex) throws(StoreError) -> [String] {
        let besides = try self.besides(object)
        guard !besides.isEmpty else { return try self.state.missingProperties(of: object) }
        // What shows in its place is not missing.
        var (missing, shown): ([String], Set<ExactText>) = ([], [])
        for part in besides + [object] {
            missing += try self.state.missingProperties(of: part).filter { !shown.contains(ExactText($0)) }
            for (name, _) in try self.state.properties(of: part) { shown.insert(ExactText(name)) }
        }
        return Set(missing.map { ExactText($0) }).sorted().map(\.text)
    }

    package mutating func value(of name: NameIndex, on object: ObjectIndex) throws(StoreError) -> Value? {
        for beside in try self.besides(object) {
            if let value = try self.state.value(of: name, on: beside) { return value == .null ? nil : value }
        }
        return try self.state.value(of: name, on: object)
    }

    package mutating func valueInCircle(of name: NameIndex, on object: ObjectIndex) throws(StoreError) -> Value? {
        try self.state.value(of: name, on: object)
    }
}

// MARK: - Lists

extension CombinedState {
    package mutating func children(of parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex] {
        if self.isSingle { return try self.state.children(of: parent) }
        var children: [ObjectIndex] = []
        for above in try self.family(of: parent) {
            children += try self.state.children(of: above)
        }
        return try self.arranged(children, below: parent)
    }

    package mutating func visibleChildren(
        of parent: ObjectIndex?,
        after last: SiblingPlace?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex] {
        if self.isSingle { return try self.state.visibleChildren(of: parent, after: last, limit: limit) }
        var children: [ObjectIndex] = []
        for above in try self.family(of: parent) {
            children += try self.ownChildren(of: above, after: last, limit: limit)
        }
        let found = try self.arranged(children, below: parent, after: last)
        return Array(found.prefix(limit))
    }

    /// Of what shows below an object in its circle, the first that stand there for the user, too, or are mounted.
    private mutating func ownChildren(
        of parent: ObjectIndex?,
        after last: SiblingPlace?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex] {
        let (hidden, mounts) = (try self.hiddenObjects(), try self.mounts())
        var (found, last): ([ObjectIndex], SiblingPlace?) = ([], last)
        while found.count < limit {
            let page = try self.state.visibleChildren(of: parent, after: last, limit: limit)
            found += page.filter { !hidden.contains($0) && !mounts.contains($0) }
            guard page.count == limit, let end = page.last else { break }
            let record = try self.state.object(end)
            last = SiblingPlace(position: record.position, id: record.id)
            // Where the page ends, another circle may have an object with this id at this place.
            if parent == nil, let shown = try self.shown(record.id), !page.contains(shown), !mounts.contains(shown) {
                let other = try self.state.object(shown)
                if other.parent == nil, other.position == record.position { found.append(shown) }
            }
        }
        return found
    }

    /// Puts in order what stands below a parent by its circle, with what is mounted there and without what is mounted
    /// elsewhere.
    private mutating func arranged(
        _ children: [ObjectIndex],
        below parent: ObjectIndex?,
        after last: SiblingPlace? = nil
    ) throws(StoreError) -> [ObjectIndex] {
        let mounts = try self.mounts()
        let all = children.filter { !mounts.contains($0) } + mounts.children(of: parent)
        var placed: [(place: SiblingPlace, object: ObjectIndex)] = []
        for child in all {
            let record = try self.object(child)
            let place = SiblingPlace(position: record.position, id: record.id)
            if last.map({ $0 < place }) ?? true { placed.append((place, child)) }
        }
        return placed.sorted { $0.place < $1.place }.map(\.object)
    }

    package mutating func visibleChild(
        of parent: ObjectIndex?,
        before place: SiblingPlace
    ) throws(StoreError) -> ObjectIndex? {
        if self.isSingle { return try self.state.visibleChild(of: parent, before: place) }
        var last: ObjectIndex?
        for child in try self.visibleChildren(of: parent, after: nil, limit: .max) {
            let record = try self.object(child)
            guard SiblingPlace(position: record.position, id: record.id) < place else { break }
            last = child
        }
        return last
    }

    package mutating func lastPosition(under parent: ObjectIndex?) throws(StoreError) -> Position? {
        if self.isSingle { return try self.state.lastPosition(under: parent) }
        var last: Position?
        for above in try self.family(of: parent) {
            if let position = try self.state.lastPosition(under: above), last.map({ $0 < position }) ?? true {
                last = position
            }
        }
        for object in try self.mounts().children(of: parent) {
            let position = try self.object(object).position
            if last.map({ $0 < position }) ?? true { last = position }
        }
        return last
    }

    package mutating func visibleObjects() throws(StoreError) -> [ObjectIndex] {
        if self.isSingle { return try self.state.visibleObjects() }
        let hidden = try self.hiddenObjects()
        return try self.state.visibleObjects().filter { !hidden.contains($0) }
    }

    package mutating func visibleObjects(after id: ObjectID?, limit: Int) throws(StoreError) -> [ObjectIndex] {
        if self.isSingle { return try self.state.visibleObjects(after: id, limit: limit) }
        return try self.shownObjects(of: nil, after: id, limit: limit) { state, last throws(StoreError) in
            try state.visibleObjects(after: last, limit: limit)
        }
    }

    package mutating func visibleObjects(
        of type: NameIndex,
        after id: ObjectID?,
        limit: Int
    ) throws(StoreError) -> [ObjectIndex] {
        if self.isSingle { return try self.state.visibleObjects(of: type, after: id, limit: limit) }
        return try self.shownObjects(of: type, after: id, limit: limit) { state, last throws(StoreError) in
            try state.visibleObjects(of: type, after: last, limit: limit)
        }
    }

    /// What shows for the ids of a list that is read page by page; a page may end between objects with one id.
    ///
    /// `type`: that of all that is wanted; nil for any.
    private mutating func shownObjects(
        of type: NameIndex?,
        after id: ObjectID?,
        limit: Int,
        _ page: (inout HistoryState<Rows>, ObjectID?) throws(StoreError) -> [ObjectIndex]
    ) throws(StoreError) -> [ObjectIndex] {
        var (found, last): ([ObjectIndex], ObjectID?) = ([], id)
        while found.count < limit {
            let objects = try page(&self.state, last)
            for object in objects where found.count < limit {
                let id = try self.state.object(object).id
                guard last != id else { continue }
                last = id
                guard let shown = try self.shown(id) else { continue }
                let shownType = try self.state.object(shown).creation?.type
                if type == nil || shownType == type { found.append(shown) }
            }
            if objects.count < limit { break }
        }
        return found
    }
}
