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
                return rest.formers.contains(undo.target)
            }
            return isLast ? try local.perform(rest) : nil
        }
    }

    /// Takes the last change of an action back, and those before it in other circles: what one transaction had written
    /// in several circles comes back in one.
    private mutating func perform(_ rest: UndoRest) throws(WriteRefusal) -> UndoneStep? {
        var rest = rest
        guard !rest.found.pieces.isEmpty else { return nil }
        var parts: [Part] = []
        var circles: Set<CircleIndex> = []
        while let piece = rest.found.pieces.first, parts.last.map({ $0.piece.link == .isPart }) ?? true {
            let circle = self.store.progress(of: piece.subject.change.segment).circle
            guard circles.insert(circle).inserted else { break }
            rest.found.pieces.removeFirst()
            parts.append(try self.part(piece, of: rest, in: circle))
        }
        for number in parts.indices {
            try parts[number].decide(in: &self.store)
        }
        for number in parts.indices where self.store.circles.count > 1 {
            let others = parts.enumerated().filter { $0.offset != number }.map(\.element.reversal)
            try parts[number].reversal.leaveMoved(besides: others, in: &self.store)
        }
        for number in parts.indices where self.store.circles.hasBeside {
            let others = parts.enumerated().filter { $0.offset != number }.map(\.element.reversal)
            try parts[number].reversal.keepHidden(besides: others, in: &self.store)
        }
        var isSettled = parts.count == 1
        while !isSettled {
            isSettled = true
            for number in parts.indices {
                for other in parts.indices where other != number {
                    let model = parts[other].reversal
                    if try parts[number].leave(likewise: model, in: &self.store) { isSettled = false }
                }
            }
        }
        var reports: [UndoReport] = []
        for number in parts.indices {
            reports.append(try parts[number].perform(in: &self.store))
            self.plan.add(parts[number].plan)
        }
        // What goes does after what comes.
        for part in parts where part.reversal.isDeleting { self.plan.left.insert(self.store.circles[part.circle]) }
        rest.formers = Set(parts.map(\.piece.subject.change))
        return UndoneStep(reports: reports, rest: rest.found.pieces.isEmpty ? nil : rest)
    }

    /// A change that is taken back in its circle, whatever shows there.
    private struct Part {
        let piece: UndoPiece
        let circle: CircleIndex
        var reversal: Reversal
        var state: any CircleReading
        /// What it writes.
        var plan: TransactionPlan

        mutating func decide(in store: inout some StoreTransaction) throws(WriteRefusal) {
            try self.reversal.decide(in: &self.state, &store)
        }

        mutating func leave(
            likewise other: Reversal,
            in store: inout some StoreTransaction
        ) throws(WriteRefusal) -> Bool {
            try self.reversal.leave(likewise: other, in: &self.state, &store)
        }

        mutating func perform(in store: inout some StoreTransaction) throws(WriteRefusal) -> UndoReport {
            try self.reversal.perform(on: &self.plan, in: &self.state, &store)
        }
    }

    /// `rest`: what is left of the action after it.
    private mutating func part(
        _ piece: UndoPiece,
        of rest: UndoRest,
        in circle: CircleIndex
    ) throws(WriteRefusal) -> Part {
        let own = UndoScope(device: self.device, label: self.action.label)
        let (subject, branch, isAlone) = (piece.subject, self.branch, self.store.circles.count == 1)
        let next = try WriteRefusal.from { () throws(StoreError) -> SegmentPoint? in
            // As long as something of the action is left in the circle, that is next.
            let left = rest.found.pieces.map(\.first).filter { self.store.progress(of: $0.segment).circle == circle }
            return try self.store.last(of: left) ?? rest.found.nexts[circle]
        }
        return try WriteRefusal.from { () throws(StoreError) -> Part in
            let undo = Undo(
                target: try Reversal.named(subject.change, in: &self.store),
                isRedo: rest.isRedo,
                scope: rest.author.scope == own ? nil : rest.author.scope,
                merge: try subject.merge.map { point throws(StoreError) in try Reversal.named(point, in: &self.store) },
                next: try next.map { point throws(StoreError) in try Reversal.named(point, in: &self.store) }
            )
            var plan = self.plan
            if !isAlone { plan.only = self.store.circles[circle] }
            return Part(
                piece: piece,
                circle: circle,
                reversal: try Reversal(
                    of: subject,
                    undo,
                    by: rest.author.user,
                    on: branch,
                    carriedTo: rest.found.destinations.subtracting([circle]),
                    in: &self.store
                ),
                state: isAlone ? self.state : try Self.state(of: circle, on: branch, in: self.store),
                plan: plan
            )
        }
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
    fileprivate var formers: Set<SegmentPoint> = []

    fileprivate init(author: UndoAuthor, isRedo: Bool, found: NextUndo) {
        (self.author, self.isRedo, self.found) = (author, isRedo, found)
    }

    /// How many transactions are left.
    package var transactionCount: Int { self.found.pieces.count { $0.link != .isPart } }
}

/// What one transaction of an undo or redo did, and what is left of the action; nil if that was the last.
package struct UndoneStep: Sendable {
    /// Of each circle that it is about, what it did there.
    package var reports: [UndoReport]
    package var rest: UndoRest?
}
