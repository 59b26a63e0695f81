internal import CRDTCore
internal import LocalAPI

extension ObjectSummary {
    /// One line: name, type and kind, id.
    var line: String {
        let what = self.kind.isEmpty ? self.type : "\(self.type)/\(self.kind)"
        let name = self.name.map { PlainText.shortened($0) + "  " } ?? ""
        let more = self.childCount > 0 ? "  (\(self.childCount))" : ""
        return "\(name)\(what)  \(self.id)\(more)"
    }
}

/// Draws a tree whose objects come one after the other, each before what is below it.
///
/// Memory grows with the depth, and not with the tree.
struct TreeDrawing {
    private let output: CommandOutput
    /// Whether the first object stands above the tree, without a branch.
    private let beginsWithTop: Bool
    /// What stands before the branches of each level.
    private var indents = [""]

    /// So many levels are drawn; of what is deeper only the depth is told.
    private static let drawnLevelCountMax = 100

    init(_ output: CommandOutput, beginsWithTop: Bool) {
        self.output = output
        self.beginsWithTop = beginsWithTop
    }

    mutating func add(_ summary: ObjectSummary, depth: Int, isLast: Bool) throws {
        let level = self.beginsWithTop ? depth - 1 : depth
        guard level >= 0 else { return try self.output.line(summary.line) }
        let isDrawn = level < Self.drawnLevelCountMax
        let indent = isDrawn && level < self.indents.count ? self.indents[level] : ""
        let branch = isDrawn ? "\(indent)\(isLast ? "└── " : "├── ")" : "(level \(level + 1)) "
        try self.output.line("\(branch)\(summary.line)")
        guard isDrawn else { return }
        self.indents.removeSubrange(min(level + 1, self.indents.count)...)
        self.indents.append(indent + (isLast ? "    " : "│   "))
    }
}

/// Writes the same tree as JSON: nested objects, each with its `children`.
struct TreeText {
    private let output: CommandOutput
    /// Objects whose children are still to come.
    private var openCount = 0
    private var isEmpty = true
    private var isFirst = true

    init(_ output: CommandOutput) { self.output = output }

    mutating func add(_ summary: ObjectSummary, depth: Int) throws {
        try self.close(to: depth)
        let text = JSON(summary).canonicalText
        let separator = self.isEmpty ? "[" : self.isFirst ? "" : ","
        try self.output.write("\(separator)\n\(text.dropLast()),\"children\":[".utf8)
        self.openCount += 1
        (self.isEmpty, self.isFirst) = (false, true)
    }

    mutating func end() throws {
        try self.close(to: 0)
        try self.output.write((self.isEmpty ? "[]\n" : "]\n").utf8)
    }

    private mutating func close(to depth: Int) throws {
        while self.openCount > depth {
            try self.output.write("]}".utf8)
            self.openCount -= 1
            self.isFirst = false
        }
    }
}
