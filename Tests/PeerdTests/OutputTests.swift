import CRDTCore
import LocalAPI
import NIOConcurrencyHelpers
import PeerdKit
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
                let output = CommandOutput(format: OutputFormat(isJSON: false)) { piece in
                    if case .data(let data) = piece { written.withLockedValue { $0 += data } }
                }
                try await spool.drain(to: output)
                try await output.flush()
                #expect(written.withLockedValue { String(decoding: $0, as: UTF8.self) } == expected, "limit \(limit)")
            }
        }
    }

    @Test func `columns line up and lines have no trailing blanks`() {
        #expect(PlainText.table([["a", "bb"], ["ccc", ""], ["", "d"]]) == "a    bb\nccc\n     d\n")
        #expect(PlainText.table([["a\n", "b"], ["ccc", "d"]]) == "a\\n  b\nccc  d\n")
    }

    @Test func `a line for people is one line, and JSON is what it is`() async throws {
        let written = NIOLockedValueBox<[UInt8]>([])
        let output = CommandOutput(format: OutputFormat(isJSON: false)) { piece in
            if case .data(let data) = piece { written.withLockedValue { $0 += data } }
        }
        let spool = Spool(directory: "/tmp")
        spool.line("a\nb\u{9b}")
        spool.table([["c\u{202e}"]])
        spool.write("d\u{1b}\n".utf8)
        try await spool.drain(to: output)
        try await output.line("a\nb\u{9b}")
        try await output.table([["c\u{202e}"]])
        try await output.json("\u{202e}\n")
        try await output.flush()
        let common = "a\\nb\\u009b\nc\\u202e\n"
        let text = written.withLockedValue { String(decoding: $0, as: UTF8.self) }
        #expect(text == common + "d\u{1b}\n" + common + "\"\u{202e}\\n\"\n")
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
