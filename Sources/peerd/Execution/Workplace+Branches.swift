internal import CRDTCore
internal import LocalAPI
internal import PeerdKit

/// The verbs of branches.
extension Workplace {
    /// No parent is the current branch.
    func createBranch(_ name: String, from parent: String?, at moment: String?) async throws {
        var members: [ExactText: JSON] = ["name": .string(name)]
        if let parent = try parent ?? self.currentBranch?.description { members["parent"] = .string(parent) }
        if let moment { members["at"] = .string(moment) }
        var request = APIRequest(.post, "api", "branches")
        request.body = .json(.object(members))
        let branch = try await self.caller.json(request)
        if self.output.format.isJSON { return try await self.output.json(branch) }
        try await self.output.line(branch["id"]?.text ?? "")
    }

    func listBranches() async throws {
        let branches = try await self.caller.json(APIRequest(.get, "api", "branches"))["branches"]?.elements ?? []
        let current = try self.currentBranch?.description
        if self.output.format.isJSON {
            return try await self.output.json(
                .array(branches.map { BranchText.adding("current", .bool($0["id"]?.text == current), to: $0) })
            )
        }
        var names: [String: String] = [:]
        for branch in branches { names[branch["id"]?.text ?? ""] = branch["name"]?.text }
        var rows = [[current == nil ? "*" : "", Branch.mainName]]
        rows += branches.map { branch in BranchText.row(branch, isCurrent: branch["id"]?.text == current, names) }
        try await self.output.table(rows)
    }

    func switchBranch(to name: String) async throws {
        let branch = try await self.branch(name)
        try CurrentBranch.save(branch["id"]?.text.flatMap { BranchID(text: $0) }, self.paths)
        if self.output.format.isJSON { return try await self.output.json(branch) }
        try await self.output.line("on \(BranchText.name(branch)) now")
    }

    /// No other branch is the one that it leaves.
    func diffBranch(_ name: String, _ other: String?) async throws {
        let branch = try await self.branch(name)
        let target = try await self.target(other, of: branch)
        try await self.diff(BranchText.moment(target), BranchText.moment(branch), nil)
    }

    /// No target is the branch that it leaves.
    func mergeBranch(_ name: String, into other: String?, isTrial: Bool) async throws {
        let branch = try await self.branch(name)
        let target = try await self.target(other, of: branch)
        let names = (BranchText.name(branch), BranchText.name(target))
        var look = APIRequest(.get, "api", "branches", BranchText.id(branch), "conflicts")
        look.query = [("into", BranchText.id(target))]
        let isJSON = self.output.format.isJSON
        var conflicts = JSON.array([])
        do {
            conflicts = try await self.caller.json(look)["conflicts"] ?? conflicts
        } catch let problem as Problem where problem.code == "no-such-moment" {
            try await self.output.note(
                "What both sides changed cannot be listed: values that the branch began with were dropped by a "
                    + "compaction, or erased."
            )
        }
        if !isJSON {
            for line in BranchText.lines(ofConflicts: conflicts.elements, names) {
                try await self.output.line(line)
            }
            try await self.output.flush()
        }
        if isTrial {
            if isJSON { return try await self.output.json(.object(["merged": .bool(false), "conflicts": conflicts])) }
            return try await self.output.line("Nothing was written; without --dry-run \(names.0) goes into \(names.1).")
        }
        var request = APIRequest(.post, "api", "branches", BranchText.id(branch), "merge")
        request.body = .json(.object(["into": .string(BranchText.id(target))]))
        let result = try await self.caller.json(request)
        if isJSON { return try await self.output.json(result) }
        guard result["merged"]?.isTrue ?? false else {
            return try await self.output.line("\(names.1) has everything of \(names.0) already; nothing was written.")
        }
        try await self.output.line("merged \(names.0) into \(names.1)")
    }

    func deleteBranch(_ name: String) async throws {
        guard !Branch.isMain(name) else { throw CommandFailure(.usage, "The main timeline cannot be deleted.") }
        let branch = try await self.branch(name)
        _ = try await self.caller.json(APIRequest(.delete, "api", "branches", BranchText.id(branch)))
        // What is gone cannot be acted on.
        let wasCurrent = try self.currentBranch?.description == branch["id"]?.text
        if wasCurrent { try CurrentBranch.save(nil, self.paths) }
        if self.output.format.isJSON { return try await self.output.json(branch) }
        try await self.output.line("deleted \(BranchText.name(branch))")
        if wasCurrent { try await self.output.note("It was the current branch; commands act on main now.") }
    }

    /// The current branch as `status` shows it; null for the main timeline.
    func branchReport() async throws -> JSON {
        guard let id = try self.currentBranch?.description else { return .null }
        do {
            let branch = try await self.caller.json(APIRequest(.get, "api", "branches", id))
            return .object(["id": .string(id), "name": branch["name"] ?? .null])
        } catch let problem as Problem where problem.code == "no-such-branch" {
            return .object(["id": .string(id), "name": .null])
        }
    }

    /// What the API says of a branch; null for the main timeline.
    private func branch(_ name: String) async throws -> JSON {
        if Branch.isMain(name) { return .null }
        return try await self.caller.json(APIRequest(.get, "api", "branches", name))
    }

    /// The branch that another is held against.
    private func target(_ name: String?, of branch: JSON) async throws -> JSON {
        if let name { return try await self.branch(name) }
        if branch != .null { return try await self.branch(branch["parent"]?.text ?? Branch.mainName) }
        guard let current = try self.currentBranch else {
            throw CommandFailure(.usage, "The main timeline leaves no branch; name the other one, too.")
        }
        return try await self.branch(current.description)
    }
}

/// Branches in words; null stands for the main timeline.
enum BranchText {
    static func name(_ branch: JSON) -> String { branch["name"]?.text ?? Branch.mainName }

    static func id(_ branch: JSON) -> String { branch["id"]?.text ?? Branch.mainName }

    static func moment(_ branch: JSON) -> String { "branch:\(self.id(branch))" }

    /// The current branch, as `status` says it.
    static func current(_ branch: JSON) -> String {
        guard let id = branch["id"]?.text else { return Branch.mainName }
        guard let name = branch["name"]?.text else {
            return "\(id), which was deleted; run \"peerd branch switch main\""
        }
        return "\(name) (\(id)); \"peerd branch switch main\" leads back"
    }

    static func adding(_ name: ExactText, _ value: JSON, to json: JSON) -> JSON {
        guard case .object(var members) = json else { return json }
        members[name] = value
        return .object(members)
    }

    static func row(_ branch: JSON, isCurrent: Bool, _ names: [String: String]) -> [String] {
        let parent = branch["parent"]?.text.map { names[$0] ?? $0 } ?? Branch.mainName
        let time = PlainText.time(milliseconds: UInt64(clamping: branch["time_ms"]?.integer ?? 0))
        let count = branch["unmerged"]?.integer ?? 0
        return [
            isCurrent ? "*" : "",
            self.name(branch),
            "leaves \(parent)",
            count == 0 ? "all merged" : "\(PlainText.count(count, "transaction")) not merged",
            "\(branch["author"]?["name"]?.text ?? "?"), \(time)",
            self.id(branch),
        ]
    }

    /// `names`: those of the branch and of the target.
    static func lines(ofConflicts conflicts: [JSON], _ names: (String, String)) -> [String] {
        var lines: [String] = []
        var last: String?
        for conflict in conflicts {
            let object = conflict["object"]?.text ?? "?"
            if object != last { lines.append("~ \(object)") }
            last = object
            lines.append("    \(self.text(ofConflict: conflict, names))")
        }
        return lines
    }

    private static func text(ofConflict conflict: JSON, _ names: (String, String)) -> String {
        func sides(_ text: (JSON?) -> String) -> String {
            "\(text(conflict["branch"])) on \(names.0), \(text(conflict["target"])) on \(names.1)"
        }
        switch conflict["kind"]?.text {
        case "property":
            return "\(conflict["property"]?.text ?? ""): \(sides { $0?.canonicalText ?? "not set" }); the later counts"
        case "place":
            return "moved: \(sides { "under \($0?.text ?? "the root")" }); the later counts"
        case "deleted-on-branch": return "deleted on \(names.0), edited on \(names.1): it stays"
        case "deleted-on-target": return "deleted on \(names.1), edited on \(names.0): it comes back"
        default: return "a conflict unknown to this version"
        }
    }
}
