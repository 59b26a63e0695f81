import CRDTCore
import Foundation
import Testing

@testable import PeerdKit
@testable import peerd

@Suite struct ImportFileTests {
    /// What is in a file, in the order in which it is made.
    private struct Content {
        var objects: [ImportedObject]
        var batches: [[ImportedObject]] = []
        var places: (strangers: [Int], typeless: [Int])
    }

    private func file(_ text: String) throws -> Content { try self.file(Array(text.utf8)) }

    private func file(_ bytes: [UInt8]) throws -> Content {
        var next: UInt64 = 0
        let file = try ImportFile(reading: ImportText(Data(bytes))) {
            next += 1
            return ObjectID(bytes: Bytes16(high: 0, low: next))
        }
        var content = Content(
            objects: try (0..<file.count).map { try file.object(at: $0) },
            places: file.placesToCheck()
        )
        var batches = ImportBatches(file)
        while let batch = try batches.next() { content.batches.append(batch) }
        return content
    }

    private func keys(_ file: Content) -> [String] {
        file.objects.map { object in
            if case .key(_, let key) = object.reference { return key.text }
            return "?"
        }
    }

    @Test func `what was missing in an export is no property, and keeps what it had`() throws {
        let file = try self.file(#"[{"type":"t","key":"a","properties":{"x":1},"missing":["title"]}]"#)
        #expect(file.objects.map(\.missing) == [["title"]] && file.objects[0].properties.keys.map(\.text) == ["x"])
        for text in [#"[{"type":"t","missing":"title"}]"#, #"[{"type":"t","missing":[1]}]"#] {
            #expect(throws: PeerdError.self) { try self.file(text) }
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
        let parent = try #require(ObjectID(text: "00000000-0000-4000-8000-000000000002"))
        #expect(file.objects.map(\.reference).first == .id(parent))
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

    @Test(arguments: [
        ("[{\"type\":\"t\"},\n{\"type\":\"t\"},,\n{\"type\":\"t\"}]", ["line 2", "comma too many behind object 2"]),
        ("[{\"type\":\"t\"},\n]", ["line 2", "comma too many behind object 1"]),
        ("[{\"type\":\"t\"}\n\n{\"type\":\"t\"}]", ["line 3", "comma is missing behind object 1"]),
        ("[{\"type\":\"t\"}] x", ["line 1", "behind the end"]),
        ("[\n{\"type\":\"t\",\n\"properties\":{\"a\":1,\n\"b\":1e999}}]", ["Object 1", "line 2", "\"b\" on line 4"]),
        ("[{\"type\":\"t\",\"properties\":{\"n\":9223372036854775808}}]", ["Object 1", "\"n\"", "64 bits"]),
        ("[{\"type\":\"t\",\"properties\":{\"n\":{\"x\":1e-999}}}]", ["Object 1", "\"n\"", "zero"]),
        ("[{\"type\":\"t\",\"properties\":{\"a\":tru}}]", ["Object 1", "\"a\" on line 1"]),
        ("[{\"type\":\"t\",\"properties\":{\"a\":\"]}\\\"\"}},\n{\"type\":5}]", ["Object 2", "line 2", "\"type\""]),
    ])
    func `what is wrong is named by line, object and property`(text: String, words: [String]) {
        #expect {
            try self.file(text)
        } throws: { error in
            let message = (error as? PeerdError)?.message ?? ""
            return words.allSatisfy { message.contains($0) }
        }
    }

    @Test func `a byte order mark is passed over, and UTF-16 is named`() throws {
        let text = Array(#"[{"type":"t"}]"#.utf8)
        #expect(try self.file([0xef, 0xbb, 0xbf] + text).objects.count == 1)
        #expect {
            try self.file([0xff, 0xfe] + text)
        } throws: {
            ($0 as? PeerdError)?.message.contains("UTF-16") ?? false
        }
    }

    @Test func `objects that only the workspace can complete are named`() throws {
        let file = try self.file(
            """
            [{"type":"t","parent":"00000000-0000-4000-8000-000000000009"},
             {"type":"t","key":"a"},
             {"type":"t","parent_key":"a"},
             {"type":"t","parent_key":"nobody"},
             {"id":"00000000-0000-4000-8000-000000000001"}]
            """
        )
        #expect(file.places.strangers.map { file.objects[$0].number } == [1, 4])
        #expect(file.places.typeless.map { file.objects[$0].line } == [5])
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
