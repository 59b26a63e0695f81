internal import CRDTCore

/// Undo and redo: the edits that take a change back, or do it again.
extension LocalTransaction {
    /// Takes the user's last change back that is in force, or does the one again that was taken back last.
    ///
    /// Only what nobody has edited since changes: the rest is named in the report, and stays as it is.
    ///
    /// - Returns: nil if there is no such change.
    package mutating func reverse(isRedo: Bool) throws(WriteRefusal) -> UndoReport? {
        if let refusal = self.refusal { throw refusal }
        do throws(WriteRefusal) {
            let user = self.plan.user
            let target = try WriteRefusal.from { () throws(StoreError) in
                try self.store.nextReversal(of: user, isRedo: isRedo)
            }
            guard let target else { return nil }
            var plan = try UndoPlan(of: target, isRedo: isRedo, in: &self.store)
            return try plan.perform(on: &self.plan, in: &self.store)
        } catch {
            self.refusal = error
            throw error
        }
    }
}

/// What one undo or redo does, object by object.
private struct UndoPlan {
    private let target: LinePoint
    private let isRedo: Bool
    private let edits: [Edit]
    /// The history if the change counts, and if it does not.
    private var with: ReversedHistory
    private var without: ReversedHistory
    private var report: UndoReport
    private let reversal: Reversal
    /// Objects that the change made or deleted: they come and go as a whole.
    private var revived: [ObjectID] = []
    private var deleted: [ObjectID] = []
    private var left: Set<ObjectID> = []
    /// What the report names already.
    private var named: Set<KeptPart> = []

    private struct KeptPart: Hashable {
        var object: ObjectID
        var part: UndoReport.Part
    }

    init(of target: LinePoint, isRedo: Bool, in store: inout any StoreTransaction) throws(WriteRefusal) {
        self.target = target
        self.isRedo = isRedo
        self.with = ReversedHistory(assuming: target, isUndone: false)
        self.without = ReversedHistory(assuming: target, isUndone: true)
        let read = try WriteRefusal.from { () throws(StoreError) -> (Reversal, UndoReport, [Edit]) in
            try UndoPlan.read(target, isRedo: isRedo, in: &store)
        }
        (self.reversal, self.report, self.edits) = read
    }

    private static func read(
        _ target: LinePoint,
        isRedo: Bool,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> (Reversal, UndoReport, [Edit]) {
        let limits = RunLimits(changeCountMax: 1)
        guard let hash = try store.hash(at: target),
            let run = try store.loadRun(of: target.line, from: target.sequence, limits: limits, signed: false),
            let change = run.changes.first
        else { throw .damaged("a change is missing from the log") }
        var edits: [Edit] = []
        for operation in run.operations[change.operationRange] {
            guard let edit = try? run.edit(operation) else { throw .damaged("a change in the log cannot be read") }
            if edit.object != nil { edits.append(edit) }
        }
        let replica = store.replicaID(target.line)
        let report = UndoReport(
            change: Point(replica: replica, sequence: target.sequence, name: ChangeName(hash)),
            stamp: try store.effectiveStamp(at: target),
            deviceName: store.line(target.line).introduction?.deviceName,
            edits: edits,
            kept: []
        )
        let reversal = Reversal(replica: replica, sequence: target.sequence, hash: hash, isRedo: isRedo)
        return (reversal, report, edits)
    }

    mutating func perform(
        on plan: inout TransactionPlan,
        in store: inout some StoreTransaction
    ) throws(WriteRefusal) -> UndoReport {
        try plan.note(self.reversal)
        try self.decideLives(in: &store)
        try self.spareFullFolders(in: &store)
        try self.spareOrphans(in: &store)
        for object in self.deleted { try plan.deleteAlone(object) }
        for object in self.revived {
            let creation = try WriteRefusal.from { () throws(StoreError) in try Self.kind(of: object, in: &store) }
            try plan.revive(object, type: creation.type, kind: creation.kind)
        }
        for (object, name) in self.properties { try self.restore(name, of: object, on: &plan, in: &store) }
        for object in self.moved { try self.restorePlace(of: object, on: &plan, in: &store) }
        return self.report
    }

    // MARK: - Objects that come and go

    /// Decides which objects of those that the change made or deleted live.
    private mutating func decideLives(in store: inout some StoreTransaction) throws(WriteRefusal) {
        var made: Set<ObjectID> = []
        for case .create(let object, _, _) in self.edits { made.insert(object) }
        var seen: Set<ObjectID> = []
        for edit in self.edits {
            guard let object = edit.object, edit.kind == .create || edit.kind == .delete, seen.insert(object).inserted
            else { continue }
            let (shouldLive, lives) = try self.life(of: object, in: &store)
            // Undoing a creation should end a life, and undoing a deletion should begin one.
            let shouldBegin = made.contains(object) == self.isRedo
            if shouldLive != shouldBegin {
                self.left.insert(object)
                try self.keep(object, .object, shouldLive ? .edited : .deleted, in: &store)
            } else if shouldLive, !lives {
                self.revived.append(object)
            } else if !shouldLive, lives {
                self.deleted.append(object)
            }
        }
    }

    private mutating func life(
        of object: ObjectID,
        in store: inout some StoreTransaction
    ) throws(WriteRefusal) -> (shouldLive: Bool, lives: Bool) {
        do throws(StoreError) {
            let index = try store.objectIndex(of: object)
            let shouldLive =
                self.isRedo
                ? try self.with.isAlive(index, in: &store) : try self.without.isAlive(index, in: &store)
            return (shouldLive, try store.look(at: index) { $0.existence.isAlive })
        } catch {
            throw .store(error)
        }
    }

    /// What somebody has put something into stays.
    private mutating func spareFullFolders(in store: inout some StoreTransaction) throws(WriteRefusal) {
        var going = Set(self.deleted)
        var isSettled = false
        while !isSettled {
            isSettled = true
            for object in self.deleted where going.contains(object) {
                let isFull = try WriteRefusal.from { () throws(StoreError) -> Bool in
                    for child in try store.children(of: try store.objectIndex(of: object)) {
                        let record = try store.object(child)
                        if record.isVisible, !going.contains(record.id) { return true }
                    }
                    return false
                }
                guard isFull else { continue }
                isSettled = false
                going.remove(object)
                self.left.insert(object)
                try self.keep(object, .object, .hasChildren, in: &store)
            }
        }
        self.deleted.removeAll { !going.contains($0) }
    }

    /// What would bring a folder back that somebody else has deleted stays deleted.
    private mutating func spareOrphans(in store: inout some StoreTransaction) throws(WriteRefusal) {
        var coming = Set(self.revived)
        var isSettled = false
        while !isSettled {
            isSettled = true
            for object in self.revived where coming.contains(object) {
                let hasParent = try WriteRefusal.from { () throws(StoreError) -> Bool in
                    guard let parent = try store.parent(of: try store.objectIndex(of: object)) else { return true }
                    let record = try store.object(parent)
                    return record.isVisible || coming.contains(record.id)
                }
                guard !hasParent else { continue }
                isSettled = false
                coming.remove(object)
                self.left.insert(object)
                try self.keep(object, .object, .parentGone, in: &store)
            }
        }
        self.revived.removeAll { !coming.contains($0) }
    }

    private static func kind(
        of object: ObjectID,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> (type: String, kind: String) {
        guard let creation = try store.object(try store.objectIndex(of: object)).creation else { return ("", "") }
        return (try store.name(creation.type), try store.name(creation.kind))
    }

    // MARK: - Properties

    /// The properties that the change wrote, each once, of objects that are not settled as a whole.
    private var properties: [(ObjectID, String)] {
        var (found, seen): ([(ObjectID, String)], Set<ObjectProperty>) = ([], [])
        for edit in self.edits {
            switch edit {
            case .set(let object, let name, _), .unset(let object, let name):
                guard self.concerns(object), seen.insert(ObjectProperty(object: object, name: ExactText(name))).inserted
                else { continue }
                found.append((object, name))
            default: continue
            }
        }
        return found
    }

    private struct ObjectProperty: Hashable {
        var object: ObjectID
        var name: ExactText
    }

    private func concerns(_ object: ObjectID) -> Bool {
        !self.left.contains(object) && !self.deleted.contains(object)
    }

    private mutating func restore(
        _ name: String,
        of object: ObjectID,
        on plan: inout TransactionPlan,
        in store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        guard try plan.isVisible(object, in: &store) else { return try self.keep(object, .object, .deleted, in: &store) }
        let found = try WriteRefusal.from { () throws(StoreError) in try self.found(name, of: object, in: &store) }
        guard let found else { return }
        switch found {
        case .edited(let line): self.keep(object, .property(name), .edited, store.line(line).introduction)
        case .unknown: self.keep(object, .property(name), .unknown, nil)
        case .value(let value?): try plan.set(object, name: name, value: value)
        case .value(nil): try plan.unset(object, name: name)
        }
    }

    private enum Found {
        case edited(LineIndex)
        case unknown
        case value(Value?)
    }

    /// What a property should be; nil if it is that already.
    private mutating func found(
        _ name: String,
        of object: ObjectID,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> Found? {
        let key = RegisterKey(object: try store.objectIndex(of: object), name: try store.nameIndex(of: name))
        guard let last = try self.with.lastWrite(at: key, in: &store) else { return nil }
        guard last.point == self.target else { return .edited(last.line) }
        let wanted = self.isRedo ? last : try self.without.lastWrite(at: key, in: &store)
        let value: Value?
        switch try wanted.flatMap({ write throws(StoreError) in try store.edit(write) }) {
        case .set(_, _, let set): value = set
        case .unset, nil: value = nil
        default: return .unknown
        }
        return try store.value(of: key.name, on: key.object) == value ? nil : .value(value)
    }

    // MARK: - Places

    /// The objects that the change moved and that are not settled as a whole.
    ///
    /// An undo goes backwards, so that it never puts an object below itself on the way.
    private var moved: [ObjectID] {
        var (found, seen): ([ObjectID], Set<ObjectID>) = ([], [])
        for case .move(let object, _) in self.edits.reversed() where self.concerns(object) {
            if seen.insert(object).inserted { found.append(object) }
        }
        return self.isRedo ? found.reversed() : found
    }

    private mutating func restorePlace(
        of object: ObjectID,
        on plan: inout TransactionPlan,
        in store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        guard try plan.isVisible(object, in: &store) else { return try self.keep(object, .object, .deleted, in: &store) }
        let moves = try WriteRefusal.from { () throws(StoreError) -> (last: MoveRecord?, wanted: MoveRecord?) in
            let index = try store.objectIndex(of: object)
            let last = try self.with.lastMove(of: index, in: &store)
            return (last, self.isRedo ? last : try self.without.lastMove(of: index, in: &store))
        }
        guard let last = moves.last else { return }
        guard last.write.point == self.target else {
            return self.keep(object, .place, .edited, store.line(last.write.line).introduction)
        }
        let wanted = try WriteRefusal.from { () throws(StoreError) -> Place in
            let parent = try moves.wanted?.parent.map { above throws(StoreError) in try store.object(above).id }
            return Place(parent: parent, position: moves.wanted?.position ?? .initial)
        }
        let isThere = try WriteRefusal.from { () throws(StoreError) -> Bool in
            let record = try store.object(try store.objectIndex(of: object))
            return record.parent == moves.wanted?.parent && record.position == wanted.position
        }
        if isThere { return }
        if let parent = wanted.parent, try !plan.isVisible(parent, in: &store) {
            return self.keep(object, .place, .parentGone, nil)
        }
        if try plan.wouldCloseCycle(object, under: wanted.parent, in: &store) {
            return self.keep(object, .place, .parentGone, nil)
        }
        try plan.put(object, under: wanted.parent, at: wanted.position)
    }

    // MARK: - What stays

    private mutating func keep(
        _ object: ObjectID,
        _ part: UndoReport.Part,
        _ reason: UndoReport.Reason,
        _ author: Introduction?
    ) {
        guard self.named.insert(KeptPart(object: object, part: part)).inserted else { return }
        self.report.kept.append(UndoReport.Kept(object: object, part: part, reason: reason, author: author))
    }

    /// Names the author of the last edit of an object.
    private mutating func keep(
        _ object: ObjectID,
        _ part: UndoReport.Part,
        _ reason: UndoReport.Reason,
        in store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        let author = try WriteRefusal.from { () throws(StoreError) -> Introduction? in
            let history = try store.history(of: try store.objectIndex(of: object)).filter { $0.point != self.target }
            guard let last = history.max(by: { WriteOrder.precedes($0, $1, store) }) else { return nil }
            return store.line(last.line).introduction
        }
        self.keep(object, part, reason, author)
    }
}
