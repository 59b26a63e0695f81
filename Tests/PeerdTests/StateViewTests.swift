import CRDTCore
import Engine
import PeerCrypto
import Testing

@testable import PeerdKit
@testable import peerd

/// Views of the state of a store in memory with a small tree: a root with two children, one of which has one, and an
/// object that is deleted.
@Suite struct StateViewTests {
    private static let now = Moment(wall: WallTime(milliseconds: 1_800_000_000_000), monotonicMilliseconds: 1)
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

    private static func failure(finding text: String) throws -> CommandFailure? {
        try self.read { transaction in
            do {
                _ = try ObjectLookup.find(text, in: &transaction) as FoundObject
                return nil
            } catch let failure as CommandFailure {
                return failure
            }
        }
    }

    @Test func `an object is found by its id and by what suffices of it`() throws {
        try Self.read { transaction in
            for id in Self.ids.prefix(4) {
                for text in [id.description, id.description.uppercased(), String(id.description.prefix(18))] {
                    #expect(try (ObjectLookup.find(text, in: &transaction) as FoundObject).id == id)
                }
            }
            let deleted = try ObjectLookup.find(Self.ids[4].description, includingDeleted: true, in: &transaction)
            #expect(deleted.id == Self.ids[4])
        }
    }

    @Test func `what is not there, deleted or ambiguous is said clearly`() throws {
        #expect(try Self.failure(finding: "dddd")?.message == "There is no object dddd.")
        #expect(try Self.failure(finding: "abcd")?.message.contains("write more digits") == true)
        #expect(try Self.failure(finding: Self.ids[4].description)?.message.contains("is deleted") == true)
        #expect(try Self.failure(finding: "x")?.status == .noSuchObject)
    }

    @Test func `the export in pieces is the canonical one`() async throws {
        let spool = Spool(directory: "/tmp")
        let whole = try Self.read { transaction in
            try ExportText.write(under: nil, in: &transaction) { spool.write($0) }
            return try StateExport.json(of: &transaction)
        }
        #expect(try await spool.text() == String(decoding: whole, as: UTF8.self))
    }

    @Test func `the tree shows names, branches and nothing that is deleted`() async throws {
        let spool = Spool(directory: "/tmp")
        try Self.read { try TreeDrawing(spool: spool).write(under: nil, in: &$0) }
        let expected = """
            └── n0  note  \(Self.ids[0])  (2)
                ├── n1  note  \(Self.ids[1])  (1)
                │   └── n3  note  \(Self.ids[3])
                └── n2  note  \(Self.ids[2])

            """
        #expect(try await spool.text() == expected)
    }

    @Test func `the tree as JSON nests the children`() async throws {
        let spool = Spool(directory: "/tmp")
        try Self.read { try TreeDrawing(spool: spool).writeJSON(under: nil, in: &$0) }
        guard case .array(let roots)? = JSON(parsing: try await spool.text().utf8),
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
            try LogReader.entries(of: LineIndex(rawValue: 0), in: &transaction)
        }
        #expect(entries.first?.json.canonicalText.contains("\"kind\":\"introduce\"") == true)
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
    static func entries(of line: LineIndex, in transaction: inout some StoreTransaction) throws -> [LogEntry.Source] {
        var end = ChainEnd(of: line, in: transaction)
        end.isHeld = true
        var reader = LogReader(chain: end, object: nil, device: DeviceID(bytes: .zero))
        var entries: [LogEntry] = []
        while !reader.isAtEnd { entries += try reader.nextEntries(in: &transaction) }
        return entries.compactMap(\.source)
    }
}

extension Spool {
    /// All of it as text.
    func text() async throws -> String {
        var bytes: [UInt8] = []
        let output = CommandOutput(format: OutputFormat(isJSON: false)) { piece in
            if case .data(let data) = piece { bytes += data }
        }
        try await self.drain(to: output)
        try await output.flush()
        return String(decoding: bytes, as: UTF8.self)
    }
}
