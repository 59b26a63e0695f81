package import CRDTCore

/// What a restore did.
package struct RestoreReport: Hashable, Sendable {
    /// Objects that were there then: the one that was asked for, and what was below it.
    package var objectCount = 0
    /// Of those, the ones that are created again.
    package var revivedCount = 0
    /// Whether the object at the top is not put where it was, since its parent of then is gone, or is below it.
    package var staysInPlace = false
}

/// Brings back what was at an earlier moment, by new edits.
extension LocalTransaction {
    /// Makes a property what it was.
    package mutating func restore(
        _ name: String,
        of object: ObjectID,
        to view: HistoryView
    ) throws(WriteRefusal) -> RestoreReport {
        try self.planning { local throws(WriteRefusal) in
            try local.plan.restore(name, of: object, to: view, of: local.store, in: &local.state)
        }
    }

    /// Makes an object what it was, with everything that was below it.
    ///
    /// What came below it since then stays.
    package mutating func restore(_ object: ObjectID, to view: HistoryView) throws(WriteRefusal) -> RestoreReport {
        try self.planning { local throws(WriteRefusal) in
            try local.plan.restore(object, to: view, of: local.store, in: &local.state)
        }
    }
}

extension TransactionPlan {
    fileprivate mutating func restore(
        _ name: String,
        of object: ObjectID,
        to view: HistoryView,
        of store: some StoreTransaction,
        in state: inout some CircleReading
    ) throws(WriteRefusal) -> RestoreReport {
        guard try self.isVisible(object, in: &state) else { throw .noSuchObject(object) }
        let found = try WriteRefusal.from { () throws(StoreError) -> (wasThere: Bool, value: Value?) in
            var past = CombinedState(view, of: store)
            guard let index = try past.existingObjectIndex(of: object), try past.object(index).isVisible else {
                return (false, nil)
            }
            return (true, try past.property(name, of: index))
        }
        guard found.wasThere else { throw .wasNotThere(object) }
        if let value = found.value {
            let now = try self.properties(of: object, in: &state)[ExactText(name)]
            if value != now { try self.set(object, name: name, value: value) }
        } else if try self.propertyNames(of: object, in: &state).contains(ExactText(name)) {
            try self.unset(object, name: name)
        }
        return RestoreReport(objectCount: 1)
    }

    fileprivate mutating func restore(
        _ object: ObjectID,
        to view: HistoryView,
        of store: some StoreTransaction,
        in state: inout some CircleReading
    ) throws(WriteRefusal) -> RestoreReport {
        let objects = try WriteRefusal.from { () throws(StoreError) -> [PastObject] in
            try PastObject.tree(object, view, in: store)
        }
        guard !objects.isEmpty else { throw .wasNotThere(object) }
        var report = RestoreReport(objectCount: objects.count)
        for then in objects {
            let isThere = try self.isVisible(then.id, in: &state)
            if !isThere {
                report.revivedCount += 1
                try self.revive(then.id, type: then.type, kind: then.kind)
            }
            let now = try self.properties(of: then.id, in: &state)
            for (name, value) in then.properties.sorted(by: { $0.key < $1.key }) where now[name] != value {
                try self.set(then.id, name: name.text, value: value)
            }
            for name in try self.propertyNames(of: then.id, in: &state) where then.properties[name] == nil {
                try self.unset(then.id, name: name.text)
            }
            if try !self.restorePlace(of: then, in: &state) { report.staysInPlace = true }
        }
        return report
    }

    /// Puts an object where it was; returns false if that cannot be.
    private mutating func restorePlace(
        of then: PastObject,
        in state: inout some CircleReading
    ) throws(WriteRefusal) -> Bool {
        var place = then.place
        var isPossible = true
        let now = try self.exactPlace(of: then.id, in: &state)
        if let parent = place.parent {
            isPossible = try self.isVisible(parent, in: &state)
            // What stands there already closes no cycle.
            if isPossible, parent != now.parent {
                isPossible = try !self.wouldCloseCycle(then.id, under: parent, in: &state)
            }
        }
        if !isPossible {
            // It shows where it is, unless it would show something that is gone.
            guard let parent = now.parent, try !self.isVisible(parent, in: &state) else { return false }
            place.parent = nil
        }
        if place != now { try self.put(then.id, under: place.parent, at: place.position) }
        return isPossible
    }

    /// Where an object stands with this transaction's moves.
    private func exactPlace(
        of object: ObjectID,
        in state: inout some CircleReading
    ) throws(WriteRefusal) -> Place {
        let parent = try self.place(of: object, in: &state)
        if let position = self.position(putFor: object) { return Place(parent: parent, position: position) }
        return try WriteRefusal.from { () throws(StoreError) -> Place in
            guard let index = try state.existingObjectIndex(of: object) else { return .initial }
            return Place(parent: parent, position: try state.object(index).position)
        }
    }
}

/// An object as it was.
private struct PastObject {
    var id: ObjectID
    var type = ""
    var kind = ""
    var place: Place
    var properties: [ExactText: Value]

    /// An object and what was below it, parents before their children; none if it was not there.
    static func tree(
        _ root: ObjectID,
        _ view: HistoryView,
        in store: some StoreTransaction
    ) throws(StoreError) -> [PastObject] {
        var past = CombinedState(view, of: store)
        guard let index = try past.existingObjectIndex(of: root) else { return [] }
        var objects: [PastObject] = []
        for member in try StateExport.subtree(index, in: &past) {
            objects.append(try PastObject(member, in: &past))
        }
        return objects
    }

    private init(_ index: ObjectIndex, in past: inout some CircleReading) throws(StoreError) {
        let record = try past.object(index)
        self.id = record.id
        if let creation = record.creation {
            (self.type, self.kind) = (try past.name(creation.type), try past.name(creation.kind))
        }
        let parent = try record.parent.map { above throws(StoreError) in try past.object(above).id }
        self.place = Place(parent: parent, position: record.position)
        self.properties = try StateExport.properties(of: index, in: &past)
    }
}
