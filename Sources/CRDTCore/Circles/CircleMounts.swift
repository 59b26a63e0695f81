/// What stands elsewhere than its circle says, to who reads several circles.
package struct CircleMounts: Sendable {
    /// By object, what it stands below; nil is the root.
    private var places: [ObjectIndex: ObjectIndex?] = [:]
    private var children: [ObjectIndex?: [ObjectIndex]] = [:]
    /// Where that stands among its siblings, if its circle does not say so either.
    private var positions: [ObjectIndex: Position] = [:]
    /// What was looked at to find that, in its circle: as long as nothing of it changes, nothing else does.
    private var sources: [ObjectIndex: Source] = [:]
    /// The ids of which all objects were looked at: what comes of them later may show.
    private var ids: Set<ObjectID> = []
    /// Where what is below a hidden object stands, whether something is or not.
    private var leads: [ObjectIndex: ObjectIndex?] = [:]
    /// Whether something has changed that it hangs on.
    private(set) var isStale = false

    private struct Source: Equatable {
        var parent: ObjectIndex?
        var position: Position
        var isVisible: Bool

        init(_ record: ObjectRecord) {
            (self.parent, self.position, self.isVisible) = (record.parent, record.position, record.isVisible)
        }
    }

    init() {}

    /// Finds what stands elsewhere.
    ///
    /// - Complexity: O(*n* + *d*) for *n* objects below hidden ones or placed by home, and *d* that are above those.
    init(_ overlay: CircleOverlay, in state: inout some CircleReading) throws(StoreError) {
        for above in overlay.hidden.sorted(by: { $0.rawValue < $1.rawValue }) {
            let place = try Self.lead(from: above, overlay, in: &state)
            self.leads[above] = .some(place)
            for child in try state.visibleChildren(of: above, after: nil, limit: .max)
            where !overlay.hidden.contains(child) {
                self.places[child] = .some(place)
                self.sources[child] = Source(try state.object(child))
            }
        }
        for object in overlay.placed {
            let record = try state.object(object)
            try self.look(at: record.id, in: &state)
            guard let place = try state.homePlace(of: record) else { continue }
            let parent = try place.parent.map { above throws(StoreError) in try state.object(above).id }
            self.places[object] = try .some(
                parent.flatMap { id throws(StoreError) in try self.shown(id, overlay, in: &state) }
            )
            self.positions[object] = place.position
        }
        var known: Set<ObjectIndex> = []
        for mounted in self.places.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            if let lowest = try self.lowest(ofCycleFrom: mounted, besides: &known, in: &state) {
                self.places[lowest] = .some(nil)
            }
        }
        for (object, place) in self.places { self.children[place, default: []].append(object) }
    }

    /// What stands below a hidden object stands below the one that shows in its place, if any.
    private static func lead(
        from hidden: ObjectIndex,
        _ overlay: CircleOverlay,
        in state: inout some CircleReading
    ) throws(StoreError) -> ObjectIndex? {
        for object in try state.objects(of: state.object(hidden).id) where !overlay.hidden.contains(object) {
            guard try state.object(object).isVisible else { continue }
            return try state.leadsOn(hidden, to: object) ? object : nil
        }
        return nil
    }

    /// Takes in which of the objects with one id are hidden now, and were before; becomes stale if anything stands
    /// elsewhere because of that.
    ///
    /// Whether what stands below a hidden one stands below another one depends on who has deleted it.
    /// - Complexity: as for what has changed alone.
    mutating func update(
        _ former: [ObjectIndex],
        to hidden: [ObjectIndex],
        _ overlay: CircleOverlay,
        in state: inout some CircleReading
    ) throws(StoreError) {
        for object in Set(former).symmetricDifference(hidden) where self.sources[object] != nil { self.isStale = true }
        for object in former where !hidden.contains(object) {
            self.leads[object] = nil
            if try !state.visibleChildren(of: object, after: nil, limit: 1).isEmpty { self.isStale = true }
        }
        for object in hidden {
            let lead = try Self.lead(from: object, overlay, in: &state)
            if let known = self.leads[object], known == lead { continue }
            self.leads[object] = .some(lead)
            if try !state.visibleChildren(of: object, after: nil, limit: 1).isEmpty { self.isStale = true }
        }
    }

    var isEmpty: Bool { self.places.isEmpty }

    /// Whether an object stands elsewhere than its circle says.
    func contains(_ object: ObjectIndex) -> Bool { self.places[object] != nil }

    /// What an object stands below, if it stands elsewhere: nil is the root.
    func place(of object: ObjectIndex) -> ObjectIndex?? { self.places[object] }

    /// Where an object stands among its siblings, if its circle does not say so.
    func position(of object: ObjectIndex) -> Position? { self.positions[object] }

    /// What stands below an object, or at the root, and elsewhere than its circle says, in no particular order.
    func children(of parent: ObjectIndex?) -> [ObjectIndex] { self.children[parent] ?? [] }

    /// Whether something that was looked at is otherwise now.
    func isChanged(by record: ObjectRecord, _ object: ObjectIndex) -> Bool {
        guard let source = self.sources[object] else { return record.isVisible && self.ids.contains(record.id) }
        return source != Source(record)
    }

    // MARK: - Finding it

    private mutating func look(at id: ObjectID, in state: inout some CircleReading) throws(StoreError) {
        self.ids.insert(id)
        for object in try state.objects(of: id) { self.sources[object] = Source(try state.object(object)) }
    }

    /// The object that shows for an id; nil if none does.
    private mutating func shown(
        _ id: ObjectID,
        _ overlay: CircleOverlay,
        in state: inout some CircleReading
    ) throws(StoreError) -> ObjectIndex? {
        try self.look(at: id, in: &state)
        for object in try state.objects(of: id) where !overlay.hidden.contains(object) {
            if try state.object(object).isVisible { return object }
        }
        return nil
    }

    /// The object with the lowest id of a cycle that the way up from an object comes to; nil if it comes to the root.
    ///
    /// `known`: those from which the way is known to come to the root.
    private mutating func lowest(
        ofCycleFrom object: ObjectIndex,
        besides known: inout Set<ObjectIndex>,
        in state: inout some CircleReading
    ) throws(StoreError) -> ObjectIndex? {
        var (way, steps, next): ([ObjectIndex], [ObjectIndex: Int], ObjectIndex?) = ([], [:], object)
        defer { known.formUnion(way) }
        while let current = next, !known.contains(current) {
            if let first = steps[current] {
                var lowest: (id: ObjectID, object: ObjectIndex)?
                for member in way[first...] {
                    let id = try state.object(member).id
                    if lowest.map({ id < $0.id }) ?? true { lowest = (id, member) }
                }
                return lowest?.object
            }
            steps[current] = way.count
            way.append(current)
            let record = try state.object(current)
            self.sources[current] = Source(record)
            if let mount = self.places[current] { next = mount } else { next = record.parent }
        }
        return nil
    }
}

extension StoreTransaction {
    /// What stands elsewhere than its circle says, by now.
    mutating func currentMounts() throws(StoreError) -> CircleMounts {
        var overlay = try self.currentOverlay()
        if let known = overlay.mounts { return known }
        let mounts = try CircleMounts(overlay, in: &self)
        overlay.mounts = mounts
        self.overlay = overlay
        return mounts
    }
}
