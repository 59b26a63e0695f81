internal import CRDTCore
internal import Foundation

/// Text for terminals.
///
/// What comes from peers is only ever text: nothing in it may steer the terminal.
enum PlainText {
    /// The text on one line: control characters are shown escaped, as in JSON.
    static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: self.isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            case let scalar where self.isControl(scalar): result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// A text of several lines as it may go to a terminal: other control characters are shown escaped.
    static func lines(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: self.isControl) else { return text }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map { self.printable(String($0)) }
        }
        return lines.map { $0.joined(separator: "\t") }.joined(separator: "\n")
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7f..<0xa0).contains(scalar.value) || (0x202a...0x202e).contains(scalar.value)
            || (0x2066...0x2069).contains(scalar.value)
    }

    /// A value as people read it: a string as it is, anything else as JSON.
    static func of(_ value: Value) -> String {
        if case .string(let text) = value { return self.printable(text) }
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
    static func table(_ rows: [[String]]) -> String {
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
