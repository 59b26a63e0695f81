internal import CRDTCore
internal import Foundation

/// Values, times and amounts as people read them.
enum PlainText {
    /// A value as people read it: a string as it is, anything else as JSON.
    static func of(_ value: Value) -> String {
        if case .string(let text) = value { return text }
        return value.json.canonicalText
    }

    /// A moment in the UTC calendar.
    static func time(milliseconds: UInt64) -> String {
        guard milliseconds > 0 else { return "never" }
        let date = Date(timeIntervalSince1970: Double(min(milliseconds, 253_402_300_799_000)) / 1000)
        return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: false))
    }

    static func bytes(_ count: UInt64) -> String {
        switch count {
        case ..<10_000: "\(count) bytes"
        case ..<10_000_000: "\(count / 1000) kB"
        default: "\(count / 1_000_000) MB"
        }
    }

    static func count(_ count: some BinaryInteger, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }

    /// Lines of columns, each as wide as its widest cell; the last one is not padded.
    ///
    /// A cell is one line, and steers no terminal.
    static func table(_ rows: [[String]]) -> String {
        let rows = rows.map { $0.map(TerminalText.line) }
        var widths: [Int] = []
        for row in rows {
            for (column, cell) in row.enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], cell.count)
            }
        }
        let starts = widths.indices.map { widths[..<$0].reduce(0) { $0 + $1 + 2 } }
        var text = ""
        for row in rows {
            var line = ""
            for (column, cell) in row.enumerated() {
                guard !cell.isEmpty else { continue }
                line += String(repeating: " ", count: starts[column] - line.count) + cell
            }
            text += line + "\n"
        }
        return text
    }
}
