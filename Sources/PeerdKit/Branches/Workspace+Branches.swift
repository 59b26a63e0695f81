internal import CRDTCore
internal import Engine
internal import Foundation
internal import Persistence

extension Workspace {
    /// Returns all branches that are not deleted, or not all of them, in the order of their names.
    ///
    /// - Throws: ``PeerdError`` with `closed`, or if the disk fails; `CancellationError`.
    /// - Complexity: O(*b* *l* + *n*) for *b* branches, *l* chains and *n* operations that are not merged.
    public func branches() async throws -> [Branch] {
        try await self.reading { transaction in
            var branches: [Branch] = []
            for entry in transaction.openBranches {
                branches.append(try Branch(entry, readBy: self.identity.device, in: &transaction))
            }
            return branches.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
        }
    }

    /// Returns the branch with a name, or with the text of an id.
    ///
    /// - Throws: ``PeerdError`` with `noSuchBranch`, also if several have the name; `closed`, or if the disk fails;
    ///   `CancellationError`.
    public func branch(_ name: String) async throws -> Branch {
        try await self.reading { transaction in
            let entry = try Branch.find(name, in: transaction)
            return try Branch(entry, readBy: self.identity.device, in: &transaction)
        }
    }

    /// Creates a branch.
    ///
    /// - Parameters:
    ///   - name: the name, in 1 to 512 bytes without control characters; not `main`, and not that of another branch
    ///     here.
    ///   - parent: the branch that it leaves; nil for the main timeline.
    ///   - moment: the moment of the parent with which it begins; nil for now.
    /// - Returns: the branch, which has the state of that moment.
    /// - Throws: ``PeerdError`` with `invalidArgument`, `branchExists`, `noSuchBranch`, `noSuchMoment`, or as
    ///   ``write(_:)`` does.
    public func createBranch(
        named name: String,
        leaving parent: BranchID? = nil,
        at moment: Moment? = nil
    ) async throws -> Branch {
        try Self.check(branchName: name)
        let id = try await self.write { transaction in
            try transaction.readingStore { store in
                guard !store.openBranches.contains(where: { $0.opening.name == name }) else {
                    throw PeerdError(
                        .branchExists,
                        "There is a branch “\(name)” already.",
                        advice: "Choose another name, or delete that one first."
                    )
                }
                if let parent { _ = try Branch.find(parent.description, in: store) }
            }
            let base = try moment.map { moment in
                try transaction.readingStore { store in try moment.heads(on: parent, in: &store) }
            }
            return try transaction.translating { local throws(WriteRefusal) in
                try local.openBranch(named: name, leaving: parent, at: base)
            }
        }
        return try await self.branch(id.description)
    }

    private static func check(branchName name: String) throws {
        let isPlain = name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard (1...Limits.nameByteCountMax).contains(name.utf8.count), isPlain, !Branch.isMain(name),
            BranchID(text: name) == nil, name == name.trimmingCharacters(in: .whitespacesAndNewlines)
        else {
            throw PeerdError(
                .invalidArgument,
                "“\(name.prefix(80))” cannot be the name of a branch.",
                advice: "A name has 1 to \(Limits.nameByteCountMax) bytes, no control characters and no space at its "
                    + "ends; “\(Branch.mainName)” means the main timeline."
            )
        }
    }

    /// Deletes a branch.
    ///
    /// What was merged of it stays. What was not merged stays in the history and counts nowhere, except on branches of
    /// this branch. What other machines wrote on the branch and is not here yet is not deleted: with it the branch is
    /// listed again, on all machines, and ``Branch/deletedBy`` says why.
    ///
    /// - Parameters:
    ///   - branch: the branch.
    ///   - transactionCount: how many transactions may go with it that count on no other timeline. With the number that
    ///     somebody has agreed to, what comes meanwhile is not deleted unseen.
    /// - Returns: the branch if it stays, since something of it is here that is held or waits for other changes;
    ///   otherwise nil.
    /// - Throws: ``PeerdError`` with `noSuchBranch`, `branchUnmerged`, or as ``write(_:)`` does.
    @discardableResult
    public func deleteBranch(_ branch: BranchID, discardingAtMost transactionCount: Int = 0) async throws -> Branch? {
        try await self.write { transaction in
            try transaction.translating { local throws(WriteRefusal) in
                try local.closeBranch(branch, discardingAtMost: transactionCount)
            }
        }
        return try await self.reading { transaction in
            try transaction.openBranch(branch).map { entry in
                try Branch(entry, readBy: self.identity.device, in: &transaction)
            }
        }
    }

    /// Returns the branches that stay although some machine has deleted them: it had not seen all of them.
    ///
    /// - Complexity: O(*b* + *l*) for *b* branches and *l* chains, and as for ``branches()`` for those that it returns.
    package func branchesDeletedElsewhere() async throws -> [Branch] {
        try await self.reading { transaction in
            var branches: [Branch] = []
            for entry in transaction.openBranches where transaction.isGivenUp(entry.opening.id) {
                branches.append(try Branch(entry, readBy: self.identity.device, in: &transaction))
            }
            return branches
        }
    }

    /// Merges a branch into the main timeline, or into another branch.
    ///
    /// The edits of the branch take effect as if they had been made offline: where both sides wrote to the same, the
    /// later one is in force, and the other is listed as a conflict. The branch stays, and can be merged again after
    /// further edits. Two machines that merge the same branch at once get the same state.
    ///
    /// - Parameters:
    ///   - branch: the branch to merge; nil for the main timeline, which brings a branch up to date.
    ///   - target: the branch that takes it in; nil for the main timeline.
    /// - Returns: whether anything was new to the target.
    /// - Throws: ``PeerdError`` with `noSuchBranch`; `noSuchMoment` if not all that the branch begins with is here; or
    ///   as ``write(_:)`` does.
    @discardableResult
    public func merge(_ branch: BranchID?, into target: BranchID? = nil) async throws -> Bool {
        try await self.write(on: target) { transaction in
            try transaction.translating { local throws(WriteRefusal) in try local.merge(branch) }
        }
    }
}
