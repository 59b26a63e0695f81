import CRDTCore
import LocalAPI
import PeerdKit
import Testing

@testable import peerd

@Suite struct OutputTests {
    @Test func `columns line up and lines have no trailing blanks`() {
        #expect(PlainText.table([["a", "bb"], ["ccc", ""], ["", "d"]]) == "a    bb\nccc\n     d\n")
        #expect(PlainText.table([["a\n", "b"], ["ccc", "d"]]) == "a\\n  b\nccc  d\n")
    }

    @Test func `a line for people is one line, and JSON is what it is`() async throws {
        let text = try await CommandOutput.text { output in
            try output.line("a\nb\u{9b}")
            try output.table([["c\u{202e}"]])
            try output.write("d\u{1b}\n".utf8)
            try output.json("\u{202e}\n")
        }
        #expect(text == "a\\nb\\u009b\nc\\u202e\nd\u{1b}\n\"\u{202e}\\n\"\n")
    }

    @Test func `stamps sort as text`() {
        let stamps = [Stamp(rawValue: 0), Stamp(rawValue: 255), Stamp(rawValue: 1 << 40), Stamp(rawValue: .max)]
        #expect(stamps.map(StampText.of) == stamps.map(StampText.of).sorted())
        #expect(StampText.of(Stamp(milliseconds: 1)) == "0000000000010000")
    }

    @Test(arguments: [("abcd", true), ("ABCD-ef", true), ("abc", false), ("abcg", false), ("", false), ("٣٣٣٣", false)])
    func `an abbreviated id is four or more hexadecimal digits`(text: String, isValid: Bool) {
        #expect((IdentifierRange(prefix: text) != nil) == isValid)
    }
}
