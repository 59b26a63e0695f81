import Testing

@testable import CRDTCore
@testable import MergeModel

struct RestampTableTests {
    private func record(_ replica: UInt64, _ first: UInt64, _ last: UInt64) -> RestampRecord {
        let id = ReplicaID(bytes: Bytes16(high: replica, low: 0))
        let restamp = Restamp(replica: id, firstSequence: first, lastSequence: last, lastHash: .zero)
        return RestampRecord(restamp: restamp, at: .zero, author: SegmentIndex(rawValue: 0))
    }

    @Test func `records are found by where they end, in few sequences and in many`() {
        var random = SplitMix64(seed: 1)
        var table = RestampTable()
        var all: [RestampRecord] = []
        for _ in 0..<200 {
            let last = 1 + UInt64(random.below(60))
            let record = self.record(UInt64(random.below(3)), 1 + UInt64(random.below(Int(last))), last)
            #expect(table.contains(record) == all.contains(record))
            if table.contains(record) { continue }
            table.add(record)
            all.append(record)
        }
        for (low, high) in [(1, 1), (5, 9), (1, 60), (20, 1 << 40)] as [(UInt64, UInt64)] {
            for replica in 0..<4 as Range<UInt64> {
                let id = ReplicaID(bytes: Bytes16(high: replica, low: 0))
                let expected = all.filter { $0.restamp.replica == id && (low...high).contains($0.restamp.lastSequence) }
                #expect(Set(table.records(of: id, endingIn: low...high)) == Set(expected))
                #expect(table.hasAny(of: id) == (replica < 3))
            }
        }
        for record in all.reversed() { table.removeLast(record) }
        #expect(!table.hasAny(of: all[0].restamp.replica))
        #expect(!table.contains(all[0]))
    }
}
