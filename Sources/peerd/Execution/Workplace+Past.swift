internal import CRDTCore
internal import LocalAPI

/// The verbs that show history, and lead back.
extension Workplace {
    private static let pageCount = 1000

    func history(_ object: String, _ name: String?, limit: Int?) async throws {
        let isJSON = self.output.isJSON
        var (after, rest): (String?, Int) = (nil, limit ?? .max)
        var array = ArrayText(self.output)
        repeat {
            let request = try ObjectArgument.request(
                .get,
                object,
                "history",
                query: [("limit", String(min(rest, Self.pageCount))), ("property", name), ("after", after)]
            )
            let page: HistoryPageAnswer = try await self.caller.answer(request)
            for entry in page.entries {
                rest -= 1
                if isJSON {
                    try array.add(JSON(entry).canonicalText.utf8)
                } else {
                    try self.output.line(PastText.line(of: entry))
                }
            }
            after = page.next
        } while after != nil && rest > 0
        if isJSON { try array.end() }
    }

    func diff(_ from: String, _ to: String?, _ object: String?) async throws {
        let under = try object.map { try ObjectArgument.checked($0) }
        let moments = [("from", from), ("to", try await self.moment(to))]
        let request = APIRequest(.get, "api", "diff", query: moments + [("under", under)])
        try await self.printElements(request) { PastText.lines(of: $0) }
    }

    func restore(_ object: String, _ name: String?, at moment: String) async throws {
        let members: [ExactText: JSON?] = ["at": .string(moment), "property": name.map { .string($0) }]
        let branch = try await self.branchQuery
        let request = try ObjectArgument.request(.post, object, "restore", query: branch, body: members)
        let restoration: RestorationAnswer = try await self.caller.answer(request)
        if self.output.isJSON { return try self.output.json(restoration) }
        guard name == nil else { return }
        let (count, revived) = (restoration.objectCount, restoration.revivedCount)
        try self.output.line(count == 1 ? "1 object is what it was" : "\(count) objects are what they were")
        if revived == 1 { try self.output.line("1 of them was deleted and is created again") }
        if revived > 1 { try self.output.line("\(revived) of them were deleted and are created again") }
        if restoration.staysInPlace {
            try self.output.line("not put where it was: its parent of then is gone, or is below it now")
        }
    }

    /// Takes actions back, or does them again.
    func reverse(_ verb: String, _ count: Int, _ options: ActionOptions) async throws {
        guard (1...1000).contains(count) else { throw CommandFailure(.usage, "\(verb) takes 1 to 1000 actions.") }
        var members: [ExactText: JSON?] = ["count": .int(Int64(count))]
        members["program"] = options.program.map { .string($0) }
        members["device"] = options.device.map { .string($0) }
        if options.allPrograms { members["all_programs"] = .bool(true) }
        let request = APIRequest(.post, "api", verb, query: try await self.branchQuery, body: members)
        let actions = try await (self.work(request) as UndoAnswer).actions
        if actions.isEmpty { throw CommandFailure(.failure, "There is nothing to \(verb).") }
        if self.output.isJSON {
            try self.output.json(actions)
        } else {
            for action in actions {
                for line in PastText.lines(of: action, verb) { try self.output.line(line) }
            }
        }
        if actions.allSatisfy(\.hasFailed) {
            throw CommandFailure(.failure, verb == "undo" ? "Nothing was taken back." : "Nothing was done again.")
        }
        if self.output.isJSON { return }
        if verb == "undo", actions.contains(where: \.isMerge) {
            try self.output.note("\"peerd redo\" brings back what the branch had brought; another merge does not.")
        }
    }
}

/// History in words.
enum PastText {
    static func line(of entry: HistoryEntryAnswer) -> String {
        var line = "\(PlainText.time(entry.timeMs))  \(entry.author.name)  \(entry.action.text())"
        if let before = entry.replaced?.content { line += ", before \(before)" }
        if entry.erasesPast { line += ", earlier values erased" }
        return "\(line)\(entry.first.statusText)  \(entry.moment)"
    }

    static func lines(of difference: DifferenceAnswer) -> [String] {
        let sign =
            switch difference.change.known {
            case .created: "+"
            case .deleted: "-"
            case .changed, nil: "~"
            }
        var lines = ["\(sign) \(difference.type)  \(difference.id)"]
        if let moved = difference.moved {
            let (before, after) = (moved.before ?? "the root", moved.after ?? "the root")
            lines.append(before == after ? "    moved among its siblings" : "    moved from \(before) to \(after)")
        }
        for (name, sides) in difference.properties.all.sorted(by: { $0.key < $1.key }) {
            let (before, after) = (sides.before?.canonicalText, sides.after?.canonicalText)
            lines.append("    \(name.text): \(before ?? "not set") -> \(after ?? "not set")")
        }
        return lines
    }

    static func lines(of action: UndoneAnswer, _ verb: String) -> [String] {
        var words = verb == "undo" ? ("took back", "could not take back") : ("did again", "could not do again")
        // What an undo had left as it was is nothing to do again.
        if !action.hasEffect { words.0 = verb == "undo" ? "nothing to take back:" : "nothing to do again:" }
        var what = action.edits.first.map { "\($0.action.text()) of \($0.object ?? "")" } ?? ""
        if action.edits.first?.isUndo ?? false { what = "the undo of \(what)" }
        if action.isMerge { what = "a merge: \(what)" }
        if action.editCount > 1 { what += ", and \(action.editCount - 1) more" }
        var source = "\(PlainText.time(action.timeMs)), \(action.deviceName ?? "?")"
        if !action.program.isEmpty { source += ", \(action.program)" }
        var lines = ["\(action.hasFailed ? words.1 : words.0) \(what)  (\(source))"]
        lines += action.kept.map { "    left as it is: \(self.text(of: $0))" }
        let rest = action.keptCount - action.kept.count
        if rest > 0 { lines.append("    left as they are: \(rest) more") }
        if action.leftCount > 0 {
            let left = PlainText.count(action.leftCount, "transaction")
            lines.append("    stopped: something else was done meanwhile; \(left) of it left")
        }
        return lines
    }

    private static func text(of kept: UndoneAnswer.Kept) -> String {
        let part =
            switch kept.part.known {
            case .property: "\(kept.property ?? "") of \(kept.object)"
            case .place: "the place of \(kept.object)"
            case .object, nil: kept.object
            }
        let author = kept.author.map { " by \($0.name)" } ?? ""
        let reason =
            switch kept.reason.known {
            case .edited: "edited since\(author)"
            case .deleted: "deleted\(author)"
            case .hasChildren: "there is something below it"
            case .parentGone: "its parent of then is gone, or is below it now"
            case .tooLarge: "one change cannot hold it beside the rest; bring it back with \"peerd restore\""
            case .unknown, nil: "its former value is not here"
            }
        return "\(part), \(reason)"
    }
}

extension UndoneAnswer {
    /// Whether nothing of it could be taken back, or done again.
    fileprivate var hasFailed: Bool { !self.hasEffect && self.keptCount > 0 }
}

extension ActionAnswer {
    /// What was done, with the object if it is given.
    func text(_ object: String? = nil) -> String {
        let object = object.map { " \($0)" } ?? ""
        if let create { return "create\(object) \(create.text)" }
        if let set { return "set\(object) \(set.name) = \(set.value.canonicalText)" }
        if let unset { return "unset\(object) \(unset.name)" }
        if let move { return "move\(object) under \(move.parent ?? "the root")" }
        if self.delete != nil { return "delete\(object)" }
        return "an operation whose content was dropped, or unknown to this version"
    }

    /// What an edit left behind it.
    fileprivate var content: String? {
        if let set { return set.value.canonicalText }
        if let move { return "under \(move.parent ?? "the root")" }
        if self.other != nil { return "a value that was dropped" }
        return self.unset == nil ? nil : "not set"
    }
}

extension LogEntryAnswer {
    /// Where it does not have its effect, the status in words.
    var statusText: String {
        self.status.known == .effective ? "" : "  [\(self.status.rawValue.replacing("_", with: " "))]"
    }
}
