internal import CRDTCore
internal import LocalAPI
internal import PeerdKit

/// The verbs of branches.
extension Workplace {
    /// No parent is the current branch.
    func createBranch(_ name: String, from parent: String?, at moment: String?) async throws {
        let current = parent == nil ? try await self.currentBranch?.description : nil
        let parent = parent ?? current
        let texts: [ExactText: String?] = ["name": name, "parent": parent, "at": moment]
        let members = texts.mapValues { $0.map { JSON.string($0) } }
        let request = APIRequest(.post, "api", "branches", body: members)
        let branch: BranchAnswer = try await self.caller.answer(request)
        try self.output.show(branch, branch.id)
    }

    func listBranches() async throws {
        let list: BranchList = try await self.caller.answer(APIRequest(.get, "api", "branches"))
        let current = try await self.currentBranch?.description
        if self.output.isJSON {
            return try self.output.json(list.branches.map { JSON($0).with(["current": $0.id == current]) })
        }
        let names = Dictionary(list.branches.map { ($0.id, $0.name) }) { first, _ in first }
        let rows = list.branches.map { $0.row(isCurrent: $0.id == current, names) }
        try self.output.table([[current == nil ? "*" : "", Branch.mainName]] + rows)
    }

    func switchBranch(to name: String) async throws {
        let branch = try await self.branch(name)
        try CurrentBranch.save(branch.flatMap { BranchID(text: $0.id) }, self.paths)
        try self.output.show(branch, "on \(branch.name) now")
        if case .environment(let name) = self.branchChoice {
            try self.output.note("$\(BranchChoice.variable) comes first in this session, and names “\(name)”.")
        }
    }

    /// No other branch is the one that it leaves.
    func diffBranch(_ name: String, _ other: String?) async throws {
        let branch = try await self.branch(name)
        let target = try await self.target(other, of: branch)
        try await self.diff("branch:\(target.id)", "branch:\(branch.id)", nil)
    }

    /// No target is the branch that it leaves.
    func mergeBranch(_ name: String, into other: String?, isTrial: Bool) async throws {
        let branch = try await self.branch(name)
        let target = try await self.target(other, of: branch)
        let names = (branch.name, target.name)
        let look = APIRequest(.get, "api", "branches", branch.id, "conflicts", query: [("into", target.id)])
        let isJSON = self.output.isJSON
        var conflicts: [MergeConflictAnswer] = []
        do {
            conflicts = try await self.caller.answer(look, as: MergeConflictList.self).conflicts
        } catch let problem as Problem where problem.code == "no-such-moment" {
            try self.output.note(
                "What both sides changed cannot be listed: values that the branch began with were dropped by a "
                    + "compaction, or erased."
            )
        }
        if !isJSON {
            var last: String?
            for conflict in conflicts {
                if conflict.object != last { try self.output.line("~ \(conflict.object)") }
                last = conflict.object
                try self.output.line("    \(conflict.text(names))")
            }
            try self.output.flush()
        }
        if isTrial {
            let answer = MergeAnswer(merged: false, conflicts: conflicts)
            let text = "Nothing was written; without --dry-run \(names.0) goes into \(names.1)."
            return try self.output.show(answer, text)
        }
        let request = APIRequest(.post, "api", "branches", branch.id, "merge", body: ["into": .string(target.id)])
        let result: MergeAnswer = try await self.caller.answer(request)
        let isThere = """
            \(names.1) has everything of \(names.0) already; nothing was written. What an undo of a merge took back, \
            \"peerd redo\" brings back.
            """
        try self.output.show(result, result.merged ? "merged \(names.0) into \(names.1)" : isThere)
    }

    func deleteBranch(_ name: String, discards: Bool) async throws {
        guard !Branch.isMain(name) else { throw CommandFailure(.usage, "The main timeline cannot be deleted.") }
        let branch = try await self.branch(name)
        let deletion = try await self.deletion(of: branch, discards: discards)
        if let remains = deletion.remains {
            if self.output.isJSON { return try self.output.json(JSON(branch).with(["remains": remains])) }
            try self.output.line("deleted what was known of \(branch.name)")
            return try self.output.note(remains.keptSentence)
        }
        // What is gone cannot be acted on.
        let wasCurrent = try CurrentBranch.load(self.paths)?.description == branch.id
        if wasCurrent { try CurrentBranch.save(nil, self.paths) }
        if self.output.isJSON { return try self.output.json(branch) }
        try self.output.line("deleted \(branch.name)")
        if wasCurrent { try self.output.note("It was the current branch; commands act on main now.") }
    }

    /// Deletes a branch; asks first if it has edits that nothing else has, and somebody can answer.
    private func deletion(of branch: BranchAnswer?, discards: Bool) async throws -> BranchDeletion {
        let id = branch?.id ?? Branch.mainName
        var (known, count) = (branch, discards ? Int(Int32.max) : 0)
        while true {
            do {
                let query = [("discard", String(count))]
                return try await self.caller.answer(APIRequest(.delete, "api", "branches", id, query: query))
            } catch let problem as Problem where problem.code == "branch-unmerged" && !self.output.isJSON {
                guard StandardStreams.canAsk else { throw problem }
                let answer = StandardStreams.answer(to: "\(problem.message) Delete the branch with them? [y/N] ")
                guard ["y", "yes"].contains(answer.lowercased()) else {
                    throw CommandFailure(.failure, "Nothing was deleted.")
                }
                // What has come since the branch was read is asked for again.
                count = known?.unmerged ?? 0
                known = try await self.branch(id)
            }
        }
    }

    /// The current branch as `status` shows it; nil for the main timeline.
    func branchReport() async throws -> BranchReport? {
        guard let id = try await self.currentBranch?.description else { return nil }
        return BranchReport(id: id, name: try await self.branchName(id))
    }

    /// What the API says of a branch; nil for the main timeline.
    func branch(_ name: String) async throws -> BranchAnswer? {
        if Branch.isMain(name) { return nil }
        return try await self.caller.answer(APIRequest(.get, "api", "branches", name), as: BranchAnswer.self)
    }

    /// The branch that another is held against.
    private func target(_ name: String?, of branch: BranchAnswer?) async throws -> BranchAnswer? {
        if let name { return try await self.branch(name) }
        if let branch { return try await self.branch(branch.parent ?? Branch.mainName) }
        guard let current = try await self.currentBranch else {
            throw CommandFailure(.usage, "The main timeline leaves no branch; name the other one, too.")
        }
        return try await self.branch(current.description)
    }
}

/// The current branch; without a name it was deleted.
struct BranchReport: Answer {
    var id: String
    var name: String?
}

extension BranchReport? {
    /// The branch as `status` says it.
    var text: String {
        guard let branch = self else { return Branch.mainName }
        guard let name = branch.name else {
            return "\(branch.id), which was deleted; run \"peerd branch switch main\""
        }
        return "\(name) (\(branch.id)); \"peerd branch switch main\" leads back"
    }
}

/// Nil is the main timeline.
extension BranchAnswer? {
    fileprivate var name: String { self.map(\.name) ?? Branch.mainName }
    fileprivate var id: String { self.map(\.id) ?? Branch.mainName }
}

extension BranchAnswer {
    /// Why it stays although some machine has deleted it.
    var keptSentence: String {
        """
        \(self.name) (\(self.id)) stays: \(PlainText.count(self.unseen, "transaction")) on it had not been seen by \
        \(self.deletedBy?.name ?? "the machine") that deleted it. Merge it, or delete it here, too.
        """
    }

    fileprivate func row(isCurrent: Bool, _ names: [String: String]) -> [String] {
        [
            isCurrent ? "*" : "",
            self.name,
            "leaves \(self.parent.map { names[$0] ?? $0 } ?? Branch.mainName)",
            (self.unmerged == 0 ? "all merged" : "\(PlainText.count(self.unmerged, "transaction")) not merged")
                + (self.deletedBy.map { "; deleted by \($0.name), which had not seen \(self.unseen)" } ?? ""),
            "\(self.author.name), \(PlainText.time(self.timeMs))",
            self.id,
        ]
    }
}

extension MergeConflictAnswer {
    /// `names`: those of the branch and of the target.
    fileprivate func text(_ names: (String, String)) -> String {
        func sides(_ text: (JSON?) -> String) -> String {
            "\(text(self.branch)) on \(names.0), \(text(self.target)) on \(names.1)"
        }
        switch self.kind.known {
        case .property: return "\(self.property ?? ""): \(sides { $0?.canonicalText ?? "not set" }); the later counts"
        case .place: return "moved: \(sides { PlainText.parent($0) }); the later counts"
        case .deletedOnBranch: return "deleted on \(names.0), edited on \(names.1): it stays"
        case .deletedOnTarget: return "deleted on \(names.1), edited on \(names.0): it comes back"
        case nil: return "a conflict unknown to this version"
        }
    }
}
