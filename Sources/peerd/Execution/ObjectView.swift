internal import CRDTCore
internal import PeerdKit

/// How objects are shown.
enum ObjectView {
    /// Properties that name an object to people, the first that is there counting.
    static let nameProperties = ["name", "title"]
    private static let nameLengthMax = 60

    /// What `ls` and `tree` say of an object.
    struct Summary: Hashable {
        var id: ObjectID
        var type: String
        var kind: String
        var name: String?
        var childCount: Int

        var json: JSON {
            .object([
                "id": .string(self.id.description),
                "type": .string(self.type),
                "kind": .string(self.kind),
                "name": self.name.map { .string($0) } ?? .null,
                "child_count": .int(Int64(self.childCount)),
            ])
        }

        /// One line: name, type and kind, id.
        var line: String {
            let what = self.kind.isEmpty ? self.type : "\(self.type)/\(self.kind)"
            let name = self.name.map { ObjectView.shortened($0) + "  " } ?? ""
            let more = self.childCount > 0 ? "  (\(self.childCount))" : ""
            return "\(name)\(what)  \(self.id)\(more)"
        }
    }

    static func summary(of object: ObjectIndex, in transaction: inout some StoreTransaction) throws -> Summary {
        let record = try transaction.object(object)
        var summary = Summary(id: record.id, type: "", kind: "", childCount: Int(record.visibleChildCount))
        if let creation = record.creation {
            summary.type = try transaction.name(creation.type)
            summary.kind = try transaction.name(creation.kind)
        }
        for property in self.nameProperties {
            guard let value = try transaction.property(property, of: object), value != .null else { continue }
            summary.name = if case .string(let text) = value { text } else { value.json.canonicalText }
            break
        }
        return summary
    }

    /// An object with all its properties.
    static func describe(
        _ object: ObjectIndex,
        isJSON: Bool,
        in transaction: inout some StoreTransaction,
        to spool: Spool
    ) throws {
        if isJSON {
            return spool.json(try StateExport.json(of: object, in: &transaction))
        }
        let record = try transaction.object(object)
        let summary = try self.summary(of: object, in: &transaction)
        var rows = [["id", record.id.description], ["type", summary.type]]
        if !summary.kind.isEmpty { rows.append(["kind", summary.kind]) }
        if let parent = record.parent { rows.append(["parent", try transaction.object(parent).id.description]) }
        if let creation = record.creation {
            let author = transaction.line(creation.write.line).introduction?.deviceName
            let time = PlainText.time(milliseconds: creation.write.stamp.milliseconds)
            rows.append(["created", author.map { "\(time) on \($0)" } ?? time])
        }
        rows.append(["updated", PlainText.time(milliseconds: record.updated.milliseconds)])
        spool.table(rows)
        let properties = try StateExport.properties(of: object, in: &transaction)
        if properties.isEmpty { return }
        spool.line("")
        let sorted = properties.sorted { $0.key < $1.key }
        spool.table(sorted.map { [$0.key.text, PlainText.of($0.value)] })
    }

    /// Writes a JSON array, one element a line, in the form of an export, until there is none.
    static func writeArray(to spool: Spool, _ next: () throws -> JSON?) throws {
        spool.write("[".utf8)
        var isFirst = true
        while let element = try next() {
            var bytes = Array((isFirst ? "\n" : ",\n").utf8)
            element.append(to: &bytes)
            spool.write(bytes)
            isFirst = false
        }
        spool.write((isFirst ? "]\n" : "\n]\n").utf8)
    }

    private static func shortened(_ name: String) -> String {
        name.count > self.nameLengthMax ? name.prefix(self.nameLengthMax - 1) + "…" : name
    }
}

/// Draws what is below an object.
///
/// Memory grows with the depth, and not with the tree.
struct TreeDrawing {
    let spool: Spool

    /// A place on the way through the tree.
    private struct Level {
        var children: ChildPages
        var indent: String
        var isFirst = true
    }

    /// So many levels are drawn; of what is deeper only the depth is told.
    private static let drawnLevelCountMax = 100

    /// Lines with branches; the object itself comes first.
    func write(under root: ObjectIndex?, in transaction: inout some StoreTransaction) throws {
        if let root { self.spool.line(try ObjectView.summary(of: root, in: &transaction).line) }
        var levels = [Level(children: ChildPages(of: root), indent: "")]
        while let level = levels.last {
            guard let (child, isLast) = try levels[levels.count - 1].children.next(in: &transaction) else {
                levels.removeLast()
                continue
            }
            let summary = try ObjectView.summary(of: child, in: &transaction)
            let isDrawn = levels.count <= Self.drawnLevelCountMax
            let branch = isDrawn ? "\(level.indent)\(isLast ? "└── " : "├── ")" : "(level \(levels.count)) "
            self.spool.line("\(branch)\(summary.line)")
            guard summary.childCount > 0 else { continue }
            let indent = isDrawn ? level.indent + (isLast ? "    " : "│   ") : ""
            levels.append(Level(children: ChildPages(of: child), indent: indent))
        }
    }

    /// Nested objects, each with its `children`.
    func writeJSON(under root: ObjectIndex?, in transaction: inout some StoreTransaction) throws {
        self.spool.write("[".utf8)
        var levels = [Level(children: root.map { ChildPages(only: $0) } ?? ChildPages(of: nil), indent: "")]
        while let level = levels.last {
            guard let (child, _) = try levels[levels.count - 1].children.next(in: &transaction) else {
                levels.removeLast()
                self.spool.write((levels.isEmpty ? "]\n" : "]}").utf8)
                continue
            }
            levels[levels.count - 1].isFirst = false
            let summary = try ObjectView.summary(of: child, in: &transaction).json.canonicalText
            self.spool.write("\(level.isFirst ? "" : ",")\n\(summary.dropLast()),\"children\":[".utf8)
            levels.append(Level(children: ChildPages(of: child), indent: ""))
        }
    }
}
