internal import CRDTCore
internal import Engine

/// What lost against something concurrent, and what had no effect.
extension Executor {
    func conflicts(_ output: CommandOutput) async throws {
        let isJSON = output.format.isJSON
        try await self.printState(output) { transaction, spool in
            let properties = try ConflictView.properties(in: &transaction)
            let moves = try ConflictView.moves(in: &transaction)
            let withoutEffect = try ConflictView.movesWithoutEffect(in: &transaction)
            if isJSON {
                let json = JSON.object([
                    "properties": .array(properties.map(\.json)),
                    "moves": .array(moves.map(\.json)),
                    "moves_without_effect": .array(withoutEffect.map(\.json)),
                ])
                return spool.line(json.canonicalText)
            }
            for conflict in properties { spool.write(conflict.text.utf8) }
            for conflict in moves { spool.write(conflict.text.utf8) }
            for move in withoutEffect { spool.write(move.text.utf8) }
            if properties.isEmpty, moves.isEmpty, withoutEffect.isEmpty { spool.line("No conflicts.") }
        }
    }
}

/// Conflicts as they are shown.
enum ConflictView {
    /// One write with its author.
    struct Write {
        var edit: Edit?
        var reference: WriteReference
        var replica: ReplicaID
        var deviceName: String
        var author: UserID?

        var json: JSON {
            var members: [ExactText: JSON] = [
                "replica": .string(self.replica.description),
                "sequence": .int(Int64(clamping: self.reference.sequence)),
                "index": .int(Int64(self.reference.index)),
                "stamp": .string(StampText.of(self.reference.stamp)),
                "time_ms": .int(Int64(clamping: self.reference.stamp.milliseconds)),
                "device": .string(self.deviceName),
                "author": self.author.map { .string($0.description) } ?? .null,
            ]
            switch self.edit {
            case .move(_, let place): members["parent"] = place.parent.map { .string($0.description) } ?? .null
            case .set(_, _, let value): (members["value"], members["removed"]) = (value.json, .bool(false))
            default: (members["value"], members["removed"]) = (.null, .bool(true))
            }
            return .object(members)
        }

        var text: String {
            let what =
                switch self.edit {
                case .move(_, let place): "under \(place.parent?.description ?? "the root")"
                case .set(_, _, let value): value.json.canonicalText
                default: "(removed)"
                }
            let time = PlainText.time(milliseconds: self.reference.stamp.milliseconds)
            return "\(what)  by \(PlainText.printable(self.deviceName)), \(time)"
        }
    }

    /// Writes to a property, or moves of an object, that had not seen each other: the one in force and the others.
    struct Conflict {
        var object: ObjectView.Summary
        /// Nil for moves.
        var name: String?
        /// Nil if all moves of the object would close cycles.
        var winner: Write?
        var losers: [Write]

        var json: JSON {
            var members: [ExactText: JSON] = [
                "object": .string(self.object.id.description),
                "winner": self.winner?.json ?? .null,
                "losers": .array(self.losers.map(\.json)),
            ]
            if let name = self.name { members["name"] = .string(name) }
            return .object(members)
        }

        var text: String {
            var text = "\(self.object.line)\n  \(self.name.map { PlainText.printable($0) } ?? "moved")\n"
            if let winner = self.winner { text += "    in force  \(winner.text)\n" }
            for loser in self.losers { text += "    lost      \(loser.text)\n" }
            return text
        }
    }

    /// A move that would have closed a cycle.
    struct Move {
        var object: ObjectView.Summary
        var write: Write

        var json: JSON {
            guard case .object(var members) = self.write.json else { return .null }
            members["object"] = .string(self.object.id.description)
            return .object(members)
        }

        var text: String {
            "\(self.object.line)\n  the move \(self.write.text), has no effect: it would close a cycle\n"
        }
    }

    /// All properties with conflicts, by object and name.
    static func properties(in transaction: inout some StoreTransaction) throws -> [Conflict] {
        var found: [Conflict] = []
        for (key, register) in try transaction.conflictedRegisters() {
            guard try transaction.object(key.object).isVisible else { continue }
            let losers = try transaction.conflicts(at: key).sorted { WriteOrder.precedes($1, $0, transaction) }
            found.append(
                Conflict(
                    object: try ObjectView.summary(of: key.object, in: &transaction),
                    name: try transaction.name(key.name),
                    winner: try self.write(register.winner, in: &transaction),
                    losers: try losers.map { try self.write($0, in: &transaction) }
                )
            )
        }
        return found.sorted { ($0.object.id, $0.name ?? "") < ($1.object.id, $1.name ?? "") }
    }

    /// All objects with moves that had not seen each other.
    static func moves(in transaction: inout some StoreTransaction) throws -> [Conflict] {
        var found: [Conflict] = []
        for object in try transaction.objectsWithOpenMoves() {
            guard try transaction.object(object).isVisible else { continue }
            let winner = try transaction.moveInForce(of: object)?.write
            let losers = try transaction.openMoves(of: object).reversed().filter { $0 != winner }
            found.append(
                Conflict(
                    object: try ObjectView.summary(of: object, in: &transaction),
                    winner: try winner.map { try self.write($0, in: &transaction) },
                    losers: try losers.map { try self.write($0, in: &transaction) }
                )
            )
        }
        return found.sorted { $0.object.id < $1.object.id }
    }

    static func movesWithoutEffect(in transaction: inout some StoreTransaction) throws -> [Move] {
        var found: [Move] = []
        for move in try transaction.movesWithoutEffect() {
            guard try transaction.object(move.object).isVisible else { continue }
            found.append(
                Move(
                    object: try ObjectView.summary(of: move.object, in: &transaction),
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
        let record = transaction.line(reference.line)
        return Write(
            edit: try transaction.edit(reference),
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
