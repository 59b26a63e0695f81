import CRDTCore
import Engine
import PeerCrypto
import PeerdKit
import Persistence
import Testing

@testable import peerd

/// Children that are read in pages, beside all of them at once.
@Suite struct ChildPagesTests {
    private static let now = ClockReading(wall: WallTime(milliseconds: 1_800_000_000_000), monotonicMilliseconds: 1)
    private static let root = ObjectID(bytes: Bytes16(high: 1, low: 0))

    private static func steps(_ count: Int) -> [Transaction.Step] {
        [.create(.init(id: .given(self.root), type: "folder"))]
            + (0..<count).map { number in
                let id = ObjectID(bytes: Bytes16(high: 2, low: UInt64(number * 7_919 % 10_007)))
                return .create(.init(id: .given(id), type: "note", parent: self.root))
            }
    }

    private func check(_ transaction: inout some StoreTransaction, count: Int) throws {
        for parent in [try transaction.existingObjectIndex(of: Self.root), nil] {
            let all = try transaction.children(of: parent)
            #expect(all.count == (parent == nil ? 1 : count))
            var pages = ChildPages(of: parent)
            for (number, expected) in all.enumerated() {
                let (child, isLast) = try #require(try pages.next(in: &transaction))
                #expect(child == expected && isLast == (number == all.count - 1))
            }
            #expect(try pages.next(in: &transaction) == nil)
        }
        #expect(try transaction.visibleObjectCount() == count + 1)
        let all = try transaction.visibleObjects()
        var found: [ObjectIndex] = []
        while let page = try found.last.map({ try transaction.object($0).id }).map({
            try transaction.visibleObjects(after: $0, limit: 100)
        }) ?? transaction.visibleObjects(after: nil, limit: 100) as [ObjectIndex]?, !page.isEmpty {
            found += page
        }
        #expect(found == all)
    }

    private func check<Store: NodeStore & ~Copyable>(_ store: consuming Store, count: Int) throws {
        var entropy = try TemporaryDirectory.entropy()
        let founded = DeviceIdentity.founding(name: "laptop", entropy: &entropy)
        guard let identity = founded else { throw CommandFailure(.failure, "no identity") }
        var node = try Node(
            store: store,
            identity: identity,
            configuration: NodeConfiguration(),
            entropy: entropy,
            at: Self.now
        )
        let request = WriteRequest(id: RequestID(rawValue: 1), transaction: Transaction(Self.steps(count)))
        _ = node.handle(.write([request]), at: Self.now)
        let outcome = try node.read { transaction throws(StoreError) -> Result<Void, any Error> in
            Result { try self.check(&transaction, count: count) }
        }
        try outcome.get()
    }

    @Test(arguments: [0, 1, 2, 255, 256, 257, 511, 512, 513, 1_000])
    func `pages of children are all of them, in their order`(count: Int) async throws {
        try self.check(MemoryStore(origin: .zero), count: count)
        try await TemporaryDirectory.with { directory in
            try self.check(try SQLiteStore(directory: directory + "/w", origin: .zero), count: count)
        }
    }
}
