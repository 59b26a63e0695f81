internal import CRDTCore
internal import LocalAPI

/// The verbs that show history, and lead back.
extension Workplace {
    private static let pageCount = 1000

    func history(_ object: String, _ name: String?, limit: Int?) async throws {
        let isJSON = self.output.format.isJSON
        var (after, rest): (String?, Int) = (nil, limit ?? .max)
        var isFirst = true
        repeat {
            var request = try ObjectArgument.request(.get, object, "history")
            request.query = [("limit", String(min(rest, Self.pageCount)))]
            if let name { request.query.append(("property", name)) }
            if let after { request.query.append(("after", after)) }
            let page = try await self.caller.json(request)
            for entry in page["entries"]?.elements ?? [] {
                rest -= 1
                if isJSON {
                    try await self.output.write((isFirst ? "[\n" : ",\n").utf8)
                    try await self.output.write(entry.canonicalText.utf8)
                } else {
                    try await self.output.line(PastText.line(of: entry))
                }
                isFirst = false
            }
            after = page["next"]?.text
        } while after != nil && rest > 0
        if isJSON { try await self.output.write((isFirst ? "[]\n" : "\n]\n").utf8) }
    }

    func diff(_ from: String, _ to: String?, _ object: String?) async throws {
        var request = APIRequest(.get, "api", "diff")
        request.query = [("from", from)]
        if let to = try to ?? self.branchMoment { request.query.append(("to", to)) }
        if let object { request.query.append(("under", try ObjectArgument.checked(object))) }
        let isJSON = self.output.format.isJSON
        try await self.printWhole { spool in
            var array = isJSON ? ArrayText(spool) : nil
            try await self.caller.lines(request) { line in
                if isJSON {
                    array?.add(line)
                } else {
                    for text in PastText.lines(ofDifference: JSON.answer(line) ?? .null) { spool.line(text) }
                }
            }
            array?.end()
        }
    }

    func restore(_ object: String, _ name: String?, at moment: String) async throws {
        var request = try ObjectArgument.request(.post, object, "restore")
        request.query = try self.branchQuery
        var members: [ExactText: JSON] = ["at": .string(moment)]
        if let name { members["property"] = .string(name) }
        request.body = .json(.object(members))
        let restoration = try await self.caller.json(request)
        if self.output.format.isJSON { return try await self.output.json(restoration) }
        guard name == nil else { return }
        let (count, revived) = (restoration["object_count"]?.integer ?? 0, restoration["revived_count"]?.integer ?? 0)
        try await self.output.line(count == 1 ? "1 object is what it was" : "\(count) objects are what they were")
        if revived == 1 { try await self.output.line("1 of them was deleted and is created again") }
        if revived > 1 { try await self.output.line("\(revived) of them were deleted and are created again") }
        if restoration["stays_in_place"]?.isTrue ?? false {
            try await self.output.line("not put where it was: its parent of then is gone, or is below it now")
        }
    }

    /// Takes transactions back, or does them again.
    func reverse(_ verb: String, _ count: Int) async throws {
        guard (1...1000).contains(count) else { throw CommandFailure(.usage, "\(verb) takes 1 to 1000 transactions.") }
        var request = APIRequest(.post, "api", verb)
        request.query = try self.branchQuery
        request.body = .json(.object(["count": .int(Int64(count))]))
        let answer = try await self.caller.json(request)
        if self.output.format.isJSON { return try await self.output.json(answer["transactions"] ?? .array([])) }
        let transactions = answer["transactions"]?.elements ?? []
        if transactions.isEmpty { throw CommandFailure(.failure, "There is nothing to \(verb).") }
        for transaction in transactions {
            for line in PastText.lines(ofReversed: transaction, verb) { try await self.output.line(line) }
        }
    }
}

/// History in words.
enum PastText {
    static func line(of entry: JSON) -> String {
        let time = PlainText.time(milliseconds: UInt64(clamping: entry["time_ms"]?.integer ?? 0))
        let author = entry["author"]?["name"]?.text ?? "?"
        var line = "\(time)  \(author)  \(self.edit(entry["action"]))"
        if let replaced = entry["replaced"], let before = self.content(replaced) { line += ", before \(before)" }
        if entry["erases_past"]?.isTrue ?? false { line += ", earlier values erased" }
        let status = entry["status"]?.text?.replacing("_", with: " ") ?? ""
        if status != "effective" { line += "  [\(status)]" }
        return line + "  \(entry["moment"]?.text ?? "")"
    }

    /// What was done, without the object.
    private static func edit(_ action: JSON?) -> String {
        guard let action else { return "?" }
        if let creation = action["create"] {
            let (type, kind) = (creation["type"]?.text ?? "", creation["kind"]?.text ?? "")
            return "create \(kind.isEmpty ? type : "\(type)/\(kind)")"
        }
        if let set = action["set"] { return "set \(set["name"]?.text ?? "") = \(set["value"]?.canonicalText ?? "")" }
        if let unset = action["unset"] { return "unset \(unset["name"]?.text ?? "")" }
        if let move = action["move"] { return "move under \(move["parent"]?.text ?? "the root")" }
        if action["delete"] != nil { return "delete" }
        return "an operation whose content was dropped, or unknown to this version"
    }

    /// What an edit left behind it.
    private static func content(_ action: JSON) -> String? {
        if let set = action["set"] { return set["value"]?.canonicalText }
        if let move = action["move"] { return "under \(move["parent"]?.text ?? "the root")" }
        if action["other"] != nil { return "a value that was dropped" }
        return action["unset"] == nil ? nil : "not set"
    }

    static func lines(ofDifference difference: JSON) -> [String] {
        let sign = ["created": "+", "deleted": "-"][difference["change"]?.text ?? ""] ?? "~"
        var lines = ["\(sign) \(difference["type"]?.text ?? "")  \(difference["id"]?.text ?? "")"]
        if let moved = difference["moved"], moved != .null {
            let sides = ["before", "after"].map { moved[$0]?.text ?? "the root" }
            lines.append(
                sides[0] == sides[1] ? "    moved among its siblings" : "    moved from \(sides[0]) to \(sides[1])"
            )
        }
        guard case .object(let properties)? = difference["properties"] else { return lines }
        for (name, sides) in properties.sorted(by: { $0.key < $1.key }) {
            let (before, after) = (sides["before"]?.canonicalText, sides["after"]?.canonicalText)
            lines.append("    \(name.text): \(before ?? "not set") -> \(after ?? "not set")")
        }
        return lines
    }

    static func lines(ofReversed transaction: JSON, _ verb: String) -> [String] {
        let time = PlainText.time(milliseconds: UInt64(clamping: transaction["time_ms"]?.integer ?? 0))
        let edits = transaction["edits"]?.elements ?? []
        let hasFailed = transaction["has_effect"] == .bool(false) && transaction["kept"]?.elements.isEmpty == false
        let words = verb == "undo" ? ("took back", "could not take back") : ("did again", "could not do again")
        let word = hasFailed ? words.1 : words.0
        var what = edits.first.map { "\(self.edit($0["action"])) of \($0["object"]?.text ?? "")" } ?? ""
        if edits.count > 1 { what += ", and \(edits.count - 1) more" }
        var lines = ["\(word) \(what)  (\(time), \(transaction["device_name"]?.text ?? "?"))"]
        for kept in transaction["kept"]?.elements ?? [] { lines.append("    left as it is: \(self.kept(kept))") }
        return lines
    }

    private static func kept(_ kept: JSON) -> String {
        let object = kept["object"]?.text ?? ""
        let part =
            switch kept["part"]?.text {
            case "property": "\(kept["property"]?.text ?? "") of \(object)"
            case "place": "the place of \(object)"
            default: object
            }
        let author = kept["author"]?["name"]?.text.map { " by \($0)" } ?? ""
        let reason =
            switch kept["reason"]?.text {
            case "edited": "edited since\(author)"
            case "deleted": "deleted\(author)"
            case "has-children": "there is something below it"
            case "parent-gone": "its parent of then is gone, or is below it now"
            case "too-large": "one change cannot hold it beside the rest; bring it back with \"peerd restore\""
            default: "its former value is not here any more"
            }
        return "\(part), \(reason)"
    }
}
