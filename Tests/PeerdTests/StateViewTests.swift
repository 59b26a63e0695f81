import CRDTCore
import Engine
import LocalAPI
import PeerCrypto
import Testing

@testable import PeerdKit
@testable import peerd

/// Views of the state of a store in memory with a small tree: a root with two children, one of which has one, and an
/// object that is deleted.
@Suite struct StateViewTests {
    private static let now = ClockReading(wall: WallTime(milliseconds: 1_800_000_000_000), monotonicMilliseconds: 1)
    private static let ids = (1...5).map { ObjectID(bytes: Bytes16(high: 0xabcd << 48 | $0, low: $0)) }

    private static func create(_ number: Int, under parent: Int?) -> Transaction.Step {
        .create(
            Transaction.Creation(
                id: .given(self.ids[number]),
                type: "note",
                parent: parent.map { self.ids[$0] },
                properties: ["name": .string("n\(number)"), "n": .int(Int64(number))]
            )
        )
    }

    /// Calls `body` with the node's store, and hands on what it throws.
    private static func read<Result>(_ body: (inout MemoryTransaction) throws -> Result) throws -> Result {
        var entropy = try TemporaryDirectory.entropy()
        guard let identity = DeviceIdentity.founding(name: "laptop", entropy: &entropy) else {
            throw CommandFailure(.failure, "no identity")
        }
        var node = try Node(
            store: MemoryStore(origin: identity.origin),
            identity: identity,
            configuration: NodeConfiguration(),
            entropy: entropy,
            at: self.now
        )
        let steps = [
            self.create(0, under: nil), self.create(1, under: 0), self.create(2, under: 0), self.create(3, under: 1),
            self.create(4, under: nil), .set(self.ids[0], name: "n", value: .null),
        ]
        for (number, steps) in [steps, [.delete(self.ids[4])]].enumerated() {
            let request = WriteRequest(id: RequestID(rawValue: UInt64(number)), transaction: Transaction(steps))
            _ = node.handle(.write([request]), at: self.now)
        }
        return try node.read { transaction throws(StoreError) -> Swift.Result<Result, any Error> in
            do {
                return .success(try body(&transaction))
            } catch {
                return .failure(error)
            }
        }.get()
    }

    private static func problem(finding text: String) throws -> Problem? {
        try self.read { transaction in
            do {
                _ = try ObjectLookup.find(text, in: &transaction)
                return nil
            } catch let problem as Problem {
                return problem
            }
        }
    }

    @Test func `an object is found by its id and by what suffices of it`() throws {
        try Self.read { transaction in
            for id in Self.ids.prefix(4) {
                for text in [id.description, id.description.uppercased(), String(id.description.prefix(18))] {
                    #expect(try ObjectLookup.find(text, in: &transaction).id == id)
                }
            }
            let deleted = try ObjectLookup.find(Self.ids[4].description, includingDeleted: true, in: &transaction)
            #expect(deleted.id == Self.ids[4])
        }
    }

    @Test func `what is not there, deleted or ambiguous is said clearly`() throws {
        #expect(try Self.problem(finding: "dddd")?.detail == "There is no object dddd.")
        #expect(try Self.problem(finding: "abcd")?.detail.contains("write more digits") == true)
        #expect(try Self.problem(finding: Self.ids[4].description)?.detail.contains("is deleted") == true)
        for text in ["x", "abcd", Self.ids[4].description] {
            #expect(try Self.problem(finding: text).map { CommandFailure($0).status } == .noSuchObject)
        }
    }

    @Test func `the export in pieces is the canonical one`() async throws {
        var pieces: [UInt8] = []
        let whole = try Self.read { transaction in
            try ExportText.write(under: nil, in: &transaction) { pieces += $0 }
            return try StateExport.json(of: &transaction)
        }
        #expect(pieces == whole)
    }

    @Test func `the tree shows names, branches and nothing that is deleted`() async throws {
        let text = try await CommandOutput.text { output in
            var drawing = TreeDrawing(output, beginsWithTop: false)
            for (summary, depth, isLast) in try Self.tree() {
                try drawing.add(summary, depth: depth, isLast: isLast)
            }
        }
        let expected = """
            └── n0  note  \(Self.ids[0])  (2)
                ├── n1  note  \(Self.ids[1])  (1)
                │   └── n3  note  \(Self.ids[3])
                └── n2  note  \(Self.ids[2])

            """
        #expect(text == expected)
    }

    /// The objects in the order of the API, with their depths, and whether each is the last of its siblings.
    private static func tree() throws -> [(ObjectSummary, Int, Bool)] {
        try self.read { transaction in
            try [(0, 0, true), (1, 1, false), (3, 2, true), (2, 1, true)].map { number, depth, isLast in
                let index = transaction.objectIndex(of: self.ids[number])
                return (try ObjectSummary(of: index, in: &transaction), depth, isLast)
            }
        }
    }

    @Test func `the object at the top of a tree has no branch, and what is very deep says so`() async throws {
        let summary = try Self.tree()[0].0
        let text = try await CommandOutput.text { output in
            var drawing = TreeDrawing(output, beginsWithTop: true)
            for depth in 0...102 { try drawing.add(summary, depth: depth, isLast: depth % 2 == 0) }
        }
        let lines = text.split(separator: "\n")
        #expect(lines[0] == summary.line && lines[1] == "├── \(summary.line)" && lines[2] == "│   └── \(summary.line)")
        #expect(lines[100].hasSuffix("    │   └── \(summary.line)"))
        #expect(lines[101] == "(level 101) \(summary.line)" && lines[102] == "(level 102) \(summary.line)")
    }

    @Test func `the tree as JSON nests the children`() async throws {
        let text = try await CommandOutput.text { output in
            var tree = TreeText(output)
            for (summary, depth, _) in try Self.tree() { try tree.add(summary, depth: depth) }
            try tree.end()
            var none = TreeText(output)
            try none.end()
        }
        #expect(text.hasSuffix("]}]\n[]\n"))
        guard case .array(let roots)? = JSON(parsing: text.dropLast(3).utf8),
            case .object(let root)? = roots.first,
            case .array(let children)? = root["children"]
        else {
            Issue.record("not a tree")
            return
        }
        #expect(roots.count == 1)
        #expect(children.count == 2)
    }

    @Test func `the log tells each operation with its context and what became of it`() throws {
        let entries = try Self.read { transaction in
            try LogReader.entries(of: SegmentIndex(rawValue: 0), in: &transaction)
        }
        #expect(entries.first.map { StoredOperation($0).kind } == "introduce")
        let written = entries.filter { $0.edit == .set(Self.ids[0], name: "n", value: .int(0)) }
        #expect(written.map(\.status) == [.superseded])
        let nulled = entries.filter { $0.edit == .set(Self.ids[0], name: "n", value: .null) }
        #expect(nulled.map(\.status) == [.effective])
        #expect(entries.last?.edit == .delete(Self.ids[4]))
        #expect(entries.last?.context.map(\.sequence).max() == entries.last.map { $0.write.sequence - 1 })
        #expect(entries.last?.context.map(\.name) == entries.last?.previous.map { [ChangeName($0)] })
    }
}

extension LogReader {
    /// All operations of a line.
    static func entries(of line: SegmentIndex, in transaction: inout some StoreTransaction) throws -> [LogEntry.Source]
    {
        var end = ChainEnd(of: line, in: transaction)
        end.isHeld = true
        var reader = LogReader(chain: end, object: nil, device: DeviceID(bytes: .zero))
        var entries: [LogEntry] = []
        while !reader.isAtEnd { entries += try reader.nextEntries(in: &transaction) }
        return entries.compactMap(\.source)
    }
}

extension CommandOutput {
    /// What a body prints.
    static func text(of body: (CommandOutput) async throws -> Void) async throws -> String {
        var bytes: [UInt8] = []
        let output = CommandOutput(isJSON: false) { bytes += $0 }
        try await body(output)
        try output.flush()
        return String(decoding: bytes, as: UTF8.self)
    }
}
