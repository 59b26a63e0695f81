internal import CRDTCore
internal import Foundation

/// Names one operation wherever it is stored.
struct WriteID: Hashable, Comparable {
    var replica: ReplicaID
    var sequence: UInt64
    /// The hash of the change: two changes of a forked chain have one sequence.
    var hash: Hash256
    var index: UInt32

    init(_ write: WriteReference, in transaction: inout some StoreTransaction) throws(StoreError) {
        self.replica = transaction.replicaID(write.line)
        self.sequence = write.sequence
        self.hash = try transaction.hash(at: write.point) ?? .zero
        self.index = write.index
    }

    static func < (left: WriteID, right: WriteID) -> Bool {
        (left.replica, left.sequence, left.hash, left.index)
            < (right.replica, right.sequence, right.hash, right.index)
    }
}

/// A write as people see it: what it says, on which device and when.
struct WriteView: Hashable {
    var text: String
    var device: String
    var milliseconds: UInt64

    private static let textLengthMax = 60

    init(_ write: WriteReference, in transaction: inout some StoreTransaction) throws(StoreError) {
        let edit = try transaction.edit(write)
        switch edit {
        case .set(_, _, let value): self.text = WriteView.short(value.json.canonicalText)
        case .unset: self.text = "(removed)"
        case .move(_, let place):
            self.text = "to the root"
            if let parent = place.parent { self.text = "under \(try ObjectView.of(parent, in: &transaction).text)" }
        case .delete: self.text = "(deleted)"
        default: self.text = "(made)"
        }
        let record = transaction.line(write.line)
        self.device = PlainLine.printable(record.introduction?.deviceName ?? "?")
        self.milliseconds = write.stamp.milliseconds
    }

    private static func short(_ text: String) -> String {
        let text = PlainLine.printable(text)
        return text.count > self.textLengthMax ? text.prefix(self.textLengthMax - 1) + "…" : text
    }

    /// The write in one line.
    var line: String { "\(self.text), by \(self.device), \(PlainLine.time(self.milliseconds))" }

    var json: JSON {
        .object([
            "value": .string(self.text),
            "device": .string(self.device),
            "time_ms": .int(Int64(clamping: self.milliseconds)),
        ])
    }
}

/// An object as people see it: by its name or title if it has one.
struct ObjectView: Hashable {
    var id: ObjectID
    var type: String
    var name: String?

    private static let nameProperties = ["name", "title"]
    private static let nameLengthMax = 40

    static func of(_ id: ObjectID, in transaction: inout some StoreTransaction) throws(StoreError) -> ObjectView {
        guard let index = try transaction.existingObjectIndex(of: id) else {
            return ObjectView(id: id, type: "", name: nil)
        }
        return try self.of(index, in: &transaction)
    }

    static func of(_ index: ObjectIndex, in transaction: inout some StoreTransaction) throws(StoreError) -> ObjectView {
        let record = try transaction.object(index)
        var view = ObjectView(id: record.id, type: "", name: nil)
        if let creation = record.creation { view.type = PlainLine.printable(try transaction.name(creation.type)) }
        let properties = try StateExport.properties(of: index, in: &transaction)
        for name in self.nameProperties {
            guard view.name == nil, case .string(let text) = properties[ExactText(name)] else { continue }
            view.name = PlainLine.printable(String(text.prefix(self.nameLengthMax)))
        }
        return view
    }

    /// The object in a few words.
    var text: String {
        let id = self.id.description.prefix(8)
        return self.name.map { "“\($0)” (\(self.type) \(id))" } ?? "\(self.type.isEmpty ? "object" : self.type) \(id)"
    }

    var json: JSON {
        .object([
            "id": .string(self.id.description),
            "type": .string(self.type),
            "name": self.name.map { .string($0) } ?? .null,
        ])
    }
}

/// Text for terminals.
enum PlainLine {
    /// Names and values come from elsewhere: control characters are shown, not sent to the terminal.
    static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    let isControl =
                        scalar.value < 0x20 || (0x7f..<0xa0).contains(scalar.value)
                        || (0x200e...0x200f).contains(scalar.value) || (0x2028...0x202e).contains(scalar.value)
                        || (0x2066...0x2069).contains(scalar.value)
                    return isControl ? "\u{fffd}" : scalar
                }
            )
        )
    }

    static func time(_ milliseconds: UInt64) -> String {
        let date = Date(timeIntervalSince1970: Double(min(milliseconds, 253_402_300_799_000)) / 1_000)
        return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: false))
    }

    static func bytes(_ count: Int) -> String {
        count < 10_000 ? "\(count) bytes" : count < 10_000_000 ? "\(count / 1_000) kB" : "\(count / 1_000_000) MB"
    }

    static func duration(_ time: VirtualTime) -> String {
        let milliseconds = time.milliseconds
        if milliseconds < 10_000 { return "\(milliseconds) ms" }
        return milliseconds < 600_000 ? "\(milliseconds / 1_000) s" : "\(milliseconds / 60_000) min"
    }
}
