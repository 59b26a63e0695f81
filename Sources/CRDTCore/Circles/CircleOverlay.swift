/// What shows otherwise to who reads several circles than it does in its own.
package struct CircleOverlay: Sendable {
    /// The objects that show in their circle alone: another one with their id shows in their place, or they were only
    /// referred to there.
    ///
    /// They are few: what was moved to another circle is deleted where it was, and does not show there.
    package private(set) var hidden: Set<ObjectIndex> = []
    /// The objects at the root of another circle than home that home has a place for.
    package private(set) var placed: Set<ObjectIndex> = []
    /// The objects beside others, with those that show and in whose place their values do: the first of several first.
    package private(set) var besides: [ObjectIndex: Beside] = [:]
    /// The objects that show, and of which something may have been left behind in another circle: another one with
    /// their id shows there, they were moved to where they show several times, or deleted there several times.
    private(set) var contested: Set<ObjectIndex> = []
    /// The objects that show, and of which a property may have been written while somebody hid it, or showed it again.
    private(set) var covered: Set<ObjectIndex> = []
    /// Those of the last two of which something has changed since they were last taken.
    private var touched: Set<ObjectIndex> = []
    /// What stands elsewhere than its circle says; nil if that is to be found anew.
    var mounts: CircleMounts?
    /// Behind the last commit of which all changes have been looked at; nil if nothing has.
    private var place: ChangePlace?

    /// In whose place the values of an object beside others show, and how many come before it.
    package struct Beside: Hashable, Sendable {
        package var shown: ObjectIndex
        package var rank: Int
    }

    private static let pageCount = 512

    package init() {}

    /// Those of a state of which no changes are known: all of its objects are looked at.
    init(in state: inout some CircleReading, shown: [ObjectIndex]) throws(StoreError) {
        var ids: Set<ObjectID> = []
        for object in shown { ids.insert(try state.object(object).id) }
        for id in ids { try self.judge(state.objects(of: id), for: &state) }
    }

    /// The objects of which something may have been left behind, or written while it was hidden, and of which something
    /// has changed since this was last asked.
    package mutating func takeTouched() -> Set<ObjectIndex> {
        defer { self.touched = [] }
        return self.touched
    }

    /// Whether all that is committed has been looked at.
    package func isCurrent(in rows: some StoreTransaction) -> Bool { self.place == .end(of: rows.lastCommit) }

    /// Takes in what has changed in a store since the last time.
    ///
    /// What has not been committed is looked at again the next time.
    /// - Complexity: O(*n* log *m*) for *n* objects that have changed, of *m*, and the first time for all outside of
    ///   home. Nothing where there is but one circle.
    mutating func update(in rows: inout some StoreTransaction) throws(StoreError) {
        guard rows.circles.count > 1 else { return }
        if var place = self.place {
            while true {
                let page = try rows.changePlaces(after: place, limit: Self.pageCount)
                try self.judge(page.map { ObjectIndex(rawValue: UInt32(truncatingIfNeeded: $0.object)) }, in: &rows)
                guard page.count == Self.pageCount, let last = page.last else { break }
                place = last
            }
        } else {
            try self.judge(try rows.objectsOutsideOfHome(), in: &rows)
        }
        self.place = .end(of: rows.lastCommit)
    }

    private mutating func judge(
        _ objects: [ObjectIndex],
        in rows: inout some StoreTransaction
    ) throws(StoreError) {
        let circles = rows.circles
        var changed: [ObjectID: (object: ObjectIndex, circle: CircleIndex)] = [:]
        for object in objects {
            let (id, circle) = try rows.look(at: object) { ($0.id, $0.circle) }
            changed[id] = (object, circle)
        }
        for (id, one) in changed {
            var objects = try rows.objects(of: id)
            // Most are in home alone, and show as home says.
            if objects == [one.object], one.circle == circles.base {
                if self.hidden.contains(one.object) || self.placed.contains(one.object) { self.mounts = nil }
                self.forget(one.object)
                try self.checkMounts(besides: one.object, in: &rows)
                continue
            }
            let former = (hidden: objects.filter(self.hidden.contains), placed: objects.filter(self.placed.contains))
            try self.judge(objects, for: &rows)
            let hidden = objects.filter(self.hidden.contains)
            if former.placed != objects.filter(self.placed.contains) { self.mounts = nil }
            if var mounts = self.mounts {
                self.mounts = nil
                try mounts.update(former.hidden, to: hidden, self, in: &rows)
                if !mounts.isStale { self.mounts = mounts }
            }
            for object in objects { try self.checkMounts(besides: object, in: &rows) }
            if circles.hasBeside {
                let all = objects
                objects = []
                for object in all where try !circles[rows.object(object).circle].isBeside { objects.append(object) }
            }
            for object in objects {
                var isContested = false
                if objects.count > 1, !self.hidden.contains(object), try rows.look(at: object, { $0.isVisible }) {
                    isContested = objects.contains { self.hidden.contains($0) }
                    if !isContested { isContested = try rows.creationPoints(of: object).count > 1 }
                    for other in objects where other != object && !isContested {
                        isContested = try rows.deletions(of: other).count > 1
                    }
                }
                if isContested { self.contested.insert(object) } else { self.contested.remove(object) }
                var isCovered = circles.hasBeside && !self.hidden.contains(object)
                if isCovered { isCovered = try rows.mayHaveCovered(on: object) }
                if isCovered { self.covered.insert(object) } else { self.covered.remove(object) }
                if isContested || isCovered { self.touched.insert(object) }
            }
        }
    }

    /// Has what stands elsewhere found anew if it may hang on an object that has changed, and what was put below a
    /// hidden one looked at.
    private mutating func checkMounts(
        besides object: ObjectIndex,
        in rows: inout some StoreTransaction
    ) throws(StoreError) {
        let above = try rows.look(at: object) { $0.parent }.flatMap { self.hidden.contains($0) ? $0 : nil }
        if let above {
            for shown in try rows.objects(of: rows.object(above).id) where self.contested.contains(shown) {
                self.touched.insert(shown)
            }
        }
        guard let mounts else { return }
        let isChanged = try rows.look(at: object) { record in
            // What is hidden itself, or does not show, stands nowhere.
            let isNew = above != nil && record.isVisible && !self.hidden.contains(object) && !mounts.contains(object)
            return isNew || mounts.isChanged(by: record, object)
        }
        if isChanged { self.mounts = nil }
    }

    private mutating func forget(_ object: ObjectIndex) {
        self.hidden.remove(object)
        self.placed.remove(object)
        self.contested.remove(object)
        self.covered.remove(object)
        self.besides[object] = nil
    }

    /// `objects`: all that an id stands for.
    private mutating func judge(
        _ objects: [ObjectIndex],
        for state: inout some CircleReading
    ) throws(StoreError) {
        let choice = try state.choice(of: objects)
        if state.circles.hasBeside {
            for object in objects { self.besides[object] = nil }
            if let choice {
                for (rank, object) in try state.besides(choice).enumerated() {
                    self.besides[object] = Beside(shown: choice, rank: rank)
                }
            }
        }
        for object in objects {
            let record = try state.object(object)
            if record.isVisible, object != choice { self.hidden.insert(object) } else { self.hidden.remove(object) }
            let place = object == choice ? try state.homePlace(of: record) : nil
            if place != nil { self.placed.insert(object) } else { self.placed.remove(object) }
        }
    }
}

extension CircleReading {
    /// Where home has put what stands at the root of another circle; nil if it has not, or for anything else.
    ///
    /// A circle says nothing of others to its readers, so where it shows among other things is said in home.
    mutating func homePlace(of record: ObjectRecord) throws(StoreError) -> (parent: ObjectIndex?, position: Position)? {
        let base = self.circles.base
        guard record.circle != base, record.parent == nil,
            let home = try self.existingObjectIndex(of: record.id, in: base)
        else { return nil }
        let place = try self.object(home)
        return place.parent == nil && place.position == .initial ? nil : (place.parent, place.position)
    }
}

extension StoreTransaction {
    /// What shows otherwise to who reads all circles, by now.
    package mutating func currentOverlay() throws(StoreError) -> CircleOverlay {
        var overlay = self.overlay
        try overlay.update(in: &self)
        self.overlay = overlay
        return overlay
    }

    /// The object that shows for an id to who reads all circles; else the one that was created last.
    package mutating func existingObjectIndex(of id: ObjectID) throws(StoreError) -> ObjectIndex? {
        guard self.circles.count > 1 else { return try self.existingObjectIndex(of: id, in: .home) }
        let overlay = try self.currentOverlay()
        let objects = try self.objects(of: id)
        for object in objects where !overlay.hidden.contains(object) {
            if try self.object(object).isVisible { return object }
        }
        return try self.lastCreated(of: objects) ?? objects.first
    }
}
