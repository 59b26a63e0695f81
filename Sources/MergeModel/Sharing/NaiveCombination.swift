package import CRDTCore

/// What a user sees of several circles, by brute force.
package struct NaiveCombination: Hashable {
    package var objects: [ObjectID: VisibleObject] = [:]
    package var roots: [ObjectID] = []

    /// One of the objects with an id.
    private struct Copy {
        var circle: Circle
        var object: PlainObject
        var isAlive: Bool
        var deleters: [UserID: Stamp]

        /// The creator, if the object is of the first kind of those that may show.
        var creator: UserID? { self.object.creation?.creator }

        /// The bytes by which circles are told apart when nothing else does.
        var bytes: [UInt8] {
            switch self.circle {
            case .home: [0]
            case .roster: [1]
            case .shared(let owner, let nonce): [2] + owner.bytes.array + nonce.array
            case .beside(let owner, let nonce): [3] + owner.bytes.array + nonce.array
            }
        }
    }

    /// What a state shows, in all of its ways.
    package init(of state: inout some StateReading) throws(StoreError) {
        self.objects = try VisibleObject.all(of: &state)
        for index in try state.visibleChildren(of: nil, after: nil, limit: .max) {
            self.roots.append(try state.object(index).id)
        }
    }

    /// What a user sees of circles that he has.
    ///
    /// `reader`: who reads; nil if it is nobody in particular. `ended`: of which circles he is sent nothing any more.
    package init(_ circles: [(Circle, NaiveModel)], for reader: CircleReader? = nil, ended: Set<Circle> = []) {
        // Where he puts what is at the root.
        let own = reader.flatMap { $0.user == $0.founder ? nil : Circle.own(of: $0.user) }
        let base = own.flatMap { own in circles.contains { $0.0 == own } ? own : nil } ?? .home
        var copies: [ObjectID: [Copy]] = [:]
        for (circle, model) in circles {
            for object in model.state().objects {
                copies[object.id, default: []].append(
                    Copy(
                        circle: circle,
                        object: object,
                        isAlive: model.isAlive(object.id),
                        deleters: model.deleters(of: object.id)
                    )
                )
            }
        }
        var parents: [ObjectID: ObjectID] = [:]
        let shown = copies.compactMapValues { Self.shown($0, base, ended) }
        for (id, copy) in shown {
            self.objects[id] = VisibleObject(copy.object)
            var hidden: [ModelText: Value] = [:]
            for beside in Self.besides(copy, of: copies[id] ?? [], for: reader).reversed() {
                hidden.merge(VisibleObject(beside.object).properties) { $1 }
            }
            // Null stands there for no value.
            for (name, value) in hidden { self.objects[id]?.properties[name] = value == .null ? nil : value }
            var (parent, circle) = (copy.object.parent, copy.circle)
            // What is at the root of another circle stands where home has put it, if it has.
            if parent == nil, copy.circle != base, let home = copies[id]?.first(where: { $0.circle == base })?.object,
                home.parent != nil || home.position != .initial
            {
                (parent, circle) = (home.parent, base)
                self.objects[id]?.position = home.position
            }
            guard let parent, let above = shown[parent] else { continue }
            // Below a copy that somebody else has made of what shows nothing stands below that.
            let below = copies[parent]?.first { $0.circle == circle }
            let isMoved = above.creator.map { below?.deleters[$0] != nil } ?? false
            if circle == base || circle == above.circle || isMoved { parents[id] = parent }
        }
        while let lowest = Self.lowestOfCycle(parents) { parents[lowest] = nil }
        let (standing, placed) = (parents, self.objects)
        func below(_ parent: ObjectID?) -> [ObjectID] {
            let ids = shown.keys.filter { standing[$0] == parent }
            return ids.sorted { left, right in
                let positions = [left, right].map { placed[$0]?.position ?? .initial }
                return positions[0] == positions[1] ? left < right : positions[0] < positions[1]
            }
        }
        for id in shown.keys {
            self.objects[id]?.parent = parents[id]
            self.objects[id]?.children = below(id)
        }
        self.roots = below(nil)
    }

    /// What is different, for the message of a failed test.
    package func difference(from expected: NaiveCombination) -> String {
        let differing = Set(self.objects.keys).union(expected.objects.keys).filter {
            self.objects[$0] != expected.objects[$0]
        }
        let lines = differing.sorted().map { id in
            let found = [self.objects[id], expected.objects[id]].map { $0?.words ?? "nothing" }
            return "\n\(ModelWords.short(id)) is \(found[0])\nexpected \(found[1])"
        }
        let roots = [self.roots, expected.roots].map { $0.map { ModelWords.short($0) } }
        return "roots \(roots[0]), expected \(roots[1])" + lines.joined()
    }

    /// The copies in circles beside that of one, which the same user owns, or who reads.
    private static func besides(_ copy: Copy, of copies: [Copy], for reader: CircleReader?) -> [Copy] {
        let besides = copies.filter { other in
            guard case .beside(let owner, _) = other.circle else { return false }
            let isOfFounder = copy.circle == .home && owner == reader?.founder
            return copy.circle.isOwned(by: owner) || isOfFounder || owner == reader?.user
        }
        return besides.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }

    private static func shown(_ copies: [Copy], _ base: Circle, _ ended: Set<Circle>) -> Copy? {
        var left = copies.filter { copy in
            copy.object.isVisible && !copy.circle.isBeside && (copy.object.creation != nil || copy.circle == base)
        }
        func narrow(_ isBetter: (Copy) -> Bool) {
            let better = left.filter(isBetter)
            if !better.isEmpty { left = better }
        }
        // What its owner, or who made it, has made elsewhere may have been deleted here since.
        func isStale(_ copy: Copy, beside other: Copy) -> Bool {
            guard let mover = other.creator, ended.contains(copy.circle), !ended.contains(other.circle) else {
                return false
            }
            return mover == copy.creator || copy.circle.isOwned(by: mover)
        }
        narrow { $0.object.creation != nil }
        narrow { $0.isAlive }
        let living = left
        narrow { copy in
            !living.contains { $0.circle != copy.circle && (Self.isMoved(copy, to: $0) || isStale(copy, beside: $0)) }
        }
        narrow { $0.circle == base }
        narrow { copy in copy.creator.map { copy.object.id.isGiven(by: $0) } ?? false }
        return left.min { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }

    /// Whether the creator of another copy has deleted one, and has not had it deleted in turn.
    private static func isMoved(_ copy: Copy, to other: Copy) -> Bool {
        guard let mover = other.creator, let time = copy.deleters[mover] else { return false }
        guard let owner = copy.creator, let back = other.deleters[owner] else { return true }
        return back < time
    }

    private static func lowestOfCycle(_ parents: [ObjectID: ObjectID]) -> ObjectID? {
        for start in parents.keys.sorted() {
            var (way, next): ([ObjectID], ObjectID?) = ([], start)
            while let current = next, !way.contains(current) {
                way.append(current)
                next = parents[current]
            }
            if let met = next { return way[(way.firstIndex(of: met) ?? 0)...].min() }
        }
        return nil
    }
}
