internal import CRDTCore

/// What this device knows of what its user wrote in another circle than it belongs to.
struct CarryingOver {
    /// When to look again, if there is a reason to, in monotonic milliseconds.
    fileprivate var next: UInt64 = 0
    /// Since when there is something to be carried over that this device wrote, and that others did.
    private var ownSince: UInt64?
    private var otherSince: UInt64?
    /// What was tried: it is tried again when it, or what anybody may write, has changed.
    fileprivate var tried: [ObjectIndex: Attempt] = [:]
    /// The objects that are to be looked at: something has changed of them, or was left of them the last time.
    fileprivate var objects: Set<ObjectIndex> = []
    /// How often something of an object was carried over while something was left of it.
    fileprivate var counts: [ObjectIndex: Int] = [:]

    /// When the first of it is due.
    fileprivate var due: UInt64? {
        [self.ownSince.map { $0 + Self.ownPatience }, self.otherSince.map { $0 + Self.otherPatience }]
            .compactMap(\.self).min()
    }

    /// Those of some pieces that are due, and not too many.
    fileprivate mutating func take(_ pieces: [LeftPiece], at now: UInt64, isAlone: Bool) -> [LeftPiece] {
        let (own, others) = (pieces.filter(\.isByThisDevice), pieces.filter { !$0.isByThisDevice })
        var due: [LeftPiece] = []
        if isAlone || self.ownSince.map({ $0 + Self.ownPatience <= now }) ?? false { due += own }
        if self.otherSince.map({ $0 + Self.otherPatience <= now }) ?? false { due += others }
        due = Array(due.prefix(Self.pieceCountMax))
        self.ownSince = own.isEmpty ? nil : self.ownSince ?? now
        self.otherSince = others.isEmpty ? nil : self.otherSince ?? now
        return due
    }

    fileprivate struct Attempt: Equatable {
        var existence: Existence
        var rightsRevision: Int
    }

    /// How long a device waits with what it wrote itself, while it is in a session: more may come that decides.
    fileprivate static let ownPatience: UInt64 = 1_000
    /// How long it leaves to another one what that has written.
    fileprivate static let otherPatience: UInt64 = 15_000
    /// How often something of one object is carried over while something is left of it: what keeps coming back is
    /// somebody's to decide.
    fileprivate static let countMaxByObject = 256
    /// Pieces that one transaction carries over.
    fileprivate static let pieceCountMax = 256
    /// Objects, and rows of them, that are looked at per millisecond of waiting.
    fileprivate static let costPerMillisecond = 20
}

/// Something that this user wrote in the circle that an object was in, while it was moved to another one.
private struct LeftPiece {
    /// What is left in that circle, and its circle.
    var object: ObjectIndex
    var id: ObjectID
    /// What shows in its place, or in that of its parent.
    var shown: ObjectIndex
    var circle: Circle
    /// What is written again.
    var edits: [LeftEdit]
    /// Whether nobody else has a part in what lives there.
    var isOwn: Bool
    /// Whether this device wrote any of it.
    var isByThisDevice: Bool
    var attempt: CarryingOver.Attempt

    /// Whether the object was put elsewhere.
    var isMoved: Bool { self.edits.contains { $0.edit.kind == .move } }

    /// The actions that it is of.
    var actions: [ActionContext] {
        let all = self.edits.map(\.action)
        let actions = all.enumerated().filter { !all[..<$0.offset].contains($0.element) }.map(\.element)
        return actions.isEmpty ? [LeftEdit.ofNoAction] : actions
    }

    /// Its values alone.
    var values: LeftPiece {
        var piece = self
        piece.edits.removeAll { $0.edit.kind == .move }
        piece.isOwn = false
        return piece
    }

    /// All but its values.
    var rest: LeftPiece {
        var piece = self
        piece.edits.removeAll { $0.edit.kind != .move }
        return piece
    }
}

/// An edit that is written again, and the action that it is of.
private struct LeftEdit {
    var edit: Edit
    /// That of this device which the edit was of, so that who takes that back takes this back; else none that anybody
    /// takes back.
    var action: ActionContext
    /// Whether what shows is older.
    var isLater = true

    static let ofNoAction = ActionContext(label: LeftWrite.label)
}

/// Carrying over what was left behind: what this user wrote to an object, or put below it, while it was moved to
/// another circle, is written again where the object is now, and what lives on where it was is deleted, unless others
/// have written there too.
///
/// A device carries over what it wrote itself, a moment after both are here; what other devices of its user wrote only
/// if those do not. If two do it at once, both write the same.
extension Node where Store: ~Copyable {
    /// When to look for what was left behind; nil if there is no reason to.
    var carryingDeadline: UInt64? {
        if self.state.mayHaveLeft { return self.carrying.next }
        return self.carrying.due.map { max(self.carrying.next, $0) }
    }

    /// Looks for what was left behind, and carries some of it over.
    mutating func carryOver() {
        let (now, known, counts) = (self.now.monotonicMilliseconds, self.carrying.tried, self.carrying.counts)
        do throws(StoreError) {
            self.replica.author.state.mayHaveLeft = false
            let (user, device) = (self.identity.user, self.identity.device)
            let touched = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
                try transaction.takeTouched()
            }
            self.carrying.objects.formUnion(touched)
            let objects = self.carrying.objects
            let (found, cost) = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
                try transaction.piecesLeft(of: objects, by: user, on: device)
            }
            self.carrying.objects = Set(found.map(\.shown))
            self.carrying.next = now + UInt64(clamping: cost / CarryingOver.costPerMillisecond)
            // What is left no more needs no memory.
            let left = Set(found.map(\.object))
            self.carrying.tried = known.filter { left.contains($0.key) }
            self.carrying.counts = counts.filter { left.contains($0.key) }
            let new = found.filter { piece in
                known[piece.object] != piece.attempt
                    && self.carrying.counts[piece.object] ?? 0 < CarryingOver.countMaxByObject
            }
            let due = self.carrying.take(new, at: now, isAlone: self.readyConnections.isEmpty)
            guard !due.isEmpty else { return }
            for piece in due {
                self.carrying.tried[piece.object] = piece.attempt
                self.carrying.counts[piece.object, default: 0] += 1
            }
            var refused: Set<ObjectIndex> = []
            try self.replica.transaction {
                (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) in
                // What is put into another circle goes there with all that was written to it.
                for piece in due.contains(where: \.isMoved) ? new : due {
                    if try !author.carryOver(piece.values, in: &transaction) { refused.insert(piece.object) }
                }
                // Where values may not be written, nothing else is done: they stay where they are.
                for piece in due where (piece.isMoved || piece.isOwn) && !refused.contains(piece.object) {
                    _ = try author.carryOver(piece.rest, in: &transaction)
                }
            }
            self.pumpAll()
        } catch {
            // Nothing of it was written, so nothing was tried.
            (self.carrying.tried, self.carrying.counts) = (known, counts)
            self.replica.author.state.mayHaveLeft = true
            self.carrying.next = now + ConnectionTimes.backoffMax
            self.note(error)
        }
    }
}

extension ReplicaAuthor {
    /// Writes again what was left behind, if this user may write it, as part of the actions that had written it.
    ///
    /// Returns false if he may not, or if it is too large for a transaction: it stays where it is.
    fileprivate mutating func carryOver(
        _ piece: LeftPiece,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> Bool {
        // Another piece may have brought it elsewhere.
        guard try transaction.look(at: piece.object, { $0.existence }) == piece.attempt.existence,
            try transaction.existingObjectIndex(of: transaction.object(piece.shown).id) == piece.shown
        else { return false }
        let actions = piece.actions
        for action in actions {
            var part = piece
            part.edits.removeAll { $0.action != action }
            if action != actions.last { part.isOwn = false }
            let content = WriteRequest.Content.body { [part] local throws(WriteRefusal) in try local.carryOver(part) }
            switch try self.perform(content, on: nil, as: action, in: &transaction) {
            case .success: continue
            case .failure(.store(let error)) where error != .compacted: throw error
            case .failure: return false
            }
        }
        return true
    }
}

extension LocalTransaction {
    fileprivate mutating func carryOver(_ piece: LeftPiece) throws(WriteRefusal) {
        try self.planning { local throws(WriteRefusal) in
            local.plan.leftover = piece.circle
            for left in piece.edits {
                let edit = left.edit
                switch edit {
                case .set(let object, let name, let value):
                    if left.isLater { try local.plan.set(object, name: name, value: value) }
                    // Where it was hidden meanwhile, others read it no more.
                    if piece.object == piece.shown {
                        try local.plan.append(.unset(object, name: name), in: piece.circle)
                    }
                case .unset(let object, _):
                    // What was hidden meanwhile was taken from there, and not away.
                    try local.plan.append(edit, in: local.plan.circle(of: object, in: &local.state))
                case .move(let object, let place): try local.carryOver(object, to: place)
                default: break
                }
            }
            guard piece.isOwn, local.plan.birthplaces[piece.id] != piece.circle else { return }
            try local.plan.append(.delete(piece.id), in: piece.circle)
        }
    }

    /// Puts an object where it was put, if that is there and not below it.
    private mutating func carryOver(_ object: ObjectID, to place: Place) throws(WriteRefusal) {
        guard try self.canStand(object, below: place.parent) else { return }
        try self.plan.place(object, under: place.parent, at: place.position, in: &self.state)
    }
}

extension StoreTransaction {
    /// The objects of which something may be left since this was last asked.
    fileprivate mutating func takeTouched() throws(StoreError) -> Set<ObjectIndex> {
        var overlay = try self.currentOverlay()
        defer { self.overlay = overlay }
        return overlay.takeTouched()
    }

    /// What a user wrote, on this device or another one, in circles that some objects were moved from meanwhile.
    ///
    /// - Returns: the pieces, and how many objects, properties, creations and deletions were looked at.
    fileprivate mutating func piecesLeft(
        of objects: Set<ObjectIndex>,
        by user: UserID,
        on device: DeviceID
    ) throws(StoreError) -> (found: [LeftPiece], cost: Int) {
        var (found, cost): ([LeftPiece], Int) = ([], 0)
        for left in try self.contestedObjects(of: objects) {
            cost += left.rowCount
            for object in left.departed {
                cost += try 1 + self.registers(of: object).count
                if let piece = try self.pieceLeft(on: object, of: left, by: user, on: device) { found.append(piece) }
                for child in try self.visibleChildren(of: object, after: nil, limit: .max) {
                    cost += 1
                    guard let move = try left.move(of: child, below: object, in: &self),
                        self.segment(move.segment).introduction?.user == user,
                        var piece = try self.pieceLeft(of: child, by: move, below: left.shown, on: device)
                    else { continue }
                    piece.isByThisDevice = self.segment(move.segment).device == device
                    found.append(piece)
                }
            }
        }
        for object in try self.coveredObjects() where objects.contains(object) {
            cost += try 1 + self.registers(of: object).count
            found += try self.piecesCovered(on: object, by: user, device)
        }
        return (found, cost)
    }

    /// What a user wrote to properties where others read them, while they were hidden there: it is hidden as well, or
    /// taken from there if what is hidden is later.
    ///
    /// Who takes something back knows what is hidden, and wants it there.
    private mutating func piecesCovered(
        on shown: ObjectIndex,
        by user: UserID,
        _ device: DeviceID
    ) throws(StoreError) -> [LeftPiece] {
        var writes: [LeftWrite] = []
        for left in try self.coveredWrites(on: shown) where left.object == shown && left.isInForce {
            guard self.segment(left.write.segment).introduction?.user == user else { continue }
            if try self.undo(at: left.write.point) == nil { writes.append(left) }
        }
        guard !writes.isEmpty else { return [] }
        let record = try self.object(shown)
        return [
            LeftPiece(
                object: shown,
                id: record.id,
                shown: shown,
                circle: self.circles[record.circle],
                edits: try self.edits(of: writes, by: device),
                isOwn: false,
                isByThisDevice: writes.contains { self.segment($0.write.segment).device == device },
                attempt: .init(existence: record.existence, rightsRevision: self.rights.revision)
            )
        ]
    }

    /// What a user wrote to an object that was moved.
    private mutating func pieceLeft(
        on object: ObjectIndex,
        of left: LeftBehind,
        by user: UserID,
        on device: DeviceID
    ) throws(StoreError) -> LeftPiece? {
        let shown = left.shown
        let record = try self.object(object)
        let isOwn = try left.isLeft(object, by: user, in: &self)
        // Which of several places counts, where it was moved several times at once, is nobody's to say.
        let isTwice = try self.isAlive(elsewhereThan: [object, shown])
        let writes = try left.writes(on: object, in: &self).filter { left in
            left.isInForce && self.segment(left.write.segment).introduction?.user == user
                && !(isTwice && left.name == .place)
        }
        guard isOwn || !writes.isEmpty else { return nil }
        let living = record.existence.entries.filter { $0.touched > $0.removed }.map(\.segment)
        let edits = try self.edits(of: writes, by: device)
        return LeftPiece(
            object: object,
            id: record.id,
            shown: shown,
            circle: self.circles[record.circle],
            edits: edits,
            isOwn: isOwn,
            isByThisDevice: (writes.map(\.write.segment) + living).contains { self.segment($0).device == device },
            attempt: .init(existence: record.existence, rightsRevision: self.rights.revision)
        )
    }

    /// What some writes say, and the actions that they are of.
    private mutating func edits(
        of writes: [LeftWrite],
        by device: DeviceID
    ) throws(StoreError) -> [LeftEdit] {
        var edits: [LeftEdit] = []
        for left in writes {
            guard let edit = try self.edit(left.write) else { continue }
            let action = left.isLater ? try self.actionContext(of: left.write, by: device) : LeftEdit.ofNoAction
            edits.append(LeftEdit(edit: edit, action: action, isLater: left.isLater))
        }
        return edits
    }

    private mutating func actionContext(
        of write: WriteReference,
        by device: DeviceID
    ) throws(StoreError) -> ActionContext {
        guard let action = try self.action(of: write.point, by: device) else { return LeftEdit.ofNoAction }
        var context = ActionContext(label: action.label, start: action.start)
        context.link = .carriesOver
        return context
    }

    /// Whether objects with the id of the first of some live in further circles.
    private mutating func isAlive(elsewhereThan known: [ObjectIndex]) throws(StoreError) -> Bool {
        for object in try self.objects(of: self.object(known[0]).id) where !known.contains(object) {
            let circle = try self.object(object).circle
            if !self.circles[circle].isBeside, try self.isAlive(object) { return true }
        }
        return false
    }

    /// What a user put below an object that was moved, if he has not taken it away again from where that is now.
    private mutating func pieceLeft(
        of child: ObjectIndex,
        by move: WriteReference,
        below shown: ObjectIndex,
        on device: DeviceID
    ) throws(StoreError) -> LeftPiece? {
        let (record, parent) = (try self.object(child), try self.object(shown))
        guard try self.existingObjectIndex(of: record.id) == child, parent.circle != record.circle,
            try !self.isAlive(elsewhereThan: [child]),
            let user = self.segment(move.segment).introduction?.user
        else { return nil }
        if let former = try self.existingObjectIndex(of: record.id, in: parent.circle), let creation = record.creation {
            let deletions = try self.deletions(of: former).filter {
                self.segment($0.segment).introduction?.user == user && $0.stamp >= creation.write.stamp
            }
            // That by which it came here is none.
            let device = self.segment(creation.write.segment).device
            let arrival = deletions.filter { self.segment($0.segment).device == device }.min { $0.stamp < $1.stamp }
            if deletions.contains(where: { $0 != arrival && $0.stamp >= move.stamp }) { return nil }
        }
        return LeftPiece(
            object: child,
            id: record.id,
            shown: shown,
            circle: self.circles[record.circle],
            edits: [
                LeftEdit(
                    edit: .move(record.id, Place(parent: parent.id, position: record.position)),
                    action: try self.actionContext(of: move, by: device)
                )
            ],
            isOwn: false,
            isByThisDevice: false,
            attempt: .init(existence: record.existence, rightsRevision: self.rights.revision)
        )
    }
}
