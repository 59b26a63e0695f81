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

    /// The names of the properties whose values differ, in ascending order.
    public var changedProperties: [String] {
        var names: Set<ExactText> = []
        for (name, value) in self.before?.properties ?? Properties([:]) where self.after?.properties[name] != value {
            names.insert(ExactText(name))
        }
        for (name, value) in self.after?.properties ?? Properties([:]) where self.before?.properties[name] != value {
            names.insert(ExactText(name))
        }
        return names.sorted().map(\.text)
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
        if !self.isMoved, before.type == after.type, before.kind == after.kind, before.properties == after.properties {
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
            var before = PastState(try moments.0.view(in: &transaction), of: transaction)
            var after = PastState(try moments.1.view(in: &transaction), of: transaction)
            var touched = try transaction.objects(between: seen.0, and: seen.1)
            // What is edited below a deleted object brings it back.
            for index in Array(touched) {
                touched.formUnion(try before.ancestors(of: index))
                touched.formUnion(try after.ancestors(of: index))
            }
            var found: [ObjectDifference] = []
            let top = try object.flatMap { try transaction.existingObjectIndex(of: $0) }
            if object != nil, top == nil { return found }
            for index in touched {
                if let top {
                    let isBelow = try index == top || before.ancestors(of: index).contains(top)
                    guard try isBelow || after.ancestors(of: index).contains(top) else { continue }
                }
                let id = try transaction.look(at: index) { $0.id }
                let states = (try Object.find(id, in: &before), try Object.find(id, in: &after))
                if let difference = ObjectDifference(id, before: states.0, after: states.1) { found.append(difference) }
            }
            return found.sorted { $0.id < $1.id }
        }
    }
}

extension StateReading {
    /// The objects above one, the nearest first.
    fileprivate mutating func ancestors(of object: ObjectIndex) throws(StoreError) -> [ObjectIndex] {
        var (found, watch): ([ObjectIndex], CircleWatch<ObjectIndex>) = ([], CircleWatch())
        var next = try self.object(object).parent
        while let parent = next {
            try watch.pass(parent)
            found.append(parent)
            next = try self.object(parent).parent
        }
        return found
    }
}

extension StoreTransaction {
    /// The objects that the changes between two points are about.
    mutating func objects(
        between first: SeenLines,
        and second: SeenLines
    ) throws(StoreError) -> Set<ObjectIndex> {
        var found: Set<ObjectIndex> = []
        for position in 0..<self.lineCount {
            let line = LineIndex(rawValue: UInt32(position))
            let progress = self.progress(of: line)
            var next = max(min(first[line], second[line]) + 1, progress.firstSequence)
            let last = max(first[line], second[line])
            while next <= last, let run = try self.loadRun(of: line, from: next, limits: RunLimits(), signed: false) {
                for change in run.changes where next <= last {
                    for operation in run.operations[change.operationRange] where operation.kind.hasObject {
                        found.insert(try self.objectIndex(of: run.objects[Int(operation.object)]))
                    }
                    next += 1
                }
            }
        }
        return found
    }
}
