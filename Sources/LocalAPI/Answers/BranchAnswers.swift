package import CRDTCore
internal import PeerdKit

/// A branch.
package struct BranchAnswer: Answer {
    package var id: String
    package var name: String
    package var parent: String?
    package var author: AuthorAnswer
    package var timeMs: Int64
    package var unmerged: Int
    /// The machine that deleted it without having seen all of it.
    package var deletedBy: AuthorAnswer?
    /// Transactions that no machine had seen that deleted it.
    package var unseen: Int

    init(_ branch: Branch) {
        (self.id, self.name, self.parent) = (branch.id.description, branch.name, branch.parent?.description)
        (self.author, self.timeMs) = (AuthorAnswer(branch.author), branch.date.millisecondsSince1970)
        (self.unmerged, self.unseen) = (branch.unmergedCount, branch.unseenCount)
        self.deletedBy = branch.deletedBy.map { AuthorAnswer($0) }
    }
}

/// A machine that wrote something.
package struct AuthorAnswer: Answer {
    package var name: String
    package var isThisMachine: Bool

    init(_ author: Author) { (self.name, self.isThisMachine) = (author.name, author.isThisMachine) }
}

/// What a deletion of a branch has left of it.
package struct BranchDeletion: Answer {
    /// The branch, if something of it is here that is held or waits for other changes; else nil.
    package var remains: BranchAnswer?
}

package struct BranchList: Answer {
    package var branches: [BranchAnswer]
}

/// Something that both sides of a merge have changed in different ways.
package struct MergeConflictAnswer: SparseAnswer {
    package var object: String
    package var kind: Word<Kind>
    package var property: String?
    /// The value or the parent on the branch; nil if there is no value.
    package var branch: JSON?
    package var target: JSON?

    package enum Kind: String, CaseIterable, Sendable {
        case property, place
        case deletedOnBranch = "deleted-on-branch"
        case deletedOnTarget = "deleted-on-target"
    }

    init(_ conflict: MergeConflict) {
        self.object = conflict.object.description
        switch conflict.kind {
        case .property(let name, let branch, let target):
            (self.kind, self.property) = (Word(.property), name)
            (self.branch, self.target) = (branch?.json, target?.json)
        case .place(let branch, let target):
            self.kind = Word(.place)
            (self.branch, self.target) = (JSON(branch?.description), JSON(target?.description))
        case .deletedOnBranch: self.kind = Word(.deletedOnBranch)
        case .deletedOnTarget: self.kind = Word(.deletedOnTarget)
        }
    }
}

package struct MergeConflictList: Answer {
    package var conflicts: [MergeConflictAnswer]
}

package struct MergeAnswer: Answer {
    package var merged: Bool
    package var conflicts: [MergeConflictAnswer]

    package init(merged: Bool, conflicts: [MergeConflictAnswer]) { (self.merged, self.conflicts) = (merged, conflicts) }
}
