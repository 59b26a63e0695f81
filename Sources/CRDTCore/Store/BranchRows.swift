/// The branches of the workspace, and what is not merged of them.
package protocol BranchRows {
    /// Every statement about a branch that is stored.
    var branches: BranchTable { get }
    mutating func addBranch(_ record: BranchRecord) throws(StoreError)
    /// Records an operation of a branch that is not merged.
    mutating func addUnmerged(_ operation: UnmergedOperation) throws(StoreError)
    /// Forgets those of one change on an object.
    mutating func removeUnmerged(_ point: SegmentPoint, of object: ObjectIndex) throws(StoreError)
    /// Those at a key, in the order of their segments and sequences.
    mutating func unmergedOperations(at key: RegisterKey) throws(StoreError) -> [UnmergedOperation]
    /// The last one at a key on a segment, up to a sequence.
    mutating func lastUnmerged(
        at key: RegisterKey,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> UnmergedOperation?
    /// Those on an object.
    mutating func unmergedOperations(on object: ObjectIndex) throws(StoreError) -> [UnmergedOperation]
    /// The objects that some of them put below a parent (nil: the root).
    mutating func objectsUnmerged(below parent: ObjectIndex?) throws(StoreError) -> [ObjectIndex]

    /// Notes that a change of the main timeline had seen a segment of a branch up to a sequence when it merged it.
    ///
    /// It is for programs that read the tables; a store without any has nothing to do.
    mutating func noteTaken(
        _ segment: SegmentIndex,
        through sequence: UInt64,
        by change: SegmentPoint
    ) throws(StoreError)
}

extension StoreTransaction {
    /// The branches that are open, in the order of their ids: those of which a change is here that nobody had seen who
    /// gave the branch up, and those that nobody has given up.
    ///
    /// - Complexity: O(*b* + *c* + *l*) for *b* branches, *c* closings and *l* segments.
    package var openBranches: [BranchTable.Entry] {
        let branches = self.branches
        let all = branches.all
        guard !all.isEmpty else { return [] }
        var unseen: Set<BranchID> = []
        for segment in self.segmentIndices {
            let progress = self.progress(of: segment)
            if let branch = progress.branch, progress.hasUnseenByClosings { unseen.insert(branch) }
        }
        return all.filter { unseen.contains($0.opening.id) || !self.isGivenUp($0.opening.id) }
    }

    /// A branch that is known and open.
    package func openBranch(_ id: BranchID) -> BranchTable.Entry? {
        self.branches[id].flatMap { self.isOpen(id) ? $0 : nil }
    }

    /// Whether a branch is open, be it known or not.
    package func isOpen(_ id: BranchID) -> Bool {
        guard self.isGivenUp(id) else { return true }
        return self.segmentIndices.contains { segment in
            let progress = self.progress(of: segment)
            return progress.branch == id && progress.hasUnseenByClosings
        }
    }

    /// Whether a change that is applied gives a branch up, or what it had seen of it.
    package func isGivenUp(_ id: BranchID) -> Bool {
        self.branches.closings(of: id).contains { $0.sequence <= self.progress(of: $0.segment).appliedSequence }
    }

    /// Whether a change is on no timeline but on a branch, which somebody gave up who had seen it.
    ///
    /// So it is also where edits that came later have opened the branch again.
    func isGivenUp(_ change: SegmentPoint) -> Bool {
        let progress = self.progress(of: change.segment)
        return progress.branch != nil && change.sequence > progress.countedSequence
            && change.sequence <= progress.closedSequence
    }

    /// How far a change gives a branch up that it closes: what it names of it, and what comes before the change on its
    /// own chain.
    ///
    /// - Complexity: O(*n* log *m*) for *n* named changes, of *m* in the log.
    mutating func givenUp(of branch: BranchID, by closing: SegmentPoint) throws(StoreError) -> SeenSegments {
        var seen = SeenSegments()
        if self.progress(of: closing.segment).branch == branch { self.cover(closing, in: &seen) }
        let before = closing.sequence - 1
        for point in try self.contexts(of: closing.segment, after: before, through: closing.sequence) {
            guard let place = try self.place(of: point), self.progress(of: place.segment).branch == branch else {
                continue
            }
            self.cover(place, in: &seen)
        }
        return seen
    }
}

extension SegmentProgress {
    /// Whether a change of a branch is here that nobody had seen who gave the branch up, be it applied or not.
    package var hasUnseenByClosings: Bool {
        self.storedSequence >= self.firstSequence && self.storedSequence > self.closedSequence
    }
}
