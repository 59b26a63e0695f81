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
    /// P12: what a segment's last applied change had seen is applied.
    static func causality(in transaction: borrowing some StoreTransaction) -> String? {
        for segment in transaction.segmentIndices {
            let record = transaction.segment(segment)
            guard record.appliedSequence >= record.firstSequence else { continue }
            for (cause, seen) in record.context.all where cause != segment {
                let other = transaction.segment(cause)
                if other.appliedSequence < seen {
                    return "\(record.id):\(record.appliedSequence) is applied and had seen \(other.id):\(seen), "
                        + "which is applied up to \(other.appliedSequence)"
                }
            }
        }
        return nil
    }

    /// Whether something is stored and not applied, or a restamp is stored, due and not settled.
    ///
    /// Not a question to the clock: what has come due is applied at the node's next event, and what has come to stand
    /// elsewhere is settled at the next one that finds room on the disk.
    static func isWaiting(of founder: UserID, in transaction: inout some StoreTransaction) throws(StoreError) -> Bool {
        if !self.waitingSegments(in: transaction).isEmpty { return true }
        return try self.hasDueRestamps(of: founder, in: &transaction)
    }

    /// Whether a restamp is stored that orders something anew, and is not settled.
    static func hasDueRestamps(
        of founder: UserID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        // Mostly there is none, and those that cover nothing stay in the list.
        guard !transaction.restamps.unsettled.isEmpty else { return false }
        return try !Merge(now: WallTime(milliseconds: 0), founder: founder).dueRestamps(in: &transaction).isEmpty
    }

    /// The segments of which something is stored and not applied.
    static func waitingSegments(in transaction: borrowing some StoreTransaction) -> [SegmentIndex] {
        var waiting: [SegmentIndex] = []
        for segment in transaction.segmentIndices where transaction.progress(of: segment).isPending {
            waiting.append(segment)
        }
        return waiting
    }

    /// Whether something of a branch counts on the main timeline.
    static func hasMerged(in transaction: borrowing some StoreTransaction) -> Bool {
        for segment in transaction.segmentIndices {
            let progress = transaction.progress(of: segment)
            if progress.branch != nil, progress.countedSequence >= progress.firstSequence { return true }
        }
        return false
    }

    /// Whether something is applied that would be held by a clock.
    static func hasAppliedHeld(at now: WallTime, in transaction: borrowing some StoreTransaction) -> Bool {
        for segment in transaction.segmentIndices {
            let record = transaction.segment(segment)
            if HybridClock.isHeld(record.appliedStamp, at: now) { return true }
        }
        return false
    }

    /// What is applied although a clock has never shown a time at which it is not held.
    static func appliedTooEarly(
        after latest: WallTime,
        in transaction: borrowing some StoreTransaction
    ) -> String? {
        for segment in transaction.segmentIndices {
            let record = transaction.segment(segment)
            guard HybridClock.isHeld(record.appliedStamp, at: latest) else { continue }
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

    /// P16, of what is put together from several circles.
    static func combinedTree(in transaction: some StoreTransaction) throws(StoreError) -> String? {
        var state = CombinedState(.present, of: transaction)
        let visible = try state.visibleObjects()
        var (reached, open): (Set<ObjectIndex>, [ObjectIndex?]) = ([], [nil])
        while let parent = open.popLast() {
            for child in try state.visibleChildren(of: parent, after: nil, limit: .max) {
                guard reached.insert(child).inserted else { return "an object is listed twice" }
                guard try state.object(child).parent == parent else {
                    return "\(try state.object(child).id) is listed where it does not stand"
                }
                open.append(child)
            }
        }
        return reached == Set(visible) ? nil : "\(visible.count) objects show, \(reached.count) are listed"
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
