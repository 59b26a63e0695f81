import CRDTCore
import PeerdKit
import Testing

@testable import PeerdKit
@testable import peerd

@Suite struct ControlCodecTests {
    /// Made anew each time: a leak checker does not see what a global keeps behind the spare bits of an enum.
    static var requests: [Request] {
        [
            .status, .peers, .invite, .conflicts, .doctor,
            .sync(.everyone, timeoutMilliseconds: 5),
            .create(
                Request.Creation(
                    type: "note",
                    kind: "",
                    parent: "abcd",
                    key: nil,
                    assignments: [Request.Assignment(name: "title", value: "two\nlines \u{1}")]
                )
            ),
            .set(object: "abcd", assignments: []),
            .get(object: "abcd", name: nil),
            .move(object: "a", parent: nil, before: "b"),
            .export(object: nil),
            .importObjects([
                ImportedObject(
                    reference: .key(type: "t", key: "k"),
                    type: "t",
                    kind: "",
                    parent: .id("p"),
                    properties: ["é": "1", "e\u{301}": "2"]
                )
            ]),
        ]
    }

    @Test(arguments: Self.requests)
    func `a request comes back as it was sent, on one line`(request: Request) throws {
        let envelope = RequestEnvelope(format: OutputFormat(isJSON: true), request: request)
        let line = try ControlCodec.line(envelope)
        #expect(line.last == 0x0a)
        #expect(!line.dropLast().contains(0x0a))
        #expect(try ControlCodec.value(RequestEnvelope.self, from: line) == envelope)
    }

    @Test(arguments: [
        "", "{}", "[]", "null", "{\"version\":2}", "{\"version\":2,\"format\":{},\"request\":{\"status\":{}}}",
        "{\"version\":2,\"format\":{\"isJSON\":true},\"request\":{\"nonsense\":{}}}", "\u{0}",
    ])
    func `what is no request is not understood`(text: String) {
        #expect(throws: ControlError.notUnderstood) {
            try ControlCodec.value(RequestEnvelope.self, from: text.utf8)
        }
    }

    @Test func `output that is no text travels as bytes`() throws {
        #expect(ControlCodec.reply(output: Array("ä\n".utf8)[...]) == .text("ä\n"))
        let half = Array("ä".utf8)[..<1]
        guard case .bytes(let text) = ControlCodec.reply(output: half) else {
            Issue.record("half a character passed for text")
            return
        }
        #expect(text == "ww==")
    }
}

@Suite struct LineReaderTests {
    @Test func `lines come out whole, however they arrive`() throws {
        let text = "first\nsecond\n\nlast"
        for size in 1...text.utf8.count {
            var reader = LineReader(byteCountMax: 100)
            var lines: [String] = []
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                reader.append(rest.prefix(size))
                rest = rest.dropFirst(size)
                while let line = try reader.next() { lines.append(String(decoding: line, as: UTF8.self)) }
            }
            #expect(lines == ["first", "second", ""], "pieces of \(size)")
        }
    }

    @Test func `a line beyond the limit is refused before it has ended`() throws {
        var reader = LineReader(byteCountMax: 4)
        reader.append(Array("1234\n".utf8))
        #expect(try reader.next()?.count == 4)
        reader.append(Array("12345".utf8))
        #expect(throws: ControlError.tooLong) { try reader.next() }
        var whole = LineReader(byteCountMax: 4)
        whole.append(Array("12345\n".utf8))
        #expect(throws: ControlError.tooLong) { try whole.next() }
    }
}
