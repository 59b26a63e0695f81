/// What a branch shows and no other timeline does.
package struct UnmergedEdits: Hashable, Sendable {
    /// The changes that do more than say something of branches and actions.
    package var changeCount = 0
    /// What they are about.
    package var objects: Set<ObjectID> = []

    package init() {}
}

extension StoreTransaction {
    /// What would count nowhere if a branch were given up: also what it has of a branch that was.
    ///
    /// - Complexity: O(*b* *l* + *n*) for *b* open branches, *l* segments and *n* operations that are found.
    package mutating func unmergedEdits(of branch: BranchID) throws(StoreError) -> UnmergedEdits {
        var elsewhere = SeenSegments()
        for other in self.openBranches where other.opening.id != branch {
            elsewhere.formUnion(try self.closure(of: self.heads(of: other.opening.id)))
        }
        var edits = UnmergedEdits()
        for (segment, sequence) in try self.closure(of: self.heads(of: branch)).all {
            let progress = self.progress(of: segment)
            guard progress.branch != nil else { continue }
            let counted = max(progress.countedSequence, elsewhere[segment])
            try self.addEdits(to: &edits, on: segment, after: counted, through: sequence)
        }
        return edits
    }

    /// Adds what the changes of a segment are about that come after one of them, up to another.
    package mutating func addEdits(
        to edits: inout UnmergedEdits,
        on segment: SegmentIndex,
        after first: UInt64,
        through last: UInt64
    ) throws(StoreError) {
        var next = max(first + 1, self.progress(of: segment).firstSequence)
        while next <= last {
            let run = try self.loadRun(of: segment, from: next, limits: RunLimits(), signed: false)
            guard let run, !run.changes.isEmpty else { throw .damaged("a change is missing from the log") }
            for change in run.changes.prefix(Int(clamping: last - next + 1)) {
                let operations = run.operations[change.operationRange]
                if operations.contains(where: { ![.branch, .introduce, .action].contains($0.kind) }) {
                    edits.changeCount += 1
                }
                for operation in operations where operation.kind.isEdit {
                    edits.objects.insert(run.objects[Int(operation.object)])
                }
            }
            next = run.lastSequence + 1
        }
    }
}
