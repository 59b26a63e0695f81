internal import CRDTCore
internal import LocalAPI

extension ObjectSummary {
    private static let nameLengthMax = 60

    /// One line: name, type and kind, id.
    var line: String {
        let what = self.kind.isEmpty ? self.type : "\(self.type)/\(self.kind)"
        let name = self.name.map { Self.shortened($0) + "  " } ?? ""
        let more = self.childCount > 0 ? "  (\(self.childCount))" : ""
        return "\(name)\(what)  \(self.id)\(more)"
    }

    private static func shortened(_ name: String) -> String {
        name.count > self.nameLengthMax ? name.prefix(self.nameLengthMax - 1) + "…" : name
    }
}

/// Draws a tree whose objects come one after the other, each before what is below it.
///
/// Memory grows with the depth, and not with the tree.
struct TreeDrawing {
    let spool: Spool
    /// Whether the first object stands above the tree, without a branch.
    let beginsWithTop: Bool
    /// What stands before the branches of each level.
    private var indents = [""]

    /// So many levels are drawn; of what is deeper only the depth is told.
    private static let drawnLevelCountMax = 100

    init(spool: Spool, beginsWithTop: Bool) {
        self.spool = spool
        self.beginsWithTop = beginsWithTop
    }

    mutating func add(_ summary: ObjectSummary, depth: Int, isLast: Bool) {
        let level = self.beginsWithTop ? depth - 1 : depth
        guard level >= 0 else { return self.spool.line(summary.line) }
        let isDrawn = level < Self.drawnLevelCountMax
        let indent = isDrawn && level < self.indents.count ? self.indents[level] : ""
        let branch = isDrawn ? "\(indent)\(isLast ? "└── " : "├── ")" : "(level \(level + 1)) "
        self.spool.line("\(branch)\(summary.line)")
        guard isDrawn else { return }
        self.indents.removeSubrange(min(level + 1, self.indents.count)...)
        self.indents.append(indent + (isLast ? "    " : "│   "))
    }
}

/// Writes the same tree as JSON: nested objects, each with its `children`.
struct TreeText {
    let spool: Spool
    /// Objects whose children are still to come.
    private var openCount = 0
    private var isFirst = true

    init(spool: Spool) {
        self.spool = spool
        spool.write("[".utf8)
    }

    mutating func add(_ summary: ObjectSummary, depth: Int) {
        self.close(to: depth)
        let text = JSON(summary).canonicalText
        self.spool.write("\(self.isFirst ? "" : ",")\n\(text.dropLast()),\"children\":[".utf8)
        self.openCount += 1
        self.isFirst = true
    }

    mutating func end() {
        self.close(to: 0)
        self.spool.write("]\n".utf8)
    }

    private mutating func close(to depth: Int) {
        while self.openCount > depth {
            self.spool.write("]}".utf8)
            self.openCount -= 1
            self.isFirst = false
        }
    }
}
