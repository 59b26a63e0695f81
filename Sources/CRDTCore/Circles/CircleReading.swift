/// What decides which of the objects with one id a user sees: each circle may have one.
package protocol CircleReading: StateReading {
    /// The circles that objects are in.
    var circles: CircleTable { get }
    /// The objects of all circles that an id stands for, in the order of their circles' numbers.
    mutating func objects(of id: ObjectID) throws(StoreError) -> [ObjectIndex]
    /// Whether an object lives, and does not only show because something below it lives.
    mutating func isAlive(_ object: ObjectIndex) throws(StoreError) -> Bool
    /// The users of whom a deletion of an object counts, each with the stamp of the last one.
    mutating func deleters(of object: ObjectIndex) throws(StoreError) -> [UserID: Stamp]
    /// Where an object stands by its circle alone; nil for the root.
    mutating func parentInCircle(of object: ObjectIndex) throws(StoreError) -> ObjectIndex?
    /// The value in force of a property by the object's circle alone; nil if there is none.
    mutating func valueInCircle(of name: NameIndex, on object: ObjectIndex) throws(StoreError) -> Value?
    /// The objects whose values show in the place of those of one, the first of them first: they have its id, and are
    /// in circles beside its own.
    mutating func besides(_ object: ObjectIndex) throws(StoreError) -> [ObjectIndex]
    /// What others have written to an object that shows where it was moved from meanwhile.
    mutating func leftWrites(behind shown: ObjectIndex) throws(StoreError) -> [LeftWrite]
}

extension CircleReading {
    package mutating func parentInCircle(of object: ObjectIndex) throws(StoreError) -> ObjectIndex? {
        try self.object(object).parent
    }

    package mutating func valueInCircle(of name: NameIndex, on object: ObjectIndex) throws(StoreError) -> Value? {
        try self.value(of: name, on: object)
    }

    package mutating func besides(_ object: ObjectIndex) throws(StoreError) -> [ObjectIndex] {
        let circles = self.circles
        guard circles.hasBeside else { return [] }
        let record = try self.object(object)
        var besides: [(circle: CircleIndex, object: ObjectIndex)] = []
        for other in try self.objects(of: record.id) where other != object {
            let circle = try self.object(other).circle
            if circles.shows(circle, inPlaceOf: record.circle) { besides.append((circle, other)) }
        }
        return besides.sorted { circles.precedes($0.circle, $1.circle) }.map(\.object)
    }

    /// The objects beside another one that hold a property of it, the one that shows first; none if it is not hidden.
    ///
    /// Null stands there for no value: what is taken away stays hidden.
    package mutating func besides(
        _ object: ObjectIndex,
        holding name: NameIndex
    ) throws(StoreError) -> [ObjectIndex] {
        var holding: [ObjectIndex] = []
        for beside in try self.besides(object) where try self.valueInCircle(of: name, on: beside) != nil {
            holding.append(beside)
        }
        return holding
    }

    package mutating func objects(of id: ObjectID) throws(StoreError) -> [ObjectIndex] {
        var found: [ObjectIndex] = []
        for circle in 0..<UInt32(self.circles.count) {
            let object = try self.existingObjectIndex(of: id, in: CircleIndex(rawValue: circle))
            if let object { found.append(object) }
        }
        return found
    }

    /// Which of the objects with one id shows to who reads all circles; nil if none does.
    ///
    /// What lives comes before what only shows because of something below it, and what was created before what is only
    /// referred to, which shows in the base (`CircleTable.base`) alone. Of several that live one does not show if it
    /// was moved: the creator of another one has deleted it, and not made it again since, and that one's creator has
    /// not had it deleted later in turn; or the user is sent nothing of its circle any more, not even what was deleted
    /// there, and its creator, or the circle's owner, has made another one elsewhere. Of the rest the one in the base
    /// shows, then one whose creator the id belongs to, so that nobody takes the place of what others have by a copy,
    /// and then that in the circle with the lowest bytes.
    mutating func choice(of objects: [ObjectIndex]) throws(StoreError) -> ObjectIndex? {
        var candidates: [Candidate] = []
        for object in objects {
            let record = try self.object(object)
            guard record.isVisible, record.creation != nil || record.circle == self.circles.base,
                !self.circles[record.circle].isBeside
            else { continue }
            candidates.append(Candidate(object: object, record: record))
        }
        guard candidates.count > 1 else { return candidates.first?.object }
        let created = candidates.filter { $0.record.creation != nil }
        if !created.isEmpty { candidates = created }
        var living: [Candidate] = []
        for candidate in candidates where try self.isAlive(candidate.object) { living.append(candidate) }
        if !living.isEmpty { candidates = living }
        var staying: [Candidate] = []
        for candidate in candidates {
            var isMoved = false
            for other in candidates where other.object != candidate.object {
                if try self.isMoved(candidate, to: other) { isMoved = true }
            }
            if !isMoved { staying.append(candidate) }
        }
        if !staying.isEmpty { candidates = staying }
        return candidates.min { self.precedes($0, $1) }?.object
    }

    /// Whether the creator of another object with its id has deleted an object, and the creator of that one has not
    /// deleted the other later.
    ///
    /// Of a circle of which nothing comes any more no deletion would: there what its creator, or the circle's owner,
    /// has made elsewhere says as much. A copy by anybody else does not.
    private mutating func isMoved(_ object: Candidate, to other: Candidate) throws(StoreError) -> Bool {
        guard let mover = self.creator(of: other.record) else { return false }
        if self.isStale(object.record.circle, beside: other.record.circle) {
            if mover == self.creator(of: object.record) || self.circles[object.record.circle].isOwned(by: mover) {
                return true
            }
        }
        guard let time = try self.deleters(of: object.object)[mover] else { return false }
        guard let owner = self.creator(of: object.record), let back = try self.deleters(of: other.object)[owner] else {
            return true
        }
        return back < time
    }

    /// Whether this user is sent nothing of a circle any more, not even what was deleted there, but of another one.
    private func isStale(_ circle: CircleIndex, beside other: CircleIndex) -> Bool {
        self.circles.closed.contains(circle) && !self.circles.closed.contains(other)
    }

    /// Whether what stands below an object that is hidden stands below the one that shows in its place: not if somebody
    /// else made a copy of that.
    mutating func leadsOn(_ hidden: ObjectIndex, to shown: ObjectIndex) throws(StoreError) -> Bool {
        if try self.object(hidden).circle == self.circles.base { return true }
        return try self.wasMoved(hidden, to: shown)
    }

    /// The other objects with the id of one that live in circles of a user who has made them there: he moved it to
    /// several circles, on machines that did not know of each other.
    package mutating func twins(of object: ObjectIndex, by user: UserID) throws(StoreError) -> [ObjectIndex] {
        guard self.circles.count > 1 else { return [] }
        var twins: [ObjectIndex] = []
        for other in try self.objects(of: self.object(object).id) where other != object {
            let record = try self.object(other)
            let isOwn = record.circle == self.circles.base || self.circles[record.circle].isOwned(by: user)
            guard isOwn, self.creator(of: record) == user, try self.isAlive(other) else { continue }
            twins.append(other)
        }
        return twins
    }

    /// The last one that was created of some objects; nil if none was.
    mutating func lastCreated(of objects: [ObjectIndex]) throws(StoreError) -> ObjectIndex? {
        var created: [Candidate] = []
        for object in objects {
            let record = try self.object(object)
            if record.creation != nil, !self.circles[record.circle].isBeside {
                created.append(Candidate(object: object, record: record))
            }
        }
        return created.max { self.isCreated($0, before: $1) }?.object
    }

    func creator(of record: ObjectRecord) -> UserID? {
        record.creation.flatMap { self.segment($0.write.segment).introduction?.user }
    }

    private func isCreated(_ left: Candidate, before right: Candidate) -> Bool {
        let stamps = [left, right].map { $0.record.creation?.write.stamp ?? .zero }
        return stamps[0] == stamps[1] ? self.circles.precedes(right.circle, left.circle) : stamps[0] < stamps[1]
    }

    private func precedes(_ left: Candidate, _ right: Candidate) -> Bool {
        let base = self.circles.base
        if left.circle == base || right.circle == base { return left.circle == base }
        let isGiven = [left, right].map { candidate in
            self.creator(of: candidate.record).map { candidate.record.id.isGiven(by: $0) } ?? false
        }
        return isGiven[0] == isGiven[1] ? self.circles.precedes(left.circle, right.circle) : isGiven[0]
    }
}

/// One of several objects with an id.
private struct Candidate {
    var object: ObjectIndex
    var record: ObjectRecord
    var circle: CircleIndex { self.record.circle }
}

extension StoreTransaction {
    /// The users who have deleted an object and not made it again since, knowing of that, each with the stamp of his
    /// last deletion.
    ///
    /// Of the last ones of each user alone: who deletes and makes one thing so often, on chains that know nothing of
    /// each other, says nothing by the earlier ones.
    /// - Complexity: O(*s* log *s*) for *s* segments on which the object was deleted or created.
    mutating func deleters(
        _ deletions: [WriteReference],
        _ creations: [WriteReference]
    ) throws(StoreError) -> [UserID: Stamp] {
        // What the last creation of a segment had not seen, no earlier one there had; and so it is of deletions.
        let (last, made) = (Self.lastOfSegments(deletions), Self.lastOfSegments(creations))
        guard let first = last.map(\.stamp).min(), made.contains(where: { $0.stamp > first }) else {
            return self.users(of: deletions)
        }
        let (deleted, created) = (self.lastOfUsers(last), self.lastOfUsers(made))
        var standing: [WriteReference] = []
        for (user, deletions) in deleted {
            var known: [(stamp: Stamp, context: CausalContext)] = []
            for creation in created[user] ?? [] where creation.stamp > first {
                known.append((creation.stamp, try self.authorContext(of: creation)))
            }
            standing += deletions.filter { deletion in
                !known.contains { $0.stamp > deletion.stamp && $0.context.covers(deletion) }
            }
        }
        return self.users(of: standing)
    }

    /// The last of some writes by each user, the latest first.
    private func lastOfUsers(_ writes: [WriteReference]) -> [UserID: ArraySlice<WriteReference>] {
        let users = Dictionary(grouping: writes) { self.segment($0.segment).introduction?.user }
        var last: [UserID: ArraySlice<WriteReference>] = [:]
        for case (let user?, let writes) in users {
            last[user] = writes.sorted { WriteOrder.precedes($1, $0, self) }.prefix(Limits.lifeCountMax)
        }
        return last
    }

    private static func lastOfSegments(_ writes: [WriteReference]) -> [WriteReference] {
        var last: [SegmentIndex: WriteReference] = [:]
        for write in writes where last[write.segment].map({ $0.ordinal < write.ordinal }) ?? true {
            last[write.segment] = write
        }
        return last.values.sorted { $0.segment.rawValue < $1.segment.rawValue }
    }
}

extension StateReading {
    /// The users who made some writes, each with the stamp of his last one.
    func users(of writes: some Sequence<WriteReference>) -> [UserID: Stamp] {
        var users: [UserID: Stamp] = [:]
        for write in writes {
            guard let user = self.segment(write.segment).introduction?.user else { continue }
            users[user] = max(users[user] ?? .zero, write.stamp)
        }
        return users
    }
}

extension StoreTransaction {
    package mutating func isAlive(_ object: ObjectIndex) throws(StoreError) -> Bool {
        try self.look(at: object) { $0.existence.isAlive }
    }

    package mutating func deleters(of object: ObjectIndex) throws(StoreError) -> [UserID: Stamp] {
        let creations = try self.creations(of: object) + [self.object(object).creation?.write].compactMap(\.self)
        return try self.deleters(self.deletions(of: object), creations)
    }
}
