import CRDTCore
import Testing

@testable import peerd

@Suite struct TerminalTextTests {
    /// First and last scalar of each range that must not reach a terminal.
    static let ranges: [(UInt32, UInt32)] = [
        (0x0000, 0x001f), (0x007f, 0x009f), (0x200b, 0x200f), (0x2028, 0x202e), (0x2060, 0x2069), (0xfeff, 0xfeff),
    ]

    private static func text(_ value: UInt32) throws -> String {
        String(Character(try #require(Unicode.Scalar(value))))
    }

    private static func isDangerous(_ value: UInt32) -> Bool {
        self.ranges.contains { $0.0 <= value && value <= $0.1 }
    }

    private static func filtered(_ text: String) -> String {
        var filter = TerminalFilter()
        return String(decoding: filter.filtered(text.utf8), as: UTF8.self)
    }

    @Test(arguments: Self.ranges)
    func `a range ends where it is said to end`(first: UInt32, last: UInt32) throws {
        for value in Set([first, last]) {
            let text = try Self.text(value)
            #expect(!TerminalText.line(text).unicodeScalars.contains { $0.value == value }, "\(value)")
        }
        for value in [first &- 1, last + 1] {
            guard let scalar = Unicode.Scalar(value) else { continue }
            #expect(TerminalText.line(String(Character(scalar))) == String(Character(scalar)), "\(value)")
        }
    }

    @Test func `of all scalars those of the ranges are escaped, and no others`() throws {
        for value: UInt32 in 0...0x10_ffff {
            guard let scalar = Unicode.Scalar(value) else { continue }
            guard TerminalText.isDangerous(scalar) == Self.isDangerous(value) else {
                Issue.record("U+\(String(value, radix: 16))")
                return
            }
        }
        for value: UInt32 in 0...0xffff {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = "a\(scalar)b"
            let isNewline = value == 0x0a
            let isKept = !Self.isDangerous(value)
            guard (TerminalText.line(text) == text) == isKept,
                (TerminalText.lines(text) == text) == (isKept || isNewline),
                Self.filtered(text) == TerminalText.lines(text)
            else {
                Issue.record("U+\(String(value, radix: 16))")
                return
            }
        }
    }

    @Test func `the escapes are those of JSON, so JSON stays the same`() throws {
        for (first, last) in Self.ranges {
            for value in first...last {
                let text = try Self.text(value)
                #expect(JSON(parsing: "\"\(TerminalText.line(text))\"".utf8) == .string(text), "\(value)")
                let json = JSON.object([ExactText(text): .array([.string("a" + text)])])
                #expect(JSON(parsing: Self.filtered(json.canonicalText).utf8) == json, "\(value)")
            }
        }
        #expect(TerminalText.line("a\u{1b}[2J\r\n\u{7}\u{202e}") == "a\\u001b[2J\\r\\n\\u0007\\u202e")
        #expect(TerminalText.line("ä 世界 😀 \\") == "ä 世界 😀 \\")
    }

    @Test func `a terminal gets the same text, wherever its bytes are cut`() throws {
        let text = "a\nä\u{9b}b\u{202e}世\u{feff}界😀\u{200d}\u{1b}]0;x\u{7}\r\nc\u{7f}"
        let bytes = Array(text.utf8)
        let expected = TerminalText.lines(text)
        for size in 1...bytes.count {
            var filter = TerminalFilter()
            var shown: [UInt8] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                shown += filter.filtered(bytes[start..<min(start + size, bytes.count)])
            }
            #expect(String(decoding: shown, as: UTF8.self) == expected, "pieces of \(size)")
        }
    }

    @Test(
        arguments: [
            [0x9b, 0x33, 0x31, 0x6d], [0xc2], [0xe2, 0x80], [0xf0, 0x9f, 0x98], [0xff, 0xfe], [0xc0, 0x9b],
            [0xed, 0xa0, 0x80],
            [0x80, 0x80, 0x80, 0x80], [0xf4, 0xbf, 0x9b, 0x9b], [0xe2, 0x9b], [0xf8, 0x88, 0x80, 0x80, 0x9b],
        ] as [[UInt8]]
    )
    func `bytes that are no text do not reach a terminal`(bytes: [UInt8]) {
        for size in 1...bytes.count {
            var filter = TerminalFilter()
            var shown: [UInt8] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                shown += filter.filtered(bytes[start..<min(start + size, bytes.count)])
            }
            shown += filter.filtered("\nend".utf8)
            let text = String(validating: shown, as: UTF8.self)
            #expect(text?.hasSuffix("\nend") == true, "\(shown)")
            #expect(text?.unicodeScalars.contains { Self.isDangerous($0.value) && $0 != "\n" } == false, "\(shown)")
        }
    }
}
