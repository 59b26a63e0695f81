internal import LocalAPI

extension PlainText {
    private static let shortLengthMax = 60

    /// The text, or as much of it as a line has room for.
    static func shortened(_ text: String) -> String {
        text.count > self.shortLengthMax ? text.prefix(self.shortLengthMax - 1) + "…" : text
    }

    /// No cell makes the lines of others longer than this, in characters.
    private static let widthMax = 60

    /// Lines of columns, each as wide as its widest cell up to a limit; the last one is not padded.
    ///
    /// A cell is one line, and steers no terminal.
    static func table(_ rows: [[String]]) -> String {
        let rows = rows.map { $0.map(TerminalText.line) }
        var widths: [Int] = []
        for row in rows {
            for (column, cell) in row.enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], min(cell.count, self.widthMax))
            }
        }
        let starts = widths.indices.map { widths[..<$0].reduce(0) { $0 + $1 + 2 } }
        var text = ""
        for row in rows {
            var line = ""
            for (column, cell) in row.enumerated() {
                guard !cell.isEmpty else { continue }
                let gap = max(starts[column] - line.count, line.isEmpty ? 0 : 2)
                line += String(repeating: " ", count: gap) + cell
            }
            text += line + "\n"
        }
        return text
    }
}
