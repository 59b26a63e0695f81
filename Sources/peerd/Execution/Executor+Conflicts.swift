internal import CRDTCore
internal import Engine

/// What lost against something concurrent, and what had no effect.
extension Executor {
    func conflicts(_ output: CommandOutput) async throws {
        let isJSON = output.format.isJSON
        try await self.printState(output) { transaction, spool in
            let properties = try ConflictView.properties(in: &transaction)
            let moves = try ConflictView.movesWithoutEffect(in: &transaction)
            if isJSON {
                let json = JSON.object([
                    "properties": .array(properties.map(\.json)),
                    "moves": .array(moves.map(\.json)),
                ])
                return spool.line(json.canonicalText)
            }
            for conflict in properties { spool.write(conflict.text.utf8) }
            for move in moves { spool.write(move.text.utf8) }
            if properties.isEmpty, moves.isEmpty { spool.line("No conflicts.") }
        }
    }
}

/// Conflicts as they are shown.
enum ConflictView {
    /// One write with its author.
    struct Write {
        var value: Value?
        var reference: WriteReference
        var replica: ReplicaID
        var deviceName: String
        var author: UserID?

        var json: JSON {
            .object([
                "value": self.value?.json ?? .null,
                "removed": .bool(self.value == nil),
                "replica": .string(self.replica.description),
                "sequence": .int(Int64(clamping: self.reference.sequence)),
                "index": .int(Int64(self.reference.index)),
                "stamp": .string(StampText.of(self.reference.stamp)),
                "time_ms": .int(Int64(clamping: self.reference.stamp.milliseconds)),
                "device": .string(self.deviceName),
                "author": self.author.map { .string($0.description) } ?? .null,
            ])
        }

        var text: String {
            let value = self.value.map { $0.json.canonicalText } ?? "(removed)"
            let time = PlainText.time(milliseconds: self.reference.stamp.milliseconds)
            return "\(value)  by \(PlainText.printable(self.deviceName)), \(time)"
        }
    }

    /// A property with concurrent writes: the one in force and the others.
    struct Property {
        var object: ObjectView.Summary
        var name: String
        var winner: Write
        var losers: [Write]

        var json: JSON {
            .object([
                "object": .string(self.object.id.description),
                "name": .string(self.name),
                "winner": self.winner.json,
                "losers": .array(self.losers.map(\.json)),
            ])
        }

        var text: String {
            var text = "\(self.object.line)\n  \(PlainText.printable(self.name))\n    in force  \(self.winner.text)\n"
            for loser in self.losers { text += "    lost      \(loser.text)\n" }
            return text
        }
    }

    /// A move that would have closed a cycle.
    struct Move {
        var object: ObjectView.Summary
        var parent: ObjectID?
        var write: Write

        var json: JSON {
            .object([
                "object": .string(self.object.id.description),
                "parent": self.parent.map { .string($0.description) } ?? .null,
                "replica": .string(self.write.replica.description),
                "sequence": .int(Int64(clamping: self.write.reference.sequence)),
                "index": .int(Int64(self.write.reference.index)),
                "stamp": .string(StampText.of(self.write.reference.stamp)),
                "device": .string(self.write.deviceName),
                "author": self.write.author.map { .string($0.description) } ?? .null,
            ])
        }

        var text: String {
            let time = PlainText.time(milliseconds: self.write.reference.stamp.milliseconds)
            let target = self.parent.map(\.description) ?? "the root"
            return """
                \(self.object.line)
                  the move under \(target) by \(PlainText.printable(self.write.deviceName)), \(time), has no effect: \
                it would close a cycle

                """
        }
    }

    /// All properties with conflicts, by object and name.
    static func properties(in transaction: inout some StoreTransaction) throws -> [Property] {
        var found: [Property] = []
        for (key, register) in try transaction.conflictedRegisters() {
            guard try transaction.object(key.object).isVisible else { continue }
            var losers: [Write] = []
            let conflicts = try transaction.conflicts(at: key)
            for conflict in conflicts.sorted(by: { WriteOrder.precedes($1, $0, transaction) }) {
                losers.append(try self.write(conflict, in: &transaction))
            }
            found.append(
                Property(
                    object: try ObjectView.summary(of: key.object, in: &transaction),
                    name: try transaction.name(key.name),
                    winner: try self.write(register.winner, in: &transaction),
                    losers: losers
                )
            )
        }
        return found.sorted { ($0.object.id, $0.name) < ($1.object.id, $1.name) }
    }

    static func movesWithoutEffect(in transaction: inout some StoreTransaction) throws -> [Move] {
        var found: [Move] = []
        for move in try transaction.movesWithoutEffect() {
            guard try transaction.object(move.object).isVisible else { continue }
            found.append(
                Move(
                    object: try ObjectView.summary(of: move.object, in: &transaction),
                    parent: try move.parent.map { try transaction.object($0).id },
                    write: try self.write(move.write, in: &transaction)
                )
            )
        }
        return found.sorted { $0.object.id < $1.object.id }
    }

    private static func write(
        _ reference: WriteReference,
        in transaction: inout some StoreTransaction
    ) throws -> Write {
        let record = transaction.replica(reference.replica)
        var value: Value?
        if case .set(_, _, let written) = try transaction.edit(reference) { value = written }
        return Write(
            value: value,
            reference: reference,
            replica: record.id,
            deviceName: record.introduction?.deviceName ?? "?",
            author: record.introduction?.user
        )
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
