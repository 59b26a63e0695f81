/// Who may do what: an operation without right has no effect, and no rows.
///
/// What is said of rights counts from the moment when it is stored, whatever its change waits for. What that turns is
/// computed anew, as other late knowledge is.
extension Merge {
    /// Takes note of the statements in a run that was stored on a segment, and of what others have waited for.
    func noteRights(
        in run: Run,
        author: SegmentIndex,
        _ transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let circle = transaction.progress(of: author).circle
        if transaction.rights.awaits(run.replica, run.firstSequence...run.lastSequence, in: circle) {
            var rights = transaction.rights
            rights.unsettle(circle)
            transaction.setRights(rights)
        }
        guard run.operations.contains(where: { $0.kind == .rights }) else { return }
        for (position, change) in run.changes.enumerated() {
            let point = SegmentPoint(segment: author, sequence: run.firstSequence + UInt64(position))
            for (index, operation) in run.operations[change.operationRange].enumerated()
            where operation.kind == .rights {
                guard (try? RightsStatement(decoding: run.payload[operation.payloadRange])) != nil else { continue }
                try transaction.addRights(StatementPlace(change: point, index: UInt32(index)))
            }
        }
    }

    /// Finds how far a segment counts of which nothing is stored yet, by what is settled.
    func beginRights(of segment: SegmentIndex, in transaction: inout some StoreTransaction) throws(StoreError) {
        var rights = transaction.rights
        let circle = transaction.progress(of: segment).circle
        let isUnread = self.isUnread(circle, by: rights.rights(in: circle), in: transaction)
        if isUnread != rights.isUnread(circle) {
            rights.note(circle, isUnread: isUnread)
            transaction.setRights(rights)
        }
        let limits = try self.limits(of: segment, by: rights.rights(in: circle), in: &transaction)
        // What its grants are may come later.
        var awaited: [NamedChange] = []
        if limits != nil { awaited = try self.missingGrants(of: segment, in: &transaction) }
        guard limits != nil || !awaited.isEmpty else { return }
        rights.limit(segment, to: limits)
        for change in awaited { rights.note(missing: change, in: circle) }
        transaction.setRights(rights)
    }

    /// Finds what follows from the statements that are stored, where the state agrees with them already.
    func prepareRights(in transaction: inout some StoreTransaction) throws(StoreError) {
        guard !transaction.rights.isReady else { return }
        transaction.setRights(try self.judgedRights(in: &transaction))
    }

    /// Takes all statements into account that are stored, and turns what they turn.
    ///
    /// - Complexity: O(*l*) for *l* segments, with what `CircleRights` takes for those of the circles that it is about;
    ///   for what turns, as `revise`.
    mutating func settleRights(in transaction: inout some StoreTransaction) throws(StoreError) {
        try self.prepareRights(in: &transaction)
        let unsettled = transaction.rights.unsettled
        guard !unsettled.isEmpty else { return }
        let (former, current) = (transaction.rights, try self.judgedRights(in: &transaction))
        var (counted, unmerged): ([SegmentPoint], [SegmentPoint]) = ([], [])
        for segment in transaction.segmentIndices where unsettled.contains(transaction.progress(of: segment).circle) {
            let (before, now) = (former.limits(of: segment), current.limits(of: segment))
            guard before != now else { continue }
            for place in try self.changes(on: segment, turningFrom: before, to: now, in: &transaction) {
                let isCounted = place.sequence <= transaction.progress(of: segment).countedSequence
                if isCounted { counted.append(place) } else { unmerged.append(place) }
            }
        }
        try self.forget(unmerged, in: &transaction)
        transaction.setRights(current)
        try self.noteLeft(former.unseen.symmetricDifference(current.unseen), in: &transaction)
        try self.revise(counted, formerly: former, in: &transaction)
        for place in unmerged {
            let run = try transaction.change(at: place)
            let indexes = try self.indexes(of: run, on: place.segment, in: &transaction)
            try self.record(run, indexes, at: place, in: &transaction)
        }
    }

    /// Takes note that what is in some circles may have to show, or to show no more.
    private mutating func noteLeft(
        _ circles: Set<CircleIndex>,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard !circles.isEmpty else { return }
        for object in try transaction.objectsOutsideOfHome() {
            if try circles.contains(transaction.look(at: object) { $0.circle }) { self.noteStale(object) }
        }
    }

    /// What follows from all statements that are stored, of the circles where something came since it was settled.
    func judgedRights(in transaction: inout some StoreTransaction) throws(StoreError) -> RightsTable {
        var rights = transaction.rights
        let circles = (0..<UInt32(transaction.circles.count)).map { CircleIndex(rawValue: $0) }
        for circle in circles where !rights.isReady || rights.unsettled.contains(circle) {
            try self.judge(circle, &rights, in: &transaction)
        }
        rights.prepare()
        return rights
    }

    private func judge(
        _ circle: CircleIndex,
        _ rights: inout RightsTable,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var said = rights.said(in: circle)
        var awaited: [NamedChange] = []
        for place in rights.places(in: circle).dropFirst(said.count) {
            let write = WriteReference(
                stamp: .zero,
                segment: place.change.segment,
                sequence: place.change.sequence,
                index: place.index
            )
            guard case .rights(let statement) = try transaction.edit(write) else {
                throw .damaged("a statement about rights is missing from the log")
            }
            let hash = try transaction.hash(at: place.change) ?? .zero
            said.append(CircleRights.Said(statement, at: place, in: hash))
        }
        rights.keep(said, in: circle)
        for said in said { awaited += try transaction.missing(said.statement.namedChanges) }
        let owner = transaction.circles[circle].owner(founder: self.policy.founder)
        let judged = said.isEmpty ? nil : try CircleRights(owner: owner, said, in: &transaction)
        var limits: [SegmentIndex: RightEnds?] = [:]
        for segment in transaction.segmentIndices where transaction.progress(of: segment).circle == circle {
            limits[segment] = .some(try self.limits(of: segment, by: judged, in: &transaction))
            awaited += try self.missingGrants(of: segment, in: &transaction)
        }
        rights.settle(circle, judged, limits, missing: awaited, for: transaction.circles.reader?.user)
        rights.note(circle, isUnread: self.isUnread(circle, by: judged, in: transaction))
    }

    /// Whether a circle is one of others in which nobody has ever said that the user of the store reads it.
    private func isUnread(
        _ circle: CircleIndex,
        by rights: CircleRights?,
        in transaction: some StoreTransaction
    ) -> Bool {
        let id = transaction.circles[circle]
        guard let user = transaction.circles.reader?.user, id != .roster else { return false }
        return id.owner(founder: self.policy.founder) != user && !(rights?.names(user) ?? false)
    }

    /// How far a segment counts; nil if all of it does.
    private func limits(
        of segment: SegmentIndex,
        by rights: CircleRights?,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> RightEnds? {
        guard let rights else {
            let owner = self.owner(of: segment, in: transaction)
            return transaction.segment(segment).introduction?.user == owner ? nil : RightEnds.none
        }
        let ends = try rights.ends(of: segment, in: &transaction)
        return ends == RightEnds(all: .max) ? nil : ends
    }

    /// The user who may do everything in the circle that a segment belongs to.
    func owner(of segment: SegmentIndex, in transaction: some StoreTransaction) -> UserID {
        transaction.circles[transaction.progress(of: segment).circle].owner(founder: self.policy.founder)
    }

    /// The changes with grants that a chain names and that are not here.
    private func missingGrants(
        of segment: SegmentIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [NamedChange] {
        guard let grants = transaction.segment(segment).introduction?.grants, !grants.isEmpty else { return [] }
        return try transaction.missing(grants.map(\.change))
    }

    /// The applied changes of a segment with edits about which the verdict is another one now.
    ///
    /// - Complexity: O(*n*) for *n* changes between the former ends and the new ones.
    private func changes(
        on segment: SegmentIndex,
        turningFrom former: RightEnds?,
        to current: RightEnds?,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [SegmentPoint] {
        let (former, current) = (former ?? RightEnds(all: .max), current ?? RightEnds(all: .max))
        let progress = transaction.progress(of: segment)
        guard progress.hasApplied else { return [] }
        let applied = progress.firstSequence...progress.appliedSequence
        var sequences: Set<UInt64> = []
        for range in current.turned(from: former) where range.overlaps(applied) {
            sequences.formUnion(range.clamped(to: applied))
        }
        var places: [SegmentPoint] = []
        for sequence in sequences.sorted() {
            let place = SegmentPoint(segment: segment, sequence: sequence)
            let run = try transaction.change(at: place)
            let isTurned = run.operations[run.changes[0].operationRange].contains { operation in
                operation.kind.hasObject
                    && former.allow(operation, of: run, at: sequence)
                        != current.allow(operation, of: run, at: sequence)
            }
            if isTurned { places.append(place) }
        }
        return places
    }
}

extension RightsStatement {
    /// The changes that it names.
    fileprivate var namedChanges: [NamedChange] {
        switch self {
        case .grants(let grant): grant.despite.map(\.change)
        case .removes(let removal): removal.heads
        case .removesDevice(let removal): removal.heads
        case .membershipKey: []
        }
    }
}

extension StoreTransaction {
    /// Those of some changes that are not stored.
    fileprivate mutating func missing(_ changes: [NamedChange]) throws(StoreError) -> [NamedChange] {
        var missing: [NamedChange] = []
        for change in changes {
            let place = try self.place(of: change.replica, sequence: change.sequence, hash: change.hash)
            if place == nil { missing.append(change) }
        }
        return missing
    }
}

extension StoreTransaction {
    /// Who may do what by all statements that are stored, also where nobody has settled them: a reader of a database.
    ///
    /// - Complexity: as for `CircleRights` in each circle; O(1) where they are settled.
    package mutating func judgedRights(founder: UserID) throws(StoreError) -> RightsTable {
        if self.rights.isReady, self.rights.unsettled.isEmpty { return self.rights }
        let policy = MergePolicy(now: WallTime(milliseconds: .max), founder: founder)
        return try Merge(policy).judgedRights(in: &self)
    }
}
