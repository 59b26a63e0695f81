import CRDTCore
import NIOConcurrencyHelpers
import Testing

@testable import peerd

@Suite struct OutputTests {
    @Test func `a spool gives back what was written, from memory and from its file`() async throws {
        try await TemporaryDirectory.with { directory in
            for limit in [1, 1000, 1 << 20] {
                let spool = Spool(directory: directory, memoryByteCountMax: limit)
                var expected = ""
                for number in 0..<500 {
                    spool.line("line \(number)")
                    expected += "line \(number)\n"
                }
                let written = NIOLockedValueBox<[UInt8]>([])
                let output = CommandOutput(format: OutputFormat(isJSON: false, isTerminal: false)) { piece in
                    if case .data(let data) = piece { written.withLockedValue { $0 += data } }
                }
                try await spool.drain(to: output)
                try await output.flush()
                #expect(written.withLockedValue { String(decoding: $0, as: UTF8.self) } == expected, "limit \(limit)")
            }
        }
    }

    @Test func `nothing from a peer steers the terminal`() {
        #expect(PlainText.printable("a\u{1b}[2Jb\nc\u{7}\u{202e}d") == "a\\u{1b}[2Jb\\nc\\u{7}\\u{202e}d")
        #expect(PlainText.printable("ä 世界 😀") == "ä 世界 😀")
    }

    @Test func `columns line up and lines have no trailing blanks`() {
        #expect(PlainText.table([["a", "bb"], ["ccc", ""], ["", "d"]]) == "a    bb\nccc\n     d\n")
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
