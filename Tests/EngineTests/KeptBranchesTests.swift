import CRDTCore
import Testing

@testable import Engine

/// Branches of other devices' chains that are kept for them.
struct KeptBranchesTests {
    private static let replica = ReplicaID(bytes: Bytes16(high: 1, low: 2))

    /// To refuse to read them would end each session with whoever asks for them.
    @Test func `what cannot be read any more is as if it had never been kept`() throws {
        var store = MemoryStore(origin: .zero)
        try store.write { transaction throws(StoreError) in
            transaction.setFact(NodeFact.branchEnd(Self.replica, fork: 3), [0xff])
            transaction.setFact(NodeFact.branchPart(Self.replica, fork: 3, from: 3), [1, 2, 3])
            let end = try KeptBranches.end(of: Self.replica, fork: 3, in: &transaction)
            #expect(end?.sequence == nil)
            #expect(try KeptBranches.part(of: Self.replica, fork: 3, from: 3, in: &transaction) == nil)
        }
    }
}
