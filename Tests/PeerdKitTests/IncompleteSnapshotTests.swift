import CRDTCore
import Engine
import MergeModel
import Testing

@testable import PeerdKit

/// Snapshots that were taken while a value was missing.
struct IncompleteSnapshotTests {
    private let object = ObjectID(bytes: Bytes16(high: 7, low: 7))
    private static let device = TestDevice(number: 1)
    private static let nonce = Bytes16(high: 1, low: 1)

    /// A chain that makes an object and writes to it; nobody has the content of the last of these writes.
    private func chain(_ edits: [Edit]) -> (whole: VerifiedRun, redacted: VerifiedRun)? {
        let replica = Self.device.replica(nonce: Self.nonce)
        var builder = RunBuilder(replica: replica, firstSequence: 1)
        let secret = [UInt8](repeating: 1, count: 16)
        builder.beginChange(stamp: Stamp(milliseconds: 1_000), context: [], blinding: secret)
        builder.append(.introduce(Self.device.introduction(nonce: Self.nonce)))
        builder.append(.create(self.object, type: "note", kind: ""))
        for edit in edits { builder.append(edit) }
        let whole = VerifiedRun.sealUnchecked(
            builder,
            previous: ChainHash.origin(TestDevice.workspace),
            TestDevice.cryptography
        ) { Self.device.sign($0) }
        let last = whole.run.operations.count - 1
        guard let redacted = whole.run.erasing([last], TestDevice.cryptography)?.run else { return nil }
        return (whole, whole.replacingRun(with: redacted))
    }

    private func node() -> TestNode<MemoryStore> {
        TestNode(
            store: MemoryStore(origin: ChainHash.origin(TestDevice.workspace)),
            objects: [self.object],
            now: WallTime(milliseconds: 10_000)
        )
    }

    @Test func `a restore leaves what the snapshot could not have as it is, and counts it`() throws {
        let edits: [Edit] = [
            .set(self.object, name: "text", value: .string("kept")),
            .set(self.object, name: "title", value: .string("title")),
        ]
        let chain = try #require(self.chain(edits))
        let node = self.node()
        try node.receive([chain.redacted])
        let state = { (body: (inout MemoryStore.Transaction) throws -> Void) in
            var failure: (any Error)?
            try node.read { transaction throws(StoreError) in
                do { try body(&transaction) } catch { failure = error }
            }
            if let failure { throw failure }
        }
        var taken: SnapshotText?
        try state { taken = try SnapshotText.take(of: self.object, name: nil, time: 2_000, in: &$0) }
        let snapshot = try #require(taken)
        #expect(String(decoding: snapshot.bytes, as: UTF8.self).contains(#""missing":["title"]"#))
        // A file of it says the same.
        let content = try SnapshotContent(parsing: snapshot.bytes)
        #expect(content.text.bytes == snapshot.bytes)
        try state {
            let plan = try RestorePlan(content, in: &$0)
            #expect(plan.steps.isEmpty && plan.missingPropertyCount == 1)
        }
        #expect(try node.repair(from: [chain.whole]) == 1)
        try state {
            #expect(try SnapshotText.take(of: self.object, name: nil, time: 2_000, in: &$0)?.bytes != snapshot.bytes)
            let plan = try RestorePlan(content, in: &$0)
            #expect(plan.steps.isEmpty && plan.missingPropertyCount == 1)
        }
    }

    @Test func `a restore takes away what the snapshot had not, also if it is missing`() throws {
        let chain = try #require(self.chain([.set(self.object, name: "title", value: .string("title"))]))
        let node = self.node()
        try node.receive([chain.redacted])
        let element = #"{"id":"ID","properties":{}}"#
        let text = #"{"created_at":1,"format":"peerd-snapshot-1","object":"ID","objects":[\#(element)]}"#
        let content = try SnapshotContent(parsing: Array(text.replacing("ID", with: "\(self.object)").utf8))
        let steps = try node.read { transaction throws(StoreError) in
            (try? RestorePlan(content, in: &transaction))?.steps.map(\.step)
        }
        #expect(steps == [.unset(self.object, name: "title")])
    }
}
