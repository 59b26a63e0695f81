/// Text that steers no terminal: each scalar that could is shown as its JSON escape.
///
/// JSON remains the same JSON when it is escaped like this, so one rule covers all output.
enum TerminalText {
    /// Scalars that move the cursor, change modes and colours, or hide and reorder what stands beside them.
    static let dangerousRanges: [ClosedRange<UInt32>] = [
        0x0000...0x001f, 0x007f...0x009f, 0x200b...0x200f, 0x2028...0x202e, 0x2060...0x2069, 0xfeff...0xfeff,
    ]

    static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        self.dangerousRanges.contains { $0.contains(scalar.value) }
    }

    /// The text on one line: line breaks are escaped, too.
    static func line(_ text: String) -> String { self.escaped(text, keepsNewlines: false) }

    /// The text with its lines, but nothing else that steers a terminal.
    static func lines(_ text: String) -> String { self.escaped(text, keepsNewlines: true) }

    private static func escaped(_ text: String, keepsNewlines: Bool) -> String {
        // Printable ASCII is most of what is printed.
        if text.utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if self.isDangerous(scalar), !(keepsNewlines && scalar == "\n") {
                result.append(contentsOf: self.escape(scalar).unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": return "\\n"
        case "\t": return "\\t"
        case "\r": return "\\r"
        default:
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        }
    }
}

/// Makes a stream of bytes safe for a terminal, in pieces that may end within a scalar.
///
/// Bytes that are not UTF-8 become U+FFFD: some terminals take single bytes from 80 to 9F as control characters.
struct TerminalFilter: Sendable {
    /// The beginning of a scalar whose rest has not come yet.
    private var pending: [UInt8] = []

    /// Returns what the terminal may be sent now.
    mutating func filtered(_ piece: some Sequence<UInt8>) -> [UInt8] {
        let bytes = self.pending + piece
        let count = Self.incompleteByteCount(bytes)
        self.pending = Array(bytes.suffix(count))
        return Array(TerminalText.lines(String(decoding: bytes.dropLast(count), as: UTF8.self)).utf8)
    }

    /// Bytes at the end that begin a scalar and do not complete it.
    private static func incompleteByteCount(_ bytes: [UInt8]) -> Int {
        for (offset, byte) in bytes.suffix(3).reversed().enumerated() {
            switch byte {
            case 0x80..<0xc0: continue
            case 0xc0..<0xe0: return offset < 1 ? offset + 1 : 0
            case 0xe0..<0xf0: return offset < 2 ? offset + 1 : 0
            case 0xf0...: return offset + 1
            default: return 0
            }
        }
        return 0
    }
}
