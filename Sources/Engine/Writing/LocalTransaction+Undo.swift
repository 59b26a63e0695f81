package import CRDTCore

/// Undo and redo: the edits that take a change back, or do it again.
extension LocalTransaction {
    /// Takes the last action in a scope back that is in force, or does the one again that was taken back last there:
    /// one change of it, the last first.
    ///
    /// Only what nobody has edited since changes, as far as one change can hold it: the rest is named in the report,
    /// and stays as it is. On a branch, the actions are those that count there.
    ///
    /// - Parameters:
    ///   - isRedo: whether it does something again.
    ///   - scope: whose actions; nil for those of this device and of the program that asks.
    /// - Returns: what was done, and what is left of the action; nil if there is no such action.
    /// - Throws: `WriteRefusal.store` if the store fails.
    package mutating func reverse(isRedo: Bool, scope: UndoScope? = nil) throws(WriteRefusal) -> UndoneStep? {
        let own = UndoScope(device: self.device, label: self.action.label)
        let author = UndoAuthor(user: self.plan.user, device: self.device, scope: scope ?? own)
        let branch = self.branch
        return try self.planning { local throws(WriteRefusal) in
            let found = try WriteRefusal.from { () throws(StoreError) -> NextUndo? in
                let history = History(try local.store.view(of: branch))
                return try local.store.nextUndo(for: author, isRedo: isRedo, on: branch, in: history)
            }
            guard let found else { return nil }
            return try local.perform(UndoRest(author: author, isRedo: isRedo, found: found))
        }
    }

    /// Goes on with an action of which some changes are taken back, or done again.
    ///
    /// - Returns: what was done; nil if something else was done in the scope since, which ends it.
    /// - Throws: `WriteRefusal.store` if the store fails.
    package mutating func reverse(_ rest: UndoRest) throws(WriteRefusal) -> UndoneStep? {
        let branch = self.branch
        return try self.planning { local throws(WriteRefusal) in
            let isLast = try WriteRefusal.from { () throws(StoreError) -> Bool in
                let history = History(try local.store.view(of: branch))
                let last = try local.store.lastChange(for: rest.author, on: branch, in: history)
                guard let last, let undo = try local.store.undo(at: last) else { return false }
                return undo.target == rest.former
            }
            return isLast ? try local.perform(rest) : nil
        }
    }

    private mutating func perform(_ rest: UndoRest) throws(WriteRefusal) -> UndoneStep? {
        var rest = rest
        guard let piece = rest.found.pieces.first else { return nil }
        let own = UndoScope(device: self.device, label: self.action.label)
        let next = rest.found.pieces.count > 1 ? rest.found.first : rest.found.next
        var plan = try WriteRefusal.from { () throws(StoreError) -> UndoPlan in
            let history = History(try self.store.view(of: self.branch))
            let undo = Undo(
                target: try UndoPlan.named(piece.change, in: &self.store),
                isRedo: rest.isRedo,
                scope: rest.author.scope == own ? nil : rest.author.scope,
                merge: try piece.merge.map { point throws(StoreError) in try UndoPlan.named(point, in: &self.store) },
                next: try next.map { point throws(StoreError) in try UndoPlan.named(point, in: &self.store) }
            )
            return try UndoPlan(of: piece.change, undo, by: rest.author.user, history, in: &self.store)
        }
        let report = try plan.perform(on: &self.plan, in: &self.state, &self.store)
        rest.found.pieces.removeFirst()
        rest.former = piece.change
        return UndoneStep(report: report, rest: rest.found.pieces.isEmpty ? nil : rest)
    }
}

/// What is left to do of an action that is taken back, or done again.
package struct UndoRest: Sendable {
    fileprivate let author: UndoAuthor
    fileprivate let isRedo: Bool
    fileprivate var found: NextUndo
    /// What was taken back, or done again, last.
    fileprivate var former: SegmentPoint?

    fileprivate init(author: UndoAuthor, isRedo: Bool, found: NextUndo) {
        (self.author, self.isRedo, self.found) = (author, isRedo, found)
    }

    /// How many changes are left.
    package var changeCount: Int { self.found.pieces.count }
}

/// What one change of an undo or redo did, and what is left of the action; nil if that was the last.
package struct UndoneStep: Sendable {
    package var report: UndoReport
    package var rest: UndoRest?
}

/// What one undo or redo does, object by object.
///
/// An undo makes things what they would be without a change, and a redo what they would be with it. Both leave out what
/// else is taken back, so neither depends on the order in which that was done.
private struct UndoPlan {
    /// The change that is taken back, or done again.
    private let target: SegmentPoint
    private let undo: Undo
    /// Whether it is taken back: what a merge had taken back is done again by an undo.
    private let takesBack: Bool
    private let edits: [Edit]
    /// What counts on the timeline that is written to.
    private var history: History
    /// The same if the change counts, without what else is taken back.
    private var with: History
    /// What it should be: with the change if it is done again, and without it if it is taken back.
    private var wanted: History
    /// Of what is done again, what its undo had found, and the properties that it wrote.
    private var before: UndoneView?
    private var wrote: Set<ObjectProperty> = []
    /// What it should be without the change.
    private var without: History
    private var report: UndoReport
    /// Objects that come and go as a whole, and those that are left as they are.
    private var revived: [ObjectID] = []
    private var deleted: [ObjectID] = []
    private var going: Set<ObjectID> = []
    private var left: Set<ObjectID> = []
    /// What the report names already.
    private var named: Set<KeptPart> = []

    private struct KeptPart: Hashable {
        var object: ObjectID
        var part: UndoReport.Part
    }

    /// `piece`: the change that is taken back, or the undo of the one that is done again.
    init(
        of piece: SegmentPoint,
        _ undo: Undo,
        by user: UserID,
        _ history: History,
        in store: inout some StoreTransaction
    ) throws(StoreError) {
        let word = try store.undo(at: piece)
        let (target, takesBack) = (word?.change ?? piece, !(word?.isTakenBack ?? false))
        (self.target, self.undo, self.takesBack, self.history) = (target, undo, takesBack, history)
        self.edits = try UndoPlan.edits(of: target, in: &store)
        let state = UndoState(of: user, in: history, &store)
        self.with = history.leavingOut(state.taking(target, isUndone: false, byReversing: piece))
        self.without = history.leavingOut(state.taking(target, isUndone: true, byReversing: piece))
        self.wanted = takesBack ? self.without : self.with
        if !takesBack {
            self.before = try UndoneView(before: piece, by: user, in: &store)
            for edit in try UndoPlan.edits(of: piece, in: &store) {
                if let property = ObjectProperty(edit) { self.wrote.insert(property) }
            }
        }
        self.report = UndoReport(
            change: Point(
                replica: store.replicaID(target.segment),
                sequence: target.sequence,
                name: ChangeName(try UndoPlan.hash(of: target, in: &store))
            ),
            stamp: try store.effectiveStamp(at: target),
            deviceName: store.segment(target.segment).introduction?.deviceName,
            label: try store.label(at: target),
            isMerged: undo.isRedo ? word?.isOfMerge ?? false : undo.merge != nil,
            isUndo: takesBack == undo.isRedo,
            edits: self.edits,
            kept: []
        )
    }

    static func named(
        _ change: SegmentPoint,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> NamedChange {
        let hash = try Self.hash(of: change, in: &store)
        return NamedChange(replica: store.replicaID(change.segment), sequence: change.sequence, hash: hash)
    }

    private static func hash(
        of change: SegmentPoint,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> Hash256 {
        guard let hash = try store.hash(at: change) else { throw .damaged("a change is missing from the log") }
        return hash
    }

    /// The edits of a change that are about objects.
    private static func edits(
        of point: SegmentPoint,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> [Edit] {
        let limits = RunLimits(changeCountMax: 1)
        guard let run = try store.loadRun(of: point.segment, from: point.sequence, limits: limits, signed: false),
            let change = run.changes.first
        else { throw .damaged("a change is missing from the log") }
        var edits: [Edit] = []
        for operation in run.operations[change.operationRange] {
            guard let edit = try? run.edit(operation) else { throw .damaged("a change in the log cannot be read") }
            if edit.object != nil { edits.append(edit) }
        }
        return edits
    }

    mutating func perform(
        on plan: inout TransactionPlan,
        in state: inout some StateReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) -> UndoReport {
        try plan.note(self.undo)
        try self.decideLives(in: &store)
        try self.spareFullFolders(in: &state, &store)
        try self.spareOrphans(in: &state, &store)
        for object in self.revived {
            let creation = try WriteRefusal.from { () throws(StoreError) in try Self.kind(of: object, in: &state) }
            let edit = Edit.create(object, type: creation.type, kind: creation.kind)
            guard self.finds(room: edit, of: .object, on: object, in: plan) else { continue }
            try plan.revive(object, type: creation.type, kind: creation.kind)
        }
        // Before values, which can fill a change.
        for object in self.moved { try self.restorePlace(of: object, on: &plan, in: &state, &store) }
        let moved = Set(self.moved)
        for object in self.revived where !self.left.contains(object) && !moved.contains(object) {
            try self.settlePlace(of: object, on: &plan, in: &state, &store)
        }
        for (object, name) in self.properties { try self.restore(name, of: object, on: &plan, in: &state, &store) }
        try self.restorePropertiesOfRevived(on: &plan, in: &state, &store)
        // Last, so that they cover what was written before; everything before has left them room.
        for object in self.deleted { try plan.deleteAlone(object) }
        self.report.hasEffect = plan.edits.contains { $0.object != nil }
        return self.report
    }

    /// Gives what comes back the values that it had, as far as it does not show them again by itself.
    private mutating func restorePropertiesOfRevived(
        on plan: inout TransactionPlan,
        in state: inout some StateReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        let others = try WriteRefusal.from { () throws(StoreError) in try self.propertiesOfRevived(in: &store) }
        // What the object at hand shows, which may be very much: each name comes once.
        var shown: (object: ObjectID, values: [ExactText: Value], names: Set<ExactText>)?
        for (object, name) in others {
            let found = try WriteRefusal.from { () throws(StoreError) -> Found in
                do throws(StoreError) {
                    return .value(try self.settled(name, of: object, in: &store))
                } catch .compacted {
                    return .unknown
                }
            }
            guard case .value(let value) = found else {
                self.keep(object, .property(name), .unknown, nil)
                continue
            }
            if shown?.object != object {
                let values = try plan.properties(of: object, in: &state)
                shown = (object, values, Set(try plan.propertyNames(of: object, in: &state)))
            }
            let exact = ExactText(name)
            let isThere = value == nil ? !(shown?.names.contains(exact) ?? false) : value == shown?.values[exact]
            if !isThere { try self.put(value, name, of: object, on: &plan) }
        }
    }

    /// Whether the change has room for an edit; if it has none, that part of the object is named and left as it is.
    private mutating func finds(
        room edit: Edit,
        of part: UndoReport.Part,
        on object: ObjectID,
        in plan: TransactionPlan
    ) -> Bool {
        if plan.hasRoom(for: edit, before: self.deleted.count) { return true }
        if part == .object { self.left.insert(object) }
        self.keep(object, part, .tooLarge, nil)
        return false
    }

    private mutating func put(
        _ value: Value?,
        _ name: String,
        of object: ObjectID,
        on plan: inout TransactionPlan
    ) throws(WriteRefusal) {
        let edit: Edit = value.map { .set(object, name: name, value: $0) } ?? .unset(object, name: name)
        guard self.finds(room: edit, of: .property(name), on: object, in: plan) else { return }
        if let value { try plan.set(object, name: name, value: value) } else { try plan.unset(object, name: name) }
    }

    // MARK: - Objects that come and go

    /// Decides which of the objects live that the change is about.
    private mutating func decideLives(in store: inout some StoreTransaction) throws(WriteRefusal) {
        var (made, ended): (Set<ObjectID>, Set<ObjectID>) = ([], [])
        for edit in self.edits {
            guard let object = edit.object else { continue }
            if edit.kind == .create { made.insert(object) }
            if edit.kind == .delete { ended.insert(object) }
        }
        var seen: Set<ObjectID> = []
        for object in self.edits.compactMap(\.object) where seen.insert(object).inserted {
            let (isMade, isEnded) = (made.contains(object), ended.contains(object))
            let wish = try self.life(of: object, isMade: isMade, isEnded: isEnded, in: &store)
            switch wish.shouldLive {
            case .none:
                self.left.insert(object)
                try self.keep(object, .object, wish.lives ? .edited : .deleted, in: &store)
            case true where !wish.lives: self.revived.append(object)
            case false where wish.lives || (self.takesBack ? isMade : isEnded): self.deleted.append(object)
            default: break
            }
        }
    }

    /// Whether an object shall live, nil if it is left as it is; and whether it lives.
    private mutating func life(
        of object: ObjectID,
        isMade: Bool,
        isEnded: Bool,
        in store: inout some StoreTransaction
    ) throws(WriteRefusal) -> (shouldLive: Bool?, lives: Bool) {
        do throws(StoreError) {
            let index = try store.objectIndex(of: object)
            let lives = try self.history.isAlive(index, in: &store)
            let shouldLive = try self.wanted.isAlive(index, in: &store)
            // Without a creation it should be dead, and without a deletion alive; with them the other way round. Any
            // other edit may have kept an object that somebody else deleted meanwhile, and so may one that is made anew
            // as it is deleted.
            let isMeant = shouldLive == (self.takesBack ? isEnded : isMade)
            return (isMade != isEnded && !isMeant ? nil : shouldLive, lives)
        } catch {
            throw .store(error)
        }
    }

    /// What somebody has put something into stays.
    private mutating func spareFullFolders(
        in state: inout some StateReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        var going = Set(self.deleted)
        let moved = Set(self.moved)
        var isSettled = false
        while !isSettled {
            isSettled = true
            for object in self.deleted where going.contains(object) {
                let isFull = try WriteRefusal.from { () throws(StoreError) -> Bool in
                    let parent = try store.objectIndex(of: object)
                    for child in try state.children(of: parent) {
                        let record = try state.object(child)
                        guard record.isVisible, !going.contains(record.id) else { continue }
                        if moved.contains(record.id), let found = try self.foundMove(of: record.id, in: &store),
                            found.isUntouched, found.move?.parent != parent
                        {
                            continue
                        }
                        if try self.before?.stood(child, below: parent, in: &store) ?? false { continue }
                        return true
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
        self.going = going
    }

    /// What would bring a folder back that somebody else has deleted stays deleted.
    private mutating func spareOrphans(
        in state: inout some StateReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        var coming = Set(self.revived)
        var isSettled = false
        while !isSettled {
            isSettled = true
            for object in self.revived where coming.contains(object) {
                let hasParent = try WriteRefusal.from { () throws(StoreError) -> Bool in
                    // It may have been made anew elsewhere while it was gone.
                    var parent = try state.object(try store.objectIndex(of: object)).parent
                    if let found = try self.foundMove(of: object, in: &store), found.isUntouched {
                        parent = found.move?.parent
                    }
                    guard let parent else { return true }
                    let record = try state.object(parent)
                    if record.isVisible || coming.contains(record.id) { return true }
                    return try self.before?.isUntouched(parent, in: self.history, &store) ?? false
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
        in state: inout some StateReading
    ) throws(StoreError) -> (type: String, kind: String) {
        guard let index = try state.existingObjectIndex(of: object), let creation = try state.object(index).creation
        else { return ("", "") }
        return (try state.name(creation.type), try state.name(creation.kind))
    }

    // MARK: - Properties

    /// Properties of objects that come back, which others that were taken back may have written while they were gone.
    private func propertiesOfRevived(
        in store: inout some StoreTransaction
    ) throws(StoreError) -> [(ObjectID, String)] {
        var found: [(ObjectID, String)] = []
        for object in self.revived where !self.left.contains(object) {
            for name in try self.history.names(of: try store.objectIndex(of: object), in: &store) {
                found.append((object, try store.name(name)))
            }
        }
        return found.sorted { ($0.0, ExactText($0.1)) < ($1.0, ExactText($1.1)) }
    }

    /// The properties that the change wrote, each once.
    ///
    /// Those of an object that goes are restored too: others may keep it in sight, or make it come back. So are those
    /// of one that is left: each is judged by itself.
    private var properties: [(ObjectID, String)] {
        var (found, seen): ([(ObjectID, String)], Set<ObjectProperty>) = ([], [])
        for edit in self.edits {
            guard let property = ObjectProperty(edit), seen.insert(property).inserted else { continue }
            found.append((property.object, property.name.text))
        }
        return found
    }

    private struct ObjectProperty: Hashable {
        var object: ObjectID
        var name: ExactText

        init(object: ObjectID, name: ExactText) { (self.object, self.name) = (object, name) }

        /// The one that an edit writes; nil if it writes none.
        init?(_ edit: Edit) {
            switch edit {
            case .set(let object, let name, _), .unset(let object, let name), .redacted(let object, let name, _):
                (self.object, self.name) = (object, ExactText(name))
            default: return nil
            }
        }
    }

    /// Whether an object may be edited: it shows, or it goes.
    ///
    /// The undo itself deletes what goes, after the edits.
    private func takesEdits(
        _ object: ObjectID,
        on plan: TransactionPlan,
        in state: inout some StateReading
    ) throws(WriteRefusal) -> Bool {
        if self.going.contains(object) { return true }
        return try plan.isVisible(object, in: &state)
    }

    private mutating func restore(
        _ name: String,
        of object: ObjectID,
        on plan: inout TransactionPlan,
        in state: inout some StateReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        guard try self.takesEdits(object, on: plan, in: &state) else {
            return try self.keep(object, .object, .deleted, in: &store)
        }
        let found = try WriteRefusal.from { () throws(StoreError) -> Found? in
            do throws(StoreError) {
                return try self.found(name, of: object, in: &state, &store)
            } catch .compacted {
                return .unknown
            }
        }
        guard let found else { return }
        switch found {
        case .edited(let segment): self.keep(object, .property(name), .edited, store.segment(segment).introduction)
        case .unknown: self.keep(object, .property(name), .unknown, nil)
        case .value(let value): try self.put(value, name, of: object, on: &plan)
        }
    }

    private enum Found {
        case edited(SegmentIndex)
        case unknown
        case value(Value?)
    }

    /// What a property should be; nil if it is that already.
    private mutating func found(
        _ name: String,
        of object: ObjectID,
        in state: inout some StateReading,
        _ store: inout some StoreTransaction
    ) throws(StoreError) -> Found? {
        let key = RegisterKey(object: try store.objectIndex(of: object), name: try store.nameIndex(of: name))
        guard let last = try self.with.lastWrite(at: key, in: &store) else { return nil }
        guard last.point == self.target else {
            // It stands for what was dropped.
            if try store.undo(at: last.point) != nil { return .unknown }
            return .edited(last.segment)
        }
        let wanted = try self.wanted.lastWrite(at: key, in: &store)
        let value: Value?
        switch try wanted.flatMap({ write throws(StoreError) in try store.edit(write) }) {
        case .set(_, _, let set): value = set
        case .unset, nil: value = nil
        default: return .unknown
        }
        if try state.missingProperties(of: key.object).contains(name) { return .value(value) }
        if try state.value(of: key.name, on: key.object) == value { return nil }
        // An undo that did not know what had been there has left the property as it was.
        if !self.takesBack, !self.wrote.contains(ObjectProperty(object: object, name: ExactText(name))) {
            _ = try self.without.lastWrite(at: key, in: &store)
        }
        return .value(value)
    }

    /// The value that a property should have.
    private mutating func settled(
        _ name: String,
        of object: ObjectID,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> Value? {
        let key = RegisterKey(object: try store.objectIndex(of: object), name: try store.nameIndex(of: name))
        return try self.wanted.value(at: key, in: &store)
    }

    // MARK: - Places

    /// The objects that the change moved.
    ///
    /// The last is the first to go back, so that none is put below itself on the way.
    private var moved: [ObjectID] {
        var (found, seen): ([ObjectID], Set<ObjectID>) = ([], [])
        for case .move(let object, _) in self.edits.reversed() where seen.insert(object).inserted {
            found.append(object)
        }
        return found
    }

    private mutating func restorePlace(
        of object: ObjectID,
        on plan: inout TransactionPlan,
        in state: inout some StateReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        guard try self.takesEdits(object, on: plan, in: &state) else {
            return try self.keep(object, .object, .deleted, in: &store)
        }
        let found = try WriteRefusal.from { () throws(StoreError) in try self.foundMove(of: object, in: &store) }
        guard let found else { return }
        guard found.isUntouched else {
            return self.keep(
                object,
                .place,
                .edited,
                found.move.flatMap { store.segment($0.write.segment).introduction }
            )
        }
        try self.put(object, where: found.move, on: &plan, in: &state, &store)
    }

    /// Puts an object that comes back where it should stand, if the change did not move it.
    ///
    /// Another one that was taken back may have moved it while it was gone, and what was above it too.
    private mutating func settlePlace(
        of object: ObjectID,
        on plan: inout TransactionPlan,
        in state: inout some StateReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        let move = try WriteRefusal.from { () throws(StoreError) in
            try self.wanted.lastMove(of: try store.objectIndex(of: object), in: &store)
        }
        try self.put(object, where: move, on: &plan, in: &state, &store)
    }

    /// Puts an object where a move has put it; nil for where it was made.
    private mutating func put(
        _ object: ObjectID,
        where move: MoveRecord?,
        on plan: inout TransactionPlan,
        in state: inout some StateReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        let wanted = try WriteRefusal.from { () throws(StoreError) -> Place in
            let parent = try move?.parent.map { above throws(StoreError) in try store.object(above).id }
            return Place(parent: parent, position: move?.position ?? .initial)
        }
        let isThere = try WriteRefusal.from { () throws(StoreError) -> Bool in
            let record = try state.object(try store.objectIndex(of: object))
            return record.parent == move?.parent && record.position == wanted.position
        }
        if isThere { return }
        if let parent = wanted.parent, try !plan.isVisible(parent, in: &state) {
            let isAsBefore = try WriteRefusal.from { () throws(StoreError) in
                let index = try store.objectIndex(of: parent)
                return try self.before?.isUntouched(index, in: self.history, &store) ?? false
            }
            guard isAsBefore else { return self.keep(object, .place, .parentGone, nil) }
        }
        if try plan.wouldCloseCycle(object, under: wanted.parent, in: &state) {
            return self.keep(object, .place, .parentGone, nil)
        }
        guard self.finds(room: .move(object, wanted), of: .place, on: object, in: plan) else { return }
        try plan.put(object, under: wanted.parent, at: wanted.position)
    }

    /// The move that should be in force, or if somebody has moved the object since, the one that is; nil if there is
    /// nothing to do.
    private mutating func foundMove(
        of object: ObjectID,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> (move: MoveRecord?, isUntouched: Bool)? {
        let index = try store.objectIndex(of: object)
        guard let last = try self.with.lastMove(of: index, in: &store) else { return nil }
        guard last.write.point == self.target else { return (last, false) }
        return (try self.wanted.lastMove(of: index, in: &store), true)
    }

    // MARK: - What stays

    private mutating func keep(
        _ object: ObjectID,
        _ part: UndoReport.Part,
        _ reason: UndoReport.Reason,
        _ author: Introduction?
    ) {
        // Of an object that goes no part stays, as far as this user's edits are concerned.
        guard !self.takesBack || !self.going.contains(object) else { return }
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
            let operations = try self.history.operations(on: try store.objectIndex(of: object), in: &store)
            let others = operations.filter { $0.point != self.target }
            guard let last = others.max(by: { WriteOrder.precedes($0, $1, store) }) else { return nil }
            return store.segment(last.segment).introduction
        }
        self.keep(object, part, reason, author)
    }
}
