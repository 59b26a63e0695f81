internal import CRDTCore

/// What one undo or redo does: of what a change has made of the state, it makes again what its author had found.
///
/// An undo reverses a change, a redo reverses an undo, and of a merge what it had brought of a change is reversed. For
/// each property, place and life that the change was about, three states are compared: what was there before it, what
/// it left, and what is there now. Where that is still what it left, or what a later undo or redo has put there again,
/// the former comes back. Everything else was edited since, stays, and is named. So a redo right after an undo leads
/// back, whatever there was, and nothing depends on what else is taken back.
struct Reversal {
    let piece: UndoSubject
    let undo: Undo
    /// The circle that it is about.
    let circle: CircleIndex
    /// What is reversed.
    let edits: [Edit]
    /// The other circles to which something of the action was carried over: what was moved there is dealt with there.
    let destinations: Set<CircleIndex>
    /// What counts on the timeline that is written to.
    var now: History
    /// What was there before the change, or before the merge that had brought it, and what was there then.
    var before: History
    var after: History
    var words: UndoWords
    var report: UndoReport
    /// Objects that come and go as a whole.
    var revived: [ObjectID] = []
    var deleted: [ObjectID] = []
    var going: Set<ObjectID> = []
    /// Objects that are gone and stay so, whatever they get back.
    private var gone: Set<ObjectID> = []
    /// Those of them that nothing keeps in sight.
    private var hidden: Set<ObjectID> = []
    /// Objects about whose life the change was, and that are left to somebody else.
    var left: Set<ObjectID> = []
    /// Objects that the change made live, or no more.
    var concerned: Set<ObjectID> = []
    /// Objects that had gone over to another circle, and stay there with all that they are.
    var staying: Set<ObjectID> = []
    /// Objects that go as they come in another circle.
    var transferred: Set<ObjectID> = []
    /// Properties that stay as they are here, since they do where they were hidden, or shown, at once.
    var blocked: [KeptPart: (reason: UndoReport.Reason, author: Introduction?)] = [:]
    /// What the report names already.
    private var named: Set<KeptPart> = []

    struct KeptPart: Hashable {
        var object: ObjectID
        var part: UndoReport.Part
    }

    /// Reverses a piece of an action.
    ///
    /// `destinations`: the other circles to which something of the action was carried over.
    init(
        of piece: UndoSubject,
        _ undo: Undo,
        by user: UserID,
        on branch: BranchID?,
        carriedTo destinations: Set<CircleIndex>,
        in store: inout some StoreTransaction
    ) throws(StoreError) {
        (self.piece, self.undo, self.destinations) = (piece, undo, destinations)
        self.circle = store.progress(of: piece.change.segment).circle
        self.edits = try Self.edits(of: piece.change, in: &store)
        self.now = History(try store.view(of: branch))
        let moment = piece.merge ?? piece.change
        let former = try store.state(at: moment, with: false, on: branch)
        self.before = History(try HistoryView(seen: former, in: &store))
        let latter = try store.state(at: moment, with: true, on: branch)
        self.after = History(try HistoryView(seen: latter, in: &store))
        self.words = UndoWords(of: user, on: branch, in: self.now, &store)
        // Whoever asks is told of the edits that are taken back, or done again.
        let subject = undo.isRedo ? try store.undo(at: piece.change)?.subject ?? piece : piece
        let word = try store.undo(at: subject.change)
        let target = word?.subject.change ?? subject.change
        self.report = UndoReport(
            change: Point(
                replica: store.replicaID(target.segment),
                sequence: target.sequence,
                name: ChangeName(try Self.named(target, in: &store).hash)
            ),
            stamp: try store.effectiveStamp(at: target),
            deviceName: store.segment(target.segment).introduction?.deviceName,
            label: try store.label(at: target),
            isMerged: subject.merge != nil,
            isUndo: word?.isTakenBack ?? false,
            edits: try Self.edits(of: target, in: &store),
            kept: []
        )
    }

    static func named(
        _ change: SegmentPoint,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> NamedChange {
        guard let hash = try store.hash(at: change) else { throw .damaged("a change is missing from the log") }
        return NamedChange(replica: store.replicaID(change.segment), sequence: change.sequence, hash: hash)
    }

    /// The edits of a change that are about objects.
    static func edits(
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

    /// Decides which objects come and go.
    mutating func decide(
        in state: inout some CircleReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        // What lies beside others keeps nothing alive, and has values alone.
        guard !store.circles[self.circle].isBeside else { return }
        try self.decideLives(in: &store)
        try self.spare(in: &state, &store)
    }

    mutating func spare(
        in state: inout some CircleReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        try self.spareFullFolders(in: &state, &store)
        try self.spareOrphans(in: &state, &store)
    }

    /// Whether any object goes.
    var isDeleting: Bool { !self.deleted.isEmpty }

    /// Writes the edits into a transaction that has no others.
    mutating func perform(
        on plan: inout TransactionPlan,
        in state: inout some CircleReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) -> UndoReport {
        try plan.note(self.undo)
        for object in self.revived {
            let creation = try WriteRefusal.from { () throws(StoreError) in try self.kind(of: object, in: &state) }
            let edit = Edit.create(object, type: creation.type, kind: creation.kind)
            guard self.finds(room: edit, of: .object, on: object, in: plan) else { continue }
            try plan.revive(object, type: creation.type, kind: creation.kind)
        }
        for object in self.revived where self.transferred.contains(object) {
            try self.renew(object, on: &plan, in: &state, &store)
        }
        // Before values, which can fill a change.
        for object in self.moved { try self.restorePlace(of: object, on: &plan, in: &state, &store) }
        try self.restoreDisplaced(on: &plan, in: &state, &store)
        for (object, name) in self.properties { try self.restore(name, of: object, on: &plan, in: &state, &store) }
        // Last, so that they cover what was written before; everything before has left them room.
        let written = Set(plan.edits.compactMap(\.object))
        for object in self.deleted + self.gone.intersection(written).sorted() { try plan.deleteAlone(object) }
        // What lives in another circle is placed among the things of the base.
        let moved = plan.edits.filter { $0.kind == .move }.compactMap(\.object)
        let placed = store.circles.base == self.circle ? moved : []
        let hidden = self.hidden.subtracting(placed)
        self.report.hasEffect = written.union(self.deleted).contains { !hidden.contains($0) }
        return self.report
    }

    /// Whether the change has room for an edit; if it has none, that part of the object is named and left as it is.
    mutating func finds(
        room edit: Edit,
        of part: UndoReport.Part,
        on object: ObjectID,
        in plan: TransactionPlan
    ) -> Bool {
        if plan.hasRoom(for: edit, before: self.deleted.count + self.gone.count) { return true }
        self.keep(object, part, .tooLarge, nil)
        return false
    }

    // MARK: - Objects that come and go

    /// Decides which of the objects live that the change is about.
    private mutating func decideLives(in store: inout some StoreTransaction) throws(WriteRefusal) {
        var seen: Set<ObjectID> = []
        for object in self.edits.compactMap(\.object) where seen.insert(object).inserted {
            let life = try WriteRefusal.from { () throws(StoreError) in try self.life(of: object, in: &store) }
            switch life {
            case .stays: break
            case .isSo: self.concerned.insert(object)
            case .comes:
                self.concerned.insert(object)
                self.revived.append(object)
            case .goes:
                self.concerned.insert(object)
                self.deleted.append(object)
            case .isKept(let reason, let author):
                self.concerned.insert(object)
                self.left.insert(object)
                if reason == .deleted, try self.wasCarriedOver(object, in: &store) { continue }
                self.keep(object, .object, reason, author)
            }
        }
    }

    private enum Life {
        /// The change did not decide it.
        case stays
        /// It is already what it would be without the change.
        case isSo
        case comes
        case goes
        case isKept(UndoReport.Reason, Introduction?)
    }

    private mutating func life(
        of object: ObjectID,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> Life {
        let index = try store.objectIndex(of: object, in: self.circle)
        let (lived, left) = (try self.isAlive(index, .before, in: &store), try self.isAlive(index, .after, in: &store))
        let lives = try self.now.isAlive(index, in: &store)
        if lived, left, lives, try self.hasKept(index, in: &store) { return .goes }
        guard lived != left else { return .stays }
        if !lives {
            // What somebody else has deleted neither comes back nor goes by this.
            let deletion = try self.later(try self.deletionsOnPurpose(of: index, in: &store), in: &store)
            if let deletion { return .isKept(.deleted, store.segment(deletion.segment).introduction) }
        }
        guard lives == left else { return .isSo }
        if lived { return .comes }
        if let touch = try self.laterTouch(of: index, in: &store) {
            return .isKept(.edited, store.segment(touch.segment).introduction)
        }
        return .goes
    }

    enum Moment {
        case before
        case after
    }

    /// Whether an object lived; what was dropped is taken for a touch.
    mutating func isAlive(
        _ object: ObjectIndex,
        _ moment: Moment,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            switch moment {
            case .before: return try self.before.isAlive(object, in: &store)
            case .after: return try self.after.isAlive(object, in: &store)
            }
        } catch .compacted {
            return true
        }
    }

    /// Whether an object lives by the change alone, since somebody deleted it beside that.
    ///
    /// What had lost to a change comes into force by its undo.
    private mutating func hasKept(
        _ object: ObjectIndex,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        let deletions = Set(try self.now.deletions(of: object, in: &store))
        guard !self.undo.isRedo, try self.later(Array(deletions), in: &store) != nil,
            try self.now.lastRedactedWrites(on: object, in: &store).isEmpty
        else { return false }
        var contexts: [CausalContext] = []
        for deletion in deletions {
            let seen = try store.context(at: deletion.point)
            contexts.append(CausalContext(seen: seen, author: deletion.segment, ordinal: deletion.ordinal))
        }
        for touch in try self.now.operations(on: object, in: &store) where !deletions.contains(touch) {
            guard !contexts.contains(where: { $0.covers(touch) }) else { continue }
            if self.before.view.counts(touch) { return false }
            if !self.after.view.counts(touch), try self.words.stands(touch.point, in: &store) { return false }
        }
        return true
    }

    /// Somebody's edit of an object that came since, or beside the change.
    private func laterTouch(
        of object: ObjectIndex,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> SegmentPoint? {
        let deletions = Set(try self.now.deletions(of: object, in: &store))
        let touches = try self.now.operations(on: object, in: &store).filter { !deletions.contains($0) }
        if let later = try self.later(touches, in: &store) { return later.point }
        // Whose those are that were dropped is not known any more, beyond the last.
        for last in try self.now.lastRedactedWrites(on: object, in: &store) {
            let write = WriteReference(stamp: .zero, segment: last.segment, sequence: last.sequence, index: 0)
            if !self.after.view.counts(write) { return last }
        }
        return nil
    }

    /// The last of some operations that came since, or beside the change, and stands for itself.
    private func later(
        _ operations: [WriteReference],
        in store: inout some StoreTransaction
    ) throws(StoreError) -> WriteReference? {
        var (words, last): (UndoWords, WriteReference?) = (self.words, nil)
        for write in operations where !self.after.view.counts(write) {
            if let last, WriteOrder.precedes(write, last, store) { continue }
            if try words.stands(write.point, in: &store) { last = write }
        }
        return last
    }

    /// Some objects without those that stay as they are beside the rest.
    private static func settle(
        _ objects: [ObjectID],
        _ stays: (ObjectID, _ rest: Set<ObjectID>) throws(StoreError) -> Bool
    ) throws(WriteRefusal) -> (rest: [ObjectID], spared: [ObjectID]) {
        var (rest, spared, order) = (Set(objects), [ObjectID](), objects)
        var isSettled = false
        while !isSettled {
            isSettled = true
            for object in order where rest.contains(object) {
                guard try WriteRefusal.from({ () throws(StoreError) in try stays(object, rest) }) else { continue }
                isSettled = false
                rest.remove(object)
                spared.append(object)
            }
            // What is spared may spare what is above or below it: both ways in turn, few rounds are enough.
            order.reverse()
        }
        return (objects.filter { rest.contains($0) }, spared)
    }

    /// What somebody has put something into stays.
    private mutating func spareFullFolders(
        in state: inout some CircleReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        let moved = Set(self.moved)
        let (rest, full) = try Self.settle(self.deleted) { object, going throws(StoreError) in
            // What only shows because of something below it keeps nothing by itself.
            var folders = [try store.objectIndex(of: object, in: self.circle)]
            while let folder = folders.popLast() {
                for child in try state.children(of: folder) {
                    let record = try state.object(child)
                    guard record.isVisible, !going.contains(record.id) else { continue }
                    if moved.contains(record.id), case .place(let move) = try self.found(record.id, in: &store),
                        move?.parent != folder
                    {
                        continue
                    }
                    if try !self.now.isAlive(child, in: &store) {
                        folders.append(child)
                    } else if try !self.isSpared(child, below: folder, in: &store) {
                        return true
                    }
                }
            }
            return false
        }
        // What goes is not named, and these go no more.
        (self.deleted, self.going) = (rest, Set(rest))
        for object in full { try self.keep(object, .hasChildren, in: &store) }
    }

    /// Whether a child keeps nothing in place above it: it stood there before, or the same merge had brought it there,
    /// and it goes with another part of that.
    private mutating func isSpared(
        _ child: ObjectIndex,
        below parent: ObjectIndex,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard try self.isAlive(child, .before, in: &store) else {
            guard self.piece.merge != nil, try self.isAlive(child, .after, in: &store) else { return false }
            return try self.laterTouch(of: child, in: &store) == nil
        }
        if try self.before.place(of: child, in: &store).parent == parent { return true }
        guard self.piece.merge != nil, let left = try self.after.lastMove(of: child, in: &store),
            !self.before.view.counts(left.write), let current = try self.now.lastMove(of: child, in: &store)
        else { return false }
        return try self.isStill(left, current, in: &store)
    }

    /// What would bring a folder back that somebody else has deleted stays deleted.
    private mutating func spareOrphans(
        in state: inout some CircleReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        let moved = Set(self.moved)
        let (rest, orphans) = try Self.settle(self.revived) { object, coming throws(StoreError) in
            // It may have been made anew elsewhere while it was gone.
            var parent = try state.object(try store.objectIndex(of: object, in: self.circle)).parent
            if moved.contains(object), case .place(let move) = try self.found(object, in: &store) {
                parent = move?.parent
            }
            guard let parent else { return false }
            let record = try state.object(parent)
            if record.isVisible || coming.contains(record.id) { return false }
            return try !self.isAsBefore(parent, in: &store)
        }
        for object in orphans { try self.keep(object, .parentGone, in: &store) }
        self.revived = rest
    }

    /// Whether an object that is gone was so before, be it that something below it kept it in sight, and no edit of it
    /// since stands; or the same merge had brought its deletion, and it comes with another part of that.
    mutating func isAsBefore(
        _ object: ObjectIndex,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard try !self.isAlive(object, .before, in: &store) else {
            guard self.piece.merge != nil, try !self.isAlive(object, .after, in: &store) else { return false }
            return try self.later(try self.now.deletions(of: object, in: &store), in: &store) == nil
        }
        for write in try self.now.operations(on: object, in: &store) where !self.after.view.counts(write) {
            if try self.words.stands(write.point, in: &store) { return false }
        }
        return true
    }

    /// Its type and kind; those that the change itself gave it if no creation counts yet.
    private func kind(
        of object: ObjectID,
        in state: inout some CircleReading
    ) throws(StoreError) -> (type: String, kind: String) {
        for case .create(object, let type, let kind) in self.report.edits {
            if let index = try state.existingObjectIndex(of: object), try state.object(index).creation != nil { break }
            return (type, kind)
        }
        guard let index = try state.existingObjectIndex(of: object), let creation = try state.object(index).creation
        else { return ("", "") }
        return (try state.name(creation.type), try state.name(creation.kind))
    }

    /// Makes an object that comes back from another circle what it was when it went there.
    ///
    /// What was taken back there, or done again, meanwhile stands in its values still, since it went with no more than
    /// its deletion.
    private mutating func renew(
        _ object: ObjectID,
        on plan: inout TransactionPlan,
        in state: inout some CircleReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        let (values, place) = try WriteRefusal.from { () throws(StoreError) in
            try self.outdated(object, in: &store)
        }
        for (name, found) in values {
            guard case .value(let value) = found else {
                self.keep(object, .property(name), .unknown, nil)
                continue
            }
            let edit: Edit = value.map { .set(object, name: name, value: $0) } ?? .unset(object, name: name)
            guard self.finds(room: edit, of: .property(name), on: object, in: plan) else { continue }
            if let value { try plan.set(object, name: name, value: value) } else { try plan.unset(object, name: name) }
        }
        if let place, !self.moved.contains(object) { try self.put(object, where: place, on: &plan, in: &state, &store) }
    }

    /// The values and the place of an object that were taken back or are words of that, and what they should be.
    private mutating func outdated(
        _ object: ObjectID,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> (values: [(name: String, value: Found)], place: MoveRecord??) {
        let index = try store.objectIndex(of: object, in: self.circle)
        let written = Set(self.properties.filter { $0.0 == object }.map { ExactText($0.1) })
        var values: [(name: String, value: Found)] = []
        for (number, _) in try store.registers(of: index) {
            let (name, key) = (try store.name(number), RegisterKey(object: index, name: number))
            guard !written.contains(ExactText(name)), let current = try self.now.lastWrite(at: key, in: &store),
                try !self.words.stands(current.point, in: &store)
            else { continue }
            do throws(StoreError) {
                let former = try self.before.lastWrite(at: key, in: &store)
                if former?.point != current.point { values.append((name, try self.content(former, in: &store))) }
            } catch .compacted {
                values.append((name, .unknown))
            }
        }
        var place: MoveRecord??
        if let current = try self.now.lastMove(of: index, in: &store),
            try !self.words.stands(current.write.point, in: &store)
        {
            let former = try self.before.lastMove(of: index, in: &store)
            if former?.write != current.write { place = .some(former) }
        }
        return (values, place)
    }

    // MARK: - Properties

    /// The properties that the change wrote, each once.
    ///
    /// Those of an object that goes are restored too: others may keep it in sight, or make it come back. So are those
    /// of one that is left: each is judged by itself.
    var properties: [(ObjectID, String)] {
        var (found, seen): ([(ObjectID, String)], [ObjectID: Set<ExactText>]) = ([], [:])
        for edit in self.edits {
            switch edit {
            case .set(let object, let name, _), .unset(let object, let name), .redacted(let object, let name, _):
                if seen[object, default: []].insert(ExactText(name)).inserted { found.append((object, name)) }
            default: continue
            }
        }
        return found
    }

    /// Whether an object gets back what it had: it lives, or it goes, or it was deleted by another change.
    ///
    /// Whoever takes that back finds it as it should be. The undo itself deletes what does not live, after the edits,
    /// which would bring it back; also where something below it keeps it in sight.
    mutating func takesEdits(
        _ object: ObjectID,
        on plan: TransactionPlan,
        in state: inout some CircleReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) -> Bool {
        if self.staying.contains(object) { return false }
        // What had gone over and stays here keeps all that it has.
        if self.transferred.contains(object), self.named.contains(KeptPart(object: object, part: .object)) {
            return false
        }
        // Nothing but its deletion: what others write meanwhile competes with what comes, and not with that.
        if self.transferred.contains(object), self.going.contains(object) { return false }
        if self.going.contains(object) || self.gone.contains(object) { return true }
        let isAlive = try WriteRefusal.from { () throws(StoreError) in
            try self.now.isAlive(try store.objectIndex(of: object, in: self.circle), in: &store)
        }
        if isAlive || plan.revives(object) { return true }
        if try !plan.isVisible(object, in: &state) {
            let wasAlive = try WriteRefusal.from { () throws(StoreError) in
                try self.isAlive(try store.objectIndex(of: object, in: self.circle), .before, in: &store)
            }
            if wasAlive, try !self.wasCarriedOver(object, in: &store) { try self.keep(object, .deleted, in: &store) }
            self.hidden.insert(object)
        }
        guard !self.left.contains(object) else { return false }
        self.gone.insert(object)
        return true
    }

    private mutating func restore(
        _ name: String,
        of object: ObjectID,
        on plan: inout TransactionPlan,
        in state: inout some CircleReading,
        _ store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        guard try self.takesEdits(object, on: plan, in: &state, &store) else { return }
        if let blocked = self.blocked[KeptPart(object: object, part: .property(name))] {
            return self.keep(object, .property(name), blocked.reason, blocked.author)
        }
        switch try self.known(name, of: object, in: &store) {
        case .nothing: break
        case .edited(let segment):
            if try self.wasCarriedOver(name, of: object, in: &store) { return }
            self.keep(object, .property(name), .edited, store.segment(segment).introduction)
        case .unknown: self.keep(object, .property(name), .unknown, nil)
        case .value(let value):
            let edit: Edit = value.map { .set(object, name: name, value: $0) } ?? .unset(object, name: name)
            guard self.finds(room: edit, of: .property(name), on: object, in: plan) else { return }
            if let value { try plan.set(object, name: name, value: value) } else { try plan.unset(object, name: name) }
        }
    }

    /// What a property should be, or that this is not known any more.
    mutating func known(
        _ name: String,
        of object: ObjectID,
        in store: inout some StoreTransaction
    ) throws(WriteRefusal) -> Found {
        try WriteRefusal.from { () throws(StoreError) -> Found in
            do throws(StoreError) {
                return try self.found(name, of: object, in: &store)
            } catch .compacted {
                return .unknown
            }
        }
    }

    enum Found {
        case nothing
        case edited(SegmentIndex)
        case unknown
        case value(Value?)
    }

    /// What a write says; `unknown` if its content is not here.
    private func content(
        _ write: WriteReference?,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> Found {
        guard let write else { return .value(nil) }
        switch try store.edit(write) {
        case .set(_, _, let value): return .value(value)
        case .unset: return .value(nil)
        default: return .unknown
        }
    }

    /// What a property should be.
    mutating func found(
        _ name: String,
        of object: ObjectID,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> Found {
        let index = try store.objectIndex(of: object, in: self.circle)
        let key = RegisterKey(object: index, name: try store.nameIndex(of: name))
        guard let current = try self.now.lastWrite(at: key, in: &store),
            let left = try self.after.lastWrite(at: key, in: &store)
        else { return .nothing }
        // A merge may have brought what was not in force then.
        if self.piece.merge != nil, self.before.view.counts(left) { return .nothing }
        guard try self.isStill(left, current, in: &store) else {
            let former = try self.before.lastWrite(at: key, in: &store)
            if let former, try self.isStill(former, current, in: &store) { return .nothing }
            return .edited(current.segment)
        }
        let former = try self.former(at: key, below: left, in: &store)
        return try self.content(former, in: &store)
    }

    /// Whether a property shows a write still, or an undo or redo has put there again what that says.
    func isStill(
        _ write: WriteReference,
        _ current: WriteReference,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if current.point == write.point, current.index == write.index { return true }
        // Two devices may have carried over the same.
        var isSame = try self.words.isWord(current.point, in: &store)
        if !isSame { isSame = try self.isCarriedOver(current.segment, at: current.point, in: &store) }
        guard isSame, case .value(let shown) = try self.content(current, in: &store),
            case .value(let value) = try self.content(write, in: &store)
        else { return false }
        return shown == value
    }

    /// The write to a property that was in force before the change; or one that somebody made beside it, which had lost
    /// to it.
    ///
    /// What an undo has won over does not come into force by a redo.
    private mutating func former(
        at key: RegisterKey,
        below left: WriteReference,
        in store: inout some StoreTransaction
    ) throws(StoreError) -> WriteReference? {
        let former = try self.before.lastWrite(at: key, in: &store)
        if self.undo.isRedo { return former }
        let writes = try self.now.writes(at: key, from: former?.stamp ?? .zero, through: left.stamp, in: &store)
        for write in writes where !self.after.view.counts(write) && WriteOrder.precedes(write, left, store) {
            if let former, WriteOrder.precedes(write, former, store) { break }
            if try self.words.stands(write.point, in: &store) { return write }
        }
        return former
    }

    // MARK: - What stays

    mutating func keep(
        _ object: ObjectID,
        _ part: UndoReport.Part,
        _ reason: UndoReport.Reason,
        _ author: Introduction?
    ) {
        // Of an object that goes no part stays, as far as this user's edits are concerned.
        guard !self.going.contains(object) else { return }
        guard self.named.insert(KeptPart(object: object, part: part)).inserted else { return }
        self.report.kept.append(UndoReport.Kept(object: object, part: part, reason: reason, author: author))
    }

    /// Leaves an object, and names the author of its last edit.
    mutating func keep(
        _ object: ObjectID,
        _ reason: UndoReport.Reason,
        in store: inout some StoreTransaction
    ) throws(WriteRefusal) {
        let author = try WriteRefusal.from { () throws(StoreError) -> Introduction? in
            let operations = try self.now.operations(on: try store.objectIndex(of: object, in: self.circle), in: &store)
            let others = operations.filter { $0.point != self.piece.change }
            guard let last = others.max(by: { WriteOrder.precedes($0, $1, store) }) else { return nil }
            return store.segment(last.segment).introduction
        }
        self.keep(object, .object, reason, author)
    }
}
