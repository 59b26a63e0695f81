internal import CRDTCore
internal import Persistence

/// An object that differs between two moments.
public struct ObjectDifference: Identifiable, Hashable, Sendable {
    /// The object at the first moment; nil if it was not there.
    public let before: Object?
    /// The object at the second moment; nil if it was not there.
    public let after: Object?
    /// The id of the object.
    public let id: ObjectID

    /// The names of the properties whose values differ, in ascending order, of those whose values are here.
    public var changedProperties: [String] {
        var names: Set<ExactText> = []
        for (name, value) in self.before?.properties ?? Properties([:]) where self.after?.properties[name] != value {
            names.insert(ExactText(name))
        }
        for (name, value) in self.after?.properties ?? Properties([:]) where self.before?.properties[name] != value {
            names.insert(ExactText(name))
        }
        let missing = (self.before?.missingProperties ?? []) + (self.after?.missingProperties ?? [])
        return names.subtracting(missing.map { ExactText($0) }).sorted().map(\.text)
    }

    /// Tells whether the object was there at both moments, under different parents or at different places.
    public var isMoved: Bool {
        guard let before = self.before, let after = self.after else { return false }
        return before.parent != after.parent || before.position != after.position
    }

    /// Nil if there is no difference but for the times of updates and the children.
    init?(_ id: ObjectID, before: Object?, after: Object?) {
        (self.id, self.before, self.after) = (id, before, after)
        guard let before, let after else {
            if before == nil, after == nil { return nil }
            return
        }
        if !self.isMoved, before.type == after.type, before.kind == after.kind, self.changedProperties.isEmpty {
            return nil
        }
    }
}

extension Workspace {
    /// Returns the objects that differ between two moments, in the order of their ids.
    ///
    /// - Parameters:
    ///   - first: the moment to compare with.
    ///   - second: the other moment; nil for now.
    ///   - object: the object at the top: only it and what was below it at either moment is compared; nil for all.
    /// - Returns: each object as it was at both moments.
    /// - Throws: ``PeerdError`` with `noSuchMoment`, `closed`, or if the disk fails; `CancellationError`.
    /// - Complexity: O(*n* log *m*) in the operations between the moments, with memory for the objects that differ.
    public func differences(
        from first: Moment,
        to second: Moment? = nil,
        under object: ObjectID? = nil
    ) async throws -> [ObjectDifference] {
        try await self.reading { transaction in
            let moments = (first, try second ?? Moment.now(in: &transaction))
            let seen = (try moments.0.seen(in: &transaction), try moments.1.seen(in: &transaction))
            var before = CombinedState(try moments.0.view(in: &transaction), of: transaction)
            var after = CombinedState(try moments.1.view(in: &transaction), of: transaction)
            let edited = try transaction.objects(between: seen.0, and: seen.1)
            // What is edited below a deleted object brings it back.
            var touched = edited
            touched.formUnion(try before.ancestors(of: edited))
            touched.formUnion(try after.ancestors(of: edited))
            var found: [ObjectDifference] = []
            let top = try object.flatMap { try transaction.existingObjectIndex(of: $0) }
            if object != nil, top == nil { return found }
            if let top {
                let below = try before.members(of: touched, below: top)
                touched = below.union(try after.members(of: touched, below: top))
            }
            // What was moved to another circle, or is hidden there in part, was edited in both.
            let ids = Set(try touched.map { index in try transaction.look(at: index) { $0.id } })
            for id in ids {
                try Task.checkCancellation()
                let states = (try Object.find(id, in: &before), try Object.find(id, in: &after))
                if let difference = ObjectDifference(id, before: states.0, after: states.1) { found.append(difference) }
            }
            return found.sorted { $0.id < $1.id }
        }
    }
}

extension StateReading {
    /// The objects above some.
    ///
    /// - Complexity: O(*n*) for *n* objects and those above them.
    fileprivate mutating func ancestors(of objects: Set<ObjectIndex>) throws(StoreError) -> Set<ObjectIndex> {
        var found: Set<ObjectIndex> = []
        for object in objects {
            var next = try self.parent(of: object)
            while let parent = next, found.insert(parent).inserted { next = try self.parent(of: parent) }
        }
        return found
    }

    /// Those of some objects that are one, or stand below it.
    ///
    /// - Complexity: O(*n*) for *n* objects and those above them.
    fileprivate mutating func members(
        of objects: Set<ObjectIndex>,
        below top: ObjectIndex
    ) throws(StoreError) -> Set<ObjectIndex> {
        var isBelow: [ObjectIndex: Bool] = [top: true]
        for object in objects {
            var (path, met): ([ObjectIndex], Set<ObjectIndex>) = ([], [])
            var next: ObjectIndex? = object
            while let object = next, isBelow[object] == nil, met.insert(object).inserted {
                path.append(object)
                next = try self.parent(of: object)
            }
            let answer = next.flatMap { isBelow[$0] } ?? false
            for object in path { isBelow[object] = answer }
        }
        return objects.filter { isBelow[$0] ?? false }
    }
}

extension StoreTransaction {
    /// The objects that the changes between two points are about.
    mutating func objects(
        between first: SeenSegments,
        and second: SeenSegments
    ) throws(StoreError) -> Set<ObjectIndex> {
        var found: Set<ObjectIndex> = []
        for segment in self.segmentIndices {
            let progress = self.progress(of: segment)
            var next = max(min(first[segment], second[segment]) + 1, progress.firstSequence)
            let last = max(first[segment], second[segment])
            while next <= last, let run = try self.loadRun(of: segment, from: next, limits: RunLimits(), signed: false)
            {
                for change in run.changes where next <= last {
                    for operation in run.operations[change.operationRange] where operation.kind.isEdit {
                        found.insert(try self.objectIndex(of: run.objects[Int(operation.object)], by: segment))
                    }
                    next += 1
                }
            }
        }
        return found
    }
}
