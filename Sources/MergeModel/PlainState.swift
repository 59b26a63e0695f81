package import CRDTCore

/// The state of a workspace in plain words, in a canonical order: two states are the same if these are equal.
package struct PlainState: Hashable, Sendable {
    package var objects: [PlainObject] = []
    /// The visible objects at the root, in order.
    package var roots: [ObjectID] = []
    /// The last move of each object whose last move has no effect.
    package var movesWithoutEffect: [PlainWrite] = []
    /// The last applied change of every fork of every chain.
    package var heads: [FrontierEntry] = []

    package init() {}
}

/// One object, visible or not.
package struct PlainObject: Hashable, Sendable {
    package var id: ObjectID
    package var isVisible = false
    package var creation: PlainCreation?
    package var updated = Stamp.zero
    package var parent: ObjectID?
    package var position = Position.initial
    /// The moves that no other move of the object has seen, in order.
    package var openMoves: [PlainWrite] = []
    package var properties: [PlainProperty] = []
    /// The visible objects below it, in order.
    package var children: [ObjectID] = []

    package init(id: ObjectID) { self.id = id }

    /// Whether nothing is known of the object.
    package var isBlank: Bool { self == PlainObject(id: self.id) }
}

/// What made an object what it is.
package struct PlainCreation: Hashable, Sendable {
    package var type: ModelText
    package var kind: ModelText
    package var creator: UserID?
    package var stamp: Stamp

    package init(type: String, kind: String, creator: UserID?, stamp: Stamp) {
        self.type = ModelText(type)
        self.kind = ModelText(kind)
        self.creator = creator
        self.stamp = stamp
    }
}

/// One register of an object: the write in force (a removal too) and its conflicts.
package struct PlainProperty: Hashable, Sendable {
    package var name: ModelText
    package var winner: PlainWrite
    package var conflicts: [PlainWrite]

    package init(name: ModelText, winner: PlainWrite, conflicts: [PlainWrite]) {
        self.name = name
        self.winner = winner
        self.conflicts = conflicts
    }
}

/// Text as bytes: equal only if every byte is. (Swift's `String` takes "é" and "e\u{301}" for equal.)
package struct ModelText: Hashable, Sendable, Comparable, CustomStringConvertible {
    private var bytes: [UInt8]

    package init(_ text: String) { self.bytes = Array(text.utf8) }

    package var description: String {
        self.bytes.allSatisfy { $0 < 0x80 } ? String(decoding: self.bytes, as: UTF8.self) : Hexadecimal.text(self.bytes)
    }

    package static func < (left: ModelText, right: ModelText) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}

/// One operation by its place in the log, with what it says.
///
/// They compare in some order, which between two forks of a chain is not that of merging.
package struct PlainWrite: Hashable, Sendable, Comparable {
    package var stamp: Stamp
    package var replica: ReplicaID
    package var sequence: UInt64
    /// The hash of the change.
    package var hash: Hash256
    package var index: Int
    package var edit: Edit
    /// The edit byte by byte: two edits may be equal that differ in how a letter is put together.
    private var bytes: [UInt8]

    package init(stamp: Stamp, replica: ReplicaID, sequence: UInt64, hash: Hash256, index: Int, edit: Edit) {
        self.stamp = stamp
        self.replica = replica
        self.sequence = sequence
        self.hash = hash
        self.index = index
        self.edit = edit
        switch edit {
        case .set(_, let name, _), .unset(_, let name): self.bytes = Array(name.utf8) + [0xff] + edit.payload
        default: self.bytes = edit.payload
        }
    }

    package static func < (left: PlainWrite, right: PlainWrite) -> Bool {
        (left.stamp, left.replica, left.sequence, left.hash, left.index)
            < (right.stamp, right.replica, right.sequence, right.hash, right.index)
    }
}

extension PlainState: CustomStringConvertible {
    /// One fact a line.
    package var description: String { self.lines.joined(separator: "\n") }

    private var lines: [String] {
        var lines: [String] = []
        for object in self.objects {
            let name = ModelWords.short(object.id)
            lines.append(
                "\(name) visible=\(object.isVisible) updated=\(ModelWords.short(object.updated)) "
                    + "parent=\(ModelWords.short(object.parent)) position=\(object.position.bytes)"
            )
            if let creation = object.creation {
                let creator = creation.creator.map { "\($0)" } ?? "none"
                lines.append(
                    "\(name) created \(creation.type)/\(creation.kind) by \(creator) "
                        + "at \(ModelWords.short(creation.stamp))"
                )
            }
            lines += object.openMoves.enumerated().map { "\(name) open move \($0) \(ModelWords.short($1))" }
            for property in object.properties {
                lines.append("\(name).\(property.name) = \(ModelWords.short(property.winner))")
                lines += property.conflicts.map { "\(name).\(property.name) conflict \(ModelWords.short($0))" }
            }
            lines.append("\(name) children \(object.children.map { ModelWords.short($0) })")
        }
        lines.append("roots \(self.roots.map { ModelWords.short($0) })")
        lines += self.movesWithoutEffect.map { "no effect: \(ModelWords.short($0))" }
        lines += self.heads.map {
            "applied \(ModelWords.short($0.replica)):\($0.sequence) \(ModelWords.short($0.hash))"
        }
        return lines
    }

    /// The lines in which two states differ, for the message of a failed test.
    package func differences(from expected: PlainState) -> String {
        let mine = self.lines
        let theirs = expected.lines
        let surplus = mine.filter { !theirs.contains($0) }.map { "  got      \($0)" }
        let missing = theirs.filter { !mine.contains($0) }.map { "  expected \($0)" }
        return (surplus + missing).joined(separator: "\n")
    }
}

/// Short texts for messages.
package enum ModelWords {
    /// The first line in which two exports differ.
    package static func firstDifference(_ left: [UInt8], _ right: [UInt8], separator: String = " | ") -> String {
        let lines = zip(left.split(separator: 10), right.split(separator: 10)).first { !$0.elementsEqual($1) }
        guard let lines else { return "one is longer" }
        return [lines.0, lines.1].map { String(decoding: $0, as: UTF8.self) }.joined(separator: separator)
    }

    package static func short(_ id: ObjectID?) -> String { id.map { String($0.description.suffix(4)) } ?? "root" }

    package static func short(_ id: ReplicaID) -> String { String(id.description.prefix(6)) }

    package static func short(_ name: ChangeName) -> String {
        name.rawValue < 1 << 16
            ? "\(name.rawValue)" : String(Hexadecimal.text(Bytes16(high: name.rawValue, low: 0).array).prefix(4))
    }

    package static func short(_ hash: Hash256) -> String { String(hash.description.prefix(4)) }

    package static func short(_ stamp: Stamp) -> String {
        "\(stamp.milliseconds).\(stamp.rawValue & 0xffff)"
    }

    package static func short(_ write: PlainWrite) -> String {
        "\(self.short(write.replica)):\(write.sequence)/\(self.short(write.hash))[\(write.index)]"
            + "@\(self.short(write.stamp)) \(self.short(write.edit))"
    }

    package static func short(_ edit: Edit) -> String {
        switch edit {
        case .create(let object, let type, let kind): "create \(self.short(object)) \(type)/\(kind)"
        case .set(let object, let name, let value):
            "set \(self.short(object)).\(ModelText(name)) \(Hexadecimal.text(value.encoded))"
        case .unset(let object, let name): "unset \(self.short(object)).\(ModelText(name))"
        case .move(let object, let place):
            "move \(self.short(object)) under \(self.short(place.parent)) at \(place.position.bytes)"
        case .delete(let object): "delete \(self.short(object))"
        case .introduce: "introduce"
        case .restamp(let restamp):
            "restamp \(self.short(restamp.replica)):\(restamp.firstSequence) to \(restamp.lastSequence)/"
                + self.short(restamp.lastHash)
        case .undo(let undo):
            "\(undo.isRedo ? "redo" : "undo") \(self.short(undo.target.replica)):\(undo.target.sequence)"
        case .branch: "branch"
        case .rights: "rights"
        case .action(let statement):
            "action \(statement.start?.rawValue ?? 0)\(["", "+", "^"][Int(statement.link.rawValue)]) of "
                + "\(ModelText(statement.label))"
        case .erase(let erasure): "erase \(self.short(erasure.object)).\(ModelText(erasure.name))"
        case .unknown(let kind, _): "unknown \(kind)"
        case .redacted(let object, let name, _): "redacted \(self.short(object)).\(ModelText(name))"
        }
    }
}
