internal import CRDTCore

/// All visible objects of a store, each read once.
struct VisibleObjects {
    /// In ascending order of ids.
    let records: [(ObjectIndex, ObjectRecord)]
    private let places: [ObjectIndex: Int]

    init(of transaction: inout some StoreTransaction) throws(StoreError) {
        var records: [(ObjectIndex, ObjectRecord)] = []
        var places: [ObjectIndex: Int] = [:]
        for object in try transaction.visibleObjects() {
            places[object] = records.count
            records.append((object, try transaction.object(object)))
        }
        (self.records, self.places) = (records, places)
    }

    var count: Int { self.records.count }

    subscript(object: ObjectIndex) -> ObjectRecord? { self.places[object].map { self.records[$0].1 } }
}

/// What must hold of one store's state at any time.
///
/// Each check says what is wrong, or nil.
enum StateChecks {
    /// P12: what a replica's last applied change had seen is applied.
    static func causality(in transaction: borrowing some StoreTransaction) -> String? {
        for position in 0..<transaction.replicaCount {
            let record = transaction.replica(ReplicaIndex(rawValue: UInt32(position)))
            guard record.exclusion == nil else { continue }
            for (number, seen) in record.context.enumerated() where number != position {
                let other = transaction.replica(ReplicaIndex(rawValue: UInt32(number)))
                let needed = min(seen, other.exclusion?.lastSequence ?? .max)
                if other.appliedSequence < needed {
                    return "\(record.id):\(record.appliedSequence) is applied and had seen \(other.id):\(needed), "
                        + "which is applied up to \(other.appliedSequence)"
                }
            }
        }
        return nil
    }

    /// Whether something is stored and not applied that may count, now or later.
    ///
    /// Not a question to the clock: what has come due is applied at the node's next event.
    static func isWaiting(in transaction: borrowing some StoreTransaction) -> Bool {
        !self.waitingReplicas(in: transaction).isEmpty
    }

    /// The replicas of which something is stored that counts, and is not applied.
    static func waitingReplicas(in transaction: borrowing some StoreTransaction) -> [ReplicaIndex] {
        var waiting: [ReplicaIndex] = []
        for position in 0..<transaction.replicaCount {
            let index = ReplicaIndex(rawValue: UInt32(position))
            let record = transaction.replica(index)
            let counting = min(record.storedSequence, record.exclusion?.lastSequence ?? .max)
            if record.appliedSequence < counting { waiting.append(index) }
        }
        return waiting
    }

    /// Whether something is applied that would be held by now: it was written or applied while the clock was ahead.
    static func hasAppliedHeld(at now: WallTime, in transaction: borrowing some StoreTransaction) -> Bool {
        for position in 0..<transaction.replicaCount {
            let record = transaction.replica(ReplicaIndex(rawValue: UInt32(position)))
            if HybridClock.isHeld(record.appliedStamp, at: now) { return true }
        }
        return false
    }

    /// What is applied and counts although it is stamped a day or more after a time.
    ///
    /// Held is what is stamped ten minutes ahead; but whoever is behind by less than that draws others' clocks along.
    static func appliedTooEarly(
        after time: WallTime,
        in transaction: borrowing some StoreTransaction
    ) -> String? {
        let latest = time.advanced(byMilliseconds: 86_400_000).milliseconds
        for position in 0..<transaction.replicaCount {
            let record = transaction.replica(ReplicaIndex(rawValue: UInt32(position)))
            guard record.isEffective(record.appliedSequence), record.appliedStamp.milliseconds > latest else {
                continue
            }
            return "\(record.id):\(record.appliedSequence) is stamped \(record.appliedStamp.milliseconds)"
        }
        return nil
    }

    /// P13: registers that are only ever written together have one value.
    static func twins(in transaction: inout some StoreTransaction) throws(StoreError) -> String? {
        var values: [Value?] = []
        for twin in Workload.twins {
            guard let object = try transaction.existingObjectIndex(of: twin.object) else {
                values.append(nil)
                continue
            }
            let name = try transaction.nameIndex(of: twin.property)
            guard let register = try transaction.register(RegisterKey(object: object, name: name)),
                case .set(_, _, let value) = try transaction.edit(register.winner)
            else {
                values.append(nil)
                continue
            }
            values.append(value)
        }
        return values[0] == values[1] ? nil : "twin registers hold \(values)"
    }

    /// P16: every visible object is below the root, once, and nothing is below itself.
    static func tree(in transaction: inout some StoreTransaction) throws(StoreError) -> String? {
        try self.tree(VisibleObjects(of: &transaction), in: &transaction)
    }

    static func tree(
        _ visible: VisibleObjects,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> String? {
        for (object, record) in visible.records {
            guard record.isVisible else { return "\(record.id) is said to show and does not" }
            var steps = 0
            var current = object
            while let parent = visible[current]?.parent {
                guard visible[parent] != nil else { return "\(record.id) shows below something that does not" }
                current = parent
                steps += 1
                if steps > visible.count { return "\(record.id) is below itself" }
            }
        }
        var listed = 0
        var open: [ObjectIndex?] = [nil]
        while let parent = open.popLast() {
            for child in try transaction.children(of: parent) {
                if visible[child] == nil, try !transaction.object(child).isVisible { continue }
                listed += 1
                open.append(child)
            }
            if listed > visible.count { return "an object is listed twice" }
        }
        return listed == visible.count ? nil : "\(visible.count) objects show, \(listed) are listed"
    }
}
