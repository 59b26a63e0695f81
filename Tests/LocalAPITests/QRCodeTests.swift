import LocalAPI
import Testing

/// `Tests/System/test_invite_code.py` reads what is drawn with a decoder of another make.
@Suite struct QRCodeTests {
    @Test(arguments: [(1, 21), (17, 21), (18, 25), (858, 97)])
    func `a text gets the smallest code that holds it`(byteCount: Int, size: Int) throws {
        let code = try #require(QRCode(text: String(repeating: "a", count: byteCount)))
        #expect(code.size == size)
    }

    @Test(arguments: [0, 859, 2953, 2954, 5000, 10_000_000])
    func `a text that is empty or too long has no code`(byteCount: Int) {
        #expect(QRCode(text: String(repeating: "a", count: byteCount)) == nil)
    }

    @Test func `a drawing is a light border around dark corners`() throws {
        let code = try #require(QRCode(text: "peerd:1:\u{0}\u{1b}ä"))
        let lines = code.terminalText.split(separator: "\n")
        #expect(lines.count == (code.size + 5) / 2)
        for line in lines {
            #expect(line.hasPrefix("\u{1b}[30;107m  ") && line.hasSuffix("  \u{1b}[0m"))
            #expect(line.unicodeScalars.count { " ▀▄█".unicodeScalars.contains($0) } == code.size + 4)
        }
        for (row, column) in [(0, 0), (0, code.size - 1), (code.size - 1, 0)] { #expect(code[row, column]) }
        #expect(!code[-1, 0] && !code[0, -1] && !code[code.size, 0] && !code[0, code.size])
    }
}
