internal import CRDTCore
internal import PeerdKit
internal import Persistence

/// What lost against something concurrent, and what had no effect.
extension Executor {
    func conflicts(_ output: CommandOutput) async throws {
        let conflicts = try await self.workspace.conflicts()
        let withoutEffect = try await self.workspace.movesWithoutEffect()
        if output.format.isJSON {
            let json = JSON.object([
                "properties": .array(conflicts.filter { $0.property != nil }.map(\.json)),
                "moves": .array(conflicts.filter { $0.property == nil }.map(\.json)),
                "moves_without_effect": .array(withoutEffect.map(\.json)),
            ])
            return try await output.json(json)
        }
        if conflicts.isEmpty, withoutEffect.isEmpty { return try await output.line("No conflicts.") }
        let shown = conflicts.filter { $0.property != nil } + conflicts.filter { $0.property == nil }
        for conflict in shown {
            try await output.line(try await self.line(of: conflict.object))
            for line in conflict.lines { try await output.line(line) }
        }
        for move in withoutEffect {
            try await output.line(try await self.line(of: move.object))
            try await output.line("  the move \(move.move.text), has no effect: it would close a cycle")
        }
    }

    /// What `ls` says of an object.
    private func line(of object: ObjectID) async throws -> String {
        try await self.read { transaction in
            // It may be gone by now.
            guard let index = try transaction.existingObjectIndex(of: object) else { return object.description }
            return try ObjectView.summary(of: index, in: &transaction).line
        }
    }
}

extension Conflict.Version {
    var json: JSON {
        var members: [ExactText: JSON] = ["device": .string(self.author.name)]
        if let source = self.source {
            members["replica"] = .string(source.replica.description)
            members["sequence"] = .int(Int64(clamping: source.sequence))
            members["index"] = .int(Int64(source.index))
            members["stamp"] = .string(StampText.of(source.stamp))
            members["time_ms"] = .int(Int64(clamping: source.stamp.milliseconds))
            members["author"] = source.user.map { .string($0.description) } ?? .null
        }
        switch self.content {
        case .place(let parent): members["parent"] = parent.map { .string($0.description) } ?? .null
        case .value(let value): (members["value"], members["removed"]) = (value.json, .bool(false))
        case .removal: (members["value"], members["removed"]) = (.null, .bool(true))
        }
        return .object(members)
    }

    fileprivate var text: String {
        let what =
            switch self.content {
            case .place(let parent): "under \(parent?.description ?? "the root")"
            case .value(let value): value.json.canonicalText
            case .removal: "(removed)"
            }
        let time = PlainText.time(milliseconds: self.source?.stamp.milliseconds ?? 0)
        return "\(what)  by \(self.author.name), \(time)"
    }
}

extension Conflict {
    var json: JSON {
        var members: [ExactText: JSON] = [
            "object": .string(self.object.description),
            "winner": self.winner?.json ?? .null,
            "losers": .array(self.losers.map(\.json)),
        ]
        if let property = self.property { members["name"] = .string(property) }
        return .object(members)
    }

    /// What follows the line of the object.
    fileprivate var lines: [String] {
        var lines = ["  \(self.property ?? "moved")"]
        if let winner = self.winner { lines.append("    in force  \(winner.text)") }
        for loser in self.losers { lines.append("    lost      \(loser.text)") }
        return lines
    }
}

extension MoveWithoutEffect {
    var json: JSON {
        guard case .object(var members) = self.move.json else { return .null }
        members["object"] = .string(self.object.description)
        return .object(members)
    }
}

/// Stamps as text that sorts as they do: sixteen hexadecimal digits.
enum StampText {
    static func of(_ stamp: Stamp) -> String {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(stamp.rawValue)
        return Hexadecimal.text(bytes)
    }
}
