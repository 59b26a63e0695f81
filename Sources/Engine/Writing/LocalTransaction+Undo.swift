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
        var reversal = try WriteRefusal.from { () throws(StoreError) -> Reversal in
            let undo = Undo(
                target: try Reversal.named(piece.change, in: &self.store),
                isRedo: rest.isRedo,
                scope: rest.author.scope == own ? nil : rest.author.scope,
                merge: try piece.merge.map { point throws(StoreError) in try Reversal.named(point, in: &self.store) },
                next: try next.map { point throws(StoreError) in try Reversal.named(point, in: &self.store) }
            )
            return try Reversal(of: piece, undo, by: rest.author.user, on: self.branch, in: &self.store)
        }
        // It is reversed in its own circle, whatever shows there.
        var state = self.state
        if self.store.circles.count > 1 {
            let circle = self.store.progress(of: piece.change.segment).circle
            self.plan.only = self.store.circles[circle]
            let branch = self.branch
            state = try WriteRefusal.from { () throws(StoreError) in
                try Self.state(of: circle, on: branch, in: self.store)
            }
        }
        let report = try reversal.perform(on: &self.plan, in: &state, &self.store)
        self.plan.only = nil
        rest.found.pieces.removeFirst()
        rest.former = piece.change
        return UndoneStep(report: report, rest: rest.found.pieces.isEmpty ? nil : rest)
    }
}

extension LocalTransaction {
    /// What one circle shows.
    private static func state(
        of circle: CircleIndex,
        on branch: BranchID?,
        in store: some StoreTransaction
    ) throws(StoreError) -> any CircleReading {
        var store = store
        return CombinedState(try store.view(of: branch), of: store, only: circle)
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
