import CRDTCore
import Testing

@testable import PeerdKit
@testable import peerd

@Suite struct ImportFileTests {
    private func file(_ text: String) throws -> ImportFile {
        var next: UInt64 = 0
        return try ImportFile(parsing: text.utf8) {
            next += 1
            return ObjectID(bytes: Bytes16(high: 0, low: next))
        }
    }

    private func keys(_ file: ImportFile) -> [String] {
        file.objects.map { object in
            if case .key(_, let key) = object.reference { return key.text }
            return "?"
        }
    }

    @Test func `parents come first, and siblings in the order of their positions`() throws {
        let file = try self.file(
            """
            [{"type":"t","key":"c","parent_key":"a","position":"a1"},
             {"type":"t","key":"b","parent_key":"a","position":"a0"},
             {"type":"t","key":"d","parent_key":"c"},
             {"type":"t","key":"z"},
             {"type":"t","key":"a"}]
            """
        )
        #expect(self.keys(file) == ["z", "a", "b", "c", "d"])
    }

    @Test func `an export is read with ids, places and properties`() throws {
        let file = try self.file(
            """
            [{"created_at":1,"creator":"x","id":"00000000-0000-4000-8000-000000000001","kind":"k","owner":"x",
              "parent":"00000000-0000-4000-8000-000000000002","position":"a0","properties":{"n":1.0,"t":"x"},
              "type":"note","updated_at":2},
             {"id":"00000000-0000-4000-8000-000000000002","parent":null,"position":"a5","properties":{},"type":"note"}]
            """
        )
        #expect(file.objects.map(\.reference).first == .id("00000000-0000-4000-8000-000000000002"))
        #expect(file.objects[0].isPlacedAtRoot)
        #expect(file.objects[1].properties == ["n": "1.0", "t": "\"x\""])
        #expect(file.objects[1].kind == "k")
        #expect(!file.objects[1].isPlacedAtRoot)
    }

    @Test func `a parent key without a type means the one object that has it`() throws {
        let file = try self.file(#"[{"type":"country","key":"DE"},{"type":"land","key":"BY","parent_key":"DE"}]"#)
        #expect(file.objects[1].parent == .key(type: "country", key: "DE"))
        let elsewhere = try self.file(#"[{"type":"land","key":"BY","parent_key":"DE"}]"#)
        #expect(elsewhere.objects[0].parent == .key(type: "land", key: "DE"))
    }

    @Test func `keys that only look alike are two`() throws {
        let file = try self.file("[{\"type\":\"t\",\"key\":\"\u{e9}\"},{\"type\":\"t\",\"key\":\"e\u{301}\"}]")
        #expect(file.objects.count == 2)
    }

    @Test(arguments: [
        "", "{", "{}", "[1]", #"[{"type":5}]"#, "[{}]", #"[{"type":"t","foo":1}]"#, #"[{"type":"t","id":"x"}]"#,
        #"[{"type":"t","properties":[]}]"#, #"[{"type":"t","key":"a"},{"type":"t","key":"a"}]"#,
        #"[{"type":"t","key":"a","parent_key":"b"},{"type":"t","key":"b","parent_key":"a"}]"#,
        #"[{"type":"a","key":"k"},{"type":"b","key":"k"},{"type":"c","key":"x","parent_key":"k"}]"#,
    ])
    func `what cannot be taken in is refused as a whole`(text: String) {
        #expect { try self.file(text) } throws: { ($0 as? PeerdError)?.code == .importInvalid }
    }

    @Test func `where a file stops being JSON is said`() throws {
        for (text, place) in [("[{\"type\":\"t\"},\n  {\"type\":}]", "line 2"), ("[{\"type\":\"t\"}", "line 1")] {
            #expect { try self.file(text) } throws: { ($0 as? PeerdError)?.message.contains(place) ?? false }
        }
    }

    @Test(arguments: [1, 60, 128])
    func `a value may lie as deep in an export as by itself`(depth: Int) throws {
        let value = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let file = try self.file(#"[{"type":"t","properties":{"p":\#(value)}}]"#)
        #expect(file.objects[0].properties == ["p": value])
        #expect(try Value(argument: value) == .document(value))
    }

    @Test func `an object that holds more than one change can comes in parts`() throws {
        let long = String(repeating: "x", count: 1_000_000)
        let many = (0..<70_000).map { #""n\#($0)":\#($0)"# }.joined(separator: ",")
        let large = (0..<7).map { #""l\#($0)":"\#(long)""# }.joined(separator: ",")
        let file = try self.file(#"[{"type":"t","key":"a","properties":{\#(many),\#(large)}},{"type":"t","key":"b"}]"#)
        let pieces = file.batches.flatMap(\.self)
        #expect(pieces.filter { !$0.isContinuation }.map(\.reference) == file.objects.map(\.reference))
        #expect(pieces.filter { $0.reference == pieces[0].reference }.reduce(0) { $0 + $1.properties.count } == 70_007)
        for batch in file.batches {
            #expect(batch.filter { $0.reference == pieces[0].reference }.count <= 1)
            #expect(batch.reduce(0) { $0 + $1.properties.count } <= 4_096)
        }
    }

    @Test func `no batch is larger than one change can be`() throws {
        let long = String(repeating: "x", count: 400_000)
        let objects = (0..<9000).map { number in
            number < 10 ? #"{"type":"t","properties":{"p":"\#(long)"}}"# : #"{"type":"t"}"#
        }
        let file = try self.file("[\(objects.joined(separator: ","))]")
        let batches = file.batches
        #expect(batches.reduce(0) { $0 + $1.count } == 9000)
        for batch in batches {
            #expect(batch.count <= ImportFile.batchObjectCountMax)
            let bytes = batch.reduce(0) { $0 + $1.properties.values.reduce(0) { $0 + $1.utf8.count } }
            #expect(bytes < Limits.changeByteCountMax)
        }
        #expect(try self.file("[]").batches.isEmpty)
    }
}
