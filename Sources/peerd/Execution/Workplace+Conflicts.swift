internal import CRDTCore
internal import LocalAPI

/// What lost against something concurrent, and what had no effect.
extension Workplace {
    func conflicts() async throws {
        try await self.requireMainTimeline("conflicts")
        var request = APIRequest(.get, "api", "conflicts")
        if !self.output.format.isJSON { request.query = [("summaries", "true")] }
        var (properties, creations, moves): ([ConflictEntry], [ConflictEntry], [ConflictEntry]) = ([], [], [])
        var withoutEffect: [ConflictEntry] = []
        try await self.caller.lines(request) { line in
            guard let json = JSON.answer(line) else { throw APIConnectionError.notUnderstood }
            let summary = json["object"].map { ObjectSummary($0) }
            if let conflict = json["conflict"] {
                let entry = ConflictEntry(json: conflict, summary: summary)
                switch conflict["about"]?.text {
                case "creation": creations.append(entry)
                case "place": moves.append(entry)
                default: properties.append(entry)
                }
            } else if let move = json["move_without_effect"] {
                withoutEffect.append(ConflictEntry(json: move, summary: summary))
            }
        }
        if self.output.format.isJSON {
            let json = JSON.object([
                "properties": .array(properties.map { ConflictJSON.of($0.json) }),
                "creations": .array(creations.map { ConflictJSON.of($0.json) }),
                "moves": .array(moves.map { ConflictJSON.of($0.json) }),
                "moves_without_effect": .array(withoutEffect.map { ConflictJSON.ofMoveWithoutEffect($0.json) }),
            ])
            return try await self.output.json(json)
        }
        if properties.isEmpty, creations.isEmpty, moves.isEmpty, withoutEffect.isEmpty {
            return try await self.output.line("No conflicts.")
        }
        for entry in properties + creations + moves {
            for line in entry.lines { try await self.output.line(line) }
        }
        for entry in withoutEffect {
            try await self.output.line(entry.head)
            let move = ConflictText.of(entry.json["move"] ?? .null)
            try await self.output.line("  the move \(move), has no effect: it would close a cycle")
        }
    }
}

/// A conflict as the API shows it, and what `ls` says of its object.
private struct ConflictEntry {
    var json: JSON
    /// Nil if the object is gone.
    var summary: ObjectSummary?

    var head: String {
        guard let summary = self.summary, summary.id != "?" else { return self.json["object"]?.text ?? "?" }
        return summary.line
    }

    var lines: [String] {
        let about = self.json["about"]?.text == "creation" ? "created" : "moved"
        var lines = [self.head, "  \(self.json["property"]?.text ?? about)"]
        if let winner = self.json["winner"], winner != .null {
            lines.append("    in force  \(ConflictText.of(winner))")
        }
        for loser in self.json["losers"]?.elements ?? [] { lines.append("    lost      \(ConflictText.of(loser))") }
        if self.json["about"]?.text == "creation" {
            lines.append("    Type and kind cannot be changed. Keep the object, or remove it and create another one.")
        }
        return lines
    }
}

/// A version of what is in conflict, for people.
private enum ConflictText {
    static func of(_ version: JSON) -> String {
        let content = version["content"] ?? .null
        let what: String
        if let value = content["value"] {
            what = value.canonicalText
        } else if let parent = content["parent"] {
            what = "under \(parent.text ?? "the root")"
        } else if let creation = content["create"] {
            let kind = creation["kind"]?.text ?? ""
            what = "type \(creation["type"]?.text ?? "?"), kind \(kind.isEmpty ? "none" : kind)"
        } else {
            what = "(removed)"
        }
        let time = PlainText.time(milliseconds: UInt64(clamping: version["time_ms"]?.integer ?? 0))
        return "\(what)  by \(version["author"]?["name"]?.text ?? "?"), \(time)"
    }
}

/// Conflicts as `--json` prints them, made of what the API shows.
enum ConflictJSON {
    static func of(_ conflict: JSON) -> JSON {
        var members: [ExactText: JSON] = [
            "object": conflict["object"] ?? .null,
            "winner": conflict["winner"].map { self.version($0) } ?? .null,
            "losers": .array((conflict["losers"]?.elements ?? []).map { self.version($0) }),
        ]
        if let name = conflict["property"], name != .null { members["name"] = name }
        return .object(members)
    }

    static func ofMoveWithoutEffect(_ move: JSON) -> JSON {
        guard case .object(var members) = self.version(move["move"] ?? .null) else { return .null }
        members["object"] = move["object"]
        return .object(members)
    }

    private static func version(_ version: JSON) -> JSON {
        guard case .object = version else { return .null }
        var members: [ExactText: JSON] = ["device": version["author"]?["name"] ?? .null]
        if let source = version["source"], source != .null {
            for name in ["replica", "sequence", "index", "stamp"] { members[ExactText(name)] = source[name] }
            members["time_ms"] = version["time_ms"]
            members["author"] = source["user"]
        }
        let content = version["content"] ?? .null
        if let parent = content["parent"] {
            members["parent"] = parent
        } else if let creation = content["create"] {
            for name in ["type", "kind"] { members[ExactText(name)] = creation[name] }
        } else {
            members["value"] = content["value"] ?? .null
            members["removed"] = .bool(content["value"] == nil)
        }
        return .object(members)
    }
}
