package import CRDTCore
internal import Engine
package import Persistence

/// Reads one delta from a state of the database.
package struct DeltaReading {
    /// Where to read on, as a sequence of changes keeps it.
    package struct Position: Hashable, Sendable {
        var history: Bytes16?
        var place: ChangePlace
        var resetEnd: Int64

        /// Whether more belongs to the same moment.
        var isWithinCommit: Bool { self.place.object != .max && self != .start }

        /// Before everything.
        package static let start = Position(history: nil, place: ChangePlace(commit: 0, object: -1), resetEnd: 0)
    }

    let scope: Scope
    let workspace: UInt64
    let device: DeviceID

    /// `workspace`: the first bytes of its id; `device`: who reads.
    package init(scope: Scope, workspace: UInt64, device: DeviceID) {
        (self.scope, self.workspace, self.device) = (scope, workspace, device)
    }

    /// Objects that are looked at for one element.
    static let countMax = 1_000

    /// The position behind everything that there is.
    func end(in transaction: inout SQLiteTransaction) throws -> Position {
        let last = transaction.lastCommit
        let epoch = try self.history(in: &transaction).epoch(of: last)
        return Position(history: epoch, place: .end(of: last), resetEnd: 0)
    }

    func token(at position: Position) -> ChangeToken {
        ChangeToken(
            workspace: self.workspace,
            history: position.history ?? Bytes16(high: 0, low: 0),
            scope: self.scope.digest,
            place: position.place,
            resetEnd: position.resetEnd
        )
    }

    private func history(in transaction: inout SQLiteTransaction) throws -> DatabaseEpochs {
        guard let history = try transaction.fact(NodeFact.history).flatMap({ try? DatabaseEpochs(decoding: $0) }) else {
            throw StoreError.damaged("the database does not say which one it is")
        }
        return history
    }

    /// What has changed behind a position, and the next one.
    ///
    /// The delta is nil if nothing of the scope has changed; then the position may be a later one all the same.
    package func delta(
        after former: Position,
        in transaction: inout SQLiteTransaction
    ) throws -> (delta: Delta?, next: Position) {
        let history = try self.history(in: &transaction)
        let last = transaction.lastCommit
        var position = former
        let seen = max(former.place.commit, former.resetEnd)
        let isReset = !(former.history.map { history.holds(seen, of: $0, last: last) } ?? false)
        if isReset {
            position = Position.start
            position.resetEnd = last
        }
        let state = WorkspaceState(.present, of: transaction)
        var reading = Reading(scope: self.scope, device: self.device, since: position, state)
        let isWhole = try reading.read(in: &transaction)
        position.place = isWhole ? .end(of: last) : reading.place
        if isWhole || position.place.commit > position.resetEnd { position.resetEnd = 0 }
        position.history = history.epoch(of: max(position.place.commit, position.resetEnd))
        // After a part there is always another one, which says that it is the last.
        guard !reading.isEmpty || isReset || former.isWithinCommit else { return (nil, position) }
        return (reading.delta(isReset: isReset, hasMore: !isWhole, token: self.token(at: position)), position)
    }
}

/// What one delta finds on its way.
private struct Reading {
    let membership: ScopeMembership
    let device: DeviceID
    /// What is known: all that changed up to this place, and of the whole state all up to a commit.
    let since: DeltaReading.Position
    /// What the user sees.
    private var state: WorkspaceState

    var place: ChangePlace
    private var left: [Delta.Entry] = []
    private var present: [Delta.Entry] = []
    private var told: Set<ObjectIndex> = []
    /// The bytes of the states that are told.
    private var byteCount = 0
    /// The objects above the top of a subtree, once they were looked up.
    private var aboveTop: Set<ObjectIndex>?
    private var hasToldTopAgain = false
    private var segments: Set<SegmentIndex> = []
    private var authors: Set<Author> = []

    init(scope: Scope, device: DeviceID, since: DeltaReading.Position, _ state: WorkspaceState) {
        self.state = state
        self.membership = ScopeMembership(scope)
        self.device = device
        self.since = since
        self.place = since.place
    }

    var isEmpty: Bool { self.left.isEmpty && self.present.isEmpty }

    func delta(isReset: Bool, hasMore: Bool, token: ChangeToken) -> Delta {
        Delta(
            objects: self.left + self.present,
            isReset: isReset,
            hasMore: hasMore,
            authors: self.authors.sorted { ($0.name, $0.isThisMachine ? 0 : 1) < ($1.name, $1.isThisMachine ? 0 : 1) },
            token: token
        )
    }

    /// Returns whether everything was looked at.
    mutating func read(in transaction: inout SQLiteTransaction) throws -> Bool {
        // One object is looked at by itself, however much else has changed.
        if case .object(let id) = self.membership.scope {
            if let index = try self.state.existingObjectIndex(of: id) {
                for part in try [index] + self.state.besides(index) {
                    guard let change = try transaction.changes(of: part),
                        ChangePlace(commit: change.changed, object: Int64(part.rawValue)) > self.since.place
                    else { continue }
                    try self.take(change, in: &transaction)
                }
            }
            try self.nameAuthors(in: &transaction)
            return true
        }
        let limit = DeltaReading.countMax
        var isWhole = false
        while !isWhole, self.left.count + self.present.count < limit, self.byteCount < Page.byteCountMax {
            let changes = try transaction.changedObjects(after: self.place, limit: limit)
            var rest = changes[...]
            while self.byteCount < Page.byteCountMax, let change = rest.popFirst() {
                try self.take(change, in: &transaction)
                self.place = ChangePlace(commit: change.changed, object: Int64(change.index.rawValue))
            }
            isWhole = rest.isEmpty && changes.count < limit
        }
        try self.nameAuthors(in: &transaction)
        return isWhole
    }

    /// The last commit of which everything about an object was told.
    private func known(of index: ObjectIndex) -> Int64 {
        let place = self.since.place
        return max(Int64(index.rawValue) <= place.object ? place.commit : place.commit - 1, self.since.resetEnd)
    }

    private mutating func take(_ changed: ChangedObject, in transaction: inout SQLiteTransaction) throws {
        guard let change = try self.shown(for: changed, in: &transaction) else { return }
        // Of the whole state everything is told that shows, and nothing else.
        let isWhole = change.changed <= self.since.resetEnd
        let known = self.known(of: change.index)
        switch try self.membership.contains(change.index, in: &self.state) {
        case .inside:
            try self.tell(change, known, isWhole: isWhole, in: &transaction)
            // What is below it has not changed by itself, and is in the scope perhaps only now.
            if max(change.shown, change.placed) > known, !isWhole, self.membership.isSubtree {
                try self.tellAllBelow(change.index, in: &transaction)
            }
        case .hidden:
            guard !isWhole, change.hidden > known else { return }
            if let segment = try transaction.segmentOfLastDeletion(of: change.index) { self.segments.insert(segment) }
            let leaving: Delta.Leaving = try self.isGivenUp(change.index, in: &transaction) ? .givenUp : .deleted
            try self.tellLeft(change.index, leaving, in: &transaction)
        case .elsewhere(let mayHaveBeenInside):
            // What did not show before was not in the scope.
            let mayHaveShown = change.hidden > known || change.shown <= known
            guard !isWhole, mayHaveShown, mayHaveBeenInside || change.placed > known else { return }
            if change.placed > known, let segment = try transaction.segmentOfLastMove(of: change.index) {
                self.segments.insert(segment)
            }
            for (_, register) in try transaction.changedRegisters(of: change.index, since: known) {
                self.segments.insert(register.winner.segment)
            }
            try self.tellLeft(change.index, .moved, in: &transaction)
            try self.tellTopAgain(ifBelow: change.index, in: &transaction)
        }
    }

    /// What shows for the id of an object that has changed, with the later one of both changes: another circle may have
    /// one with that id.
    ///
    /// Nil if that has been told.
    private mutating func shown(
        for change: ChangedObject,
        in transaction: inout SQLiteTransaction
    ) throws -> ChangedObject? {
        guard transaction.circles.count > 1 else { return change }
        let id = try self.state.object(change.index).id
        guard let shown = try self.state.existingObjectIndex(of: id), shown != change.index,
            try self.state.object(shown).isVisible
        else { return change }
        guard !self.told.contains(shown), var other = try transaction.changes(of: shown) else { return nil }
        other.changed = max(other.changed, change.changed)
        return other
    }

    /// Whether an object is in a circle that the user has left.
    private mutating func isGivenUp(
        _ index: ObjectIndex,
        in transaction: inout SQLiteTransaction
    ) throws(StoreError) -> Bool {
        guard transaction.circles.count > 1, let reader = transaction.circles.reader else { return false }
        let rights = try transaction.judgedRights(founder: reader.founder)
        for place in try transaction.objects(of: try self.state.object(index).id)
        where rights.isUnseen(try transaction.object(place).circle) { return true }
        return false
    }

    private mutating func tellLeft(
        _ index: ObjectIndex,
        _ leaving: Delta.Leaving,
        in transaction: inout SQLiteTransaction
    ) throws {
        let id = try self.state.object(index).id
        let includesBelow = leaving == .moved && self.membership.isSubtree
        self.left.append(Delta.Entry(gone: id, leaving, includesBelow: includesBelow))
    }

    /// Tells the whole subtree again if an object has left that its top stands below now: a reader that forgets what
    /// is below the object forgets the top, too.
    private mutating func tellTopAgain(
        ifBelow index: ObjectIndex,
        in transaction: inout SQLiteTransaction
    ) throws {
        guard case .subtree(let id) = self.membership.scope, let top = try self.state.existingObjectIndex(of: id),
            try self.state.object(top).isVisible, !self.hasToldTopAgain
        else { return }
        if self.aboveTop == nil {
            var above: Set<ObjectIndex> = []
            var next = try self.state.object(top).parent
            while let object = next {
                guard above.insert(object).inserted else { throw CycleWatch<ObjectIndex>.damage }
                next = try self.state.object(object).parent
            }
            self.aboveTop = above
        }
        guard self.aboveTop?.contains(index) ?? false, let change = try transaction.changes(of: top) else { return }
        self.hasToldTopAgain = true
        try self.tell(change, change.changed, isWhole: false, in: &transaction)
        try self.tellAllBelow(top, in: &transaction)
    }

    private mutating func tell(
        _ change: ChangedObject,
        _ known: Int64,
        isWhole: Bool,
        in transaction: inout SQLiteTransaction
    ) throws {
        guard self.told.insert(change.index).inserted else { return }
        let state = try Object(change.index, in: &self.state)
        self.byteCount += state.properties.byteCount
        guard !isWhole else {
            return self.present.append(Delta.Entry(state))
        }
        var names: [String] = []
        for part in try [change.index] + self.state.besides(change.index) {
            for (name, register) in try transaction.changedRegisters(of: part, since: known) {
                names.append(try transaction.name(name))
                self.segments.insert(register.winner.segment)
            }
        }
        let isCreated = change.shown > known
        let isMoved = change.placed > known && !isCreated
        if isCreated, let creation = try self.state.object(change.index).creation {
            self.segments.insert(creation.write.segment)
        }
        if isMoved, let segment = try transaction.segmentOfLastMove(of: change.index) { self.segments.insert(segment) }
        self.present.append(
            Delta.Entry(state, changed: Set(names).sorted(), isCreated: isCreated, isMoved: isMoved)
        )
    }

    private mutating func tellAllBelow(_ top: ObjectIndex, in transaction: inout SQLiteTransaction) throws {
        var open: [ObjectIndex] = [top]
        var seen: Set<ObjectIndex> = []
        while let parent = open.popLast() {
            guard seen.insert(parent).inserted else { throw CycleWatch<ObjectIndex>.damage }
            var children = ChildPages(of: parent)
            while let (child, _) = try children.next(in: &self.state) {
                open.append(child)
                guard let change = try transaction.changes(of: child) else { continue }
                let place = ChangePlace(commit: change.changed, object: Int64(child.rawValue))
                // What has changed itself comes by itself.
                guard place <= self.since.place else { continue }
                try self.tell(change, change.changed, isWhole: false, in: &transaction)
            }
        }
    }

    private mutating func nameAuthors(in transaction: inout SQLiteTransaction) throws {
        for segment in self.segments {
            guard let introduction = transaction.segment(segment).introduction else { continue }
            let isThisMachine = introduction.device == self.device
            self.authors.insert(Author(name: introduction.deviceName, isThisMachine: isThisMachine))
        }
    }
}
