internal import CRDTCore
internal import LocalAPI

/// What lost against something concurrent, and what had no effect.
extension Workplace {
    func conflicts() async throws {
        try await self.requireMainTimeline("conflicts")
        let isJSON = self.output.isJSON
        let request = APIRequest(.get, "api", "conflicts", query: [("summaries", isJSON ? nil : "true")])
        var conflicts: [ConflictAnswer.Subject: [ConflictLine]] = [:]
        var withoutEffect: [ConflictLine] = []
        try await self.caller.elements(request) { (line: ConflictLine) in
            if let conflict = line.conflict { conflicts[conflict.about.known ?? .property, default: []].append(line) }
            if line.moveWithoutEffect != nil { withoutEffect.append(line) }
        }
        func lines(_ subject: ConflictAnswer.Subject) -> [ConflictLine] { conflicts[subject] ?? [] }
        if isJSON {
            func json(_ subject: ConflictAnswer.Subject) -> JSON {
                .array(lines(subject).compactMap(\.conflict).map { ConflictJSON.of($0) })
            }
            return try self.output.json(
                JSON.object([
                    "properties": json(.property), "creations": json(.creation), "moves": json(.place),
                    "moves_without_effect": .array(
                        withoutEffect.compactMap(\.moveWithoutEffect).map { ConflictJSON.of($0) }
                    ),
                ])
            )
        }
        let all = lines(.property) + lines(.creation) + lines(.place) + withoutEffect
        if all.isEmpty { return try self.output.line("No conflicts.") }
        for text in all.flatMap(\.lines) { try self.output.line(text) }
    }
}

extension ConflictLine {
    fileprivate var lines: [String] {
        let id = self.conflict?.object ?? self.moveWithoutEffect?.object ?? ""
        // It is gone if there is no summary.
        var lines = [(try? self.object?.decoded(as: ObjectSummary.self))?.line ?? id]
        if let move = self.moveWithoutEffect?.move {
            lines.append("  the move \(move.text), has no effect: it would close a cycle")
        }
        guard let conflict else { return lines }
        let isCreation = conflict.about.known == .creation
        lines.append("  \(conflict.property ?? (isCreation ? "created" : "moved"))")
        if let winner = conflict.winner {
            lines.append("    in force  \(winner.text)")
        } else if conflict.property != nil {
            lines.append("    in force  (nothing)")
        }
        for loser in conflict.losers { lines.append("    lost      \(loser.text)") }
        if isCreation {
            lines.append("    Type and kind cannot be changed. Keep the object, or remove it and create another one.")
        }
        return lines
    }
}

extension VersionAnswer {
    /// The version for people.
    fileprivate var text: String {
        "\(self.content.text)  by \(self.author.name), \(PlainText.time(self.timeMs))"
    }
}

extension ContentAnswer {
    fileprivate var text: String {
        if let value { return value.canonicalText }
        if let parent { return PlainText.parent(parent) }
        guard let create else { return "(removed)" }
        return "type \(create.type), kind \(create.kind.isEmpty ? "none" : create.kind)"
    }
}

/// Conflicts as `--json` prints them.
enum ConflictJSON {
    static func of(_ conflict: ConflictAnswer) -> JSON {
        var members: [ExactText: JSON] = [
            "object": .string(conflict.object),
            "winner": conflict.winner.map { .object(self.members($0)) } ?? .null,
            "losers": .array(conflict.losers.map { .object(self.members($0)) }),
        ]
        if let name = conflict.property { members["name"] = .string(name) }
        return .object(members)
    }

    static func of(_ move: MoveWithoutEffectAnswer) -> JSON {
        .object(self.members(move.move).merging(["object": .string(move.object)]) { first, _ in first })
    }

    private static func members(_ version: VersionAnswer) -> [ExactText: JSON] {
        var members: [ExactText: JSON] = ["device": .string(version.author.name)]
        if let source = version.source, case .object(let place) = JSON(source) {
            members.merge(place) { first, _ in first }
            (members["author"], members["user"]) = (members["user"], nil)
            members["time_ms"] = .int(version.timeMs)
        }
        let content = version.content
        if let parent = content.parent {
            members["parent"] = parent
        } else if let creation = content.create {
            (members["type"], members["kind"]) = (.string(creation.type), .string(creation.kind))
        } else {
            (members["value"], members["removed"]) = (content.value ?? .null, .bool(content.value == nil))
        }
        return members
    }
}
