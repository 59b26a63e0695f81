import CRDTCore
import Testing

/// P17: of any two writes one comes first, whoever compares them.
struct WriteOrderTests {
    /// The same replicas under other numbers, as another store has them.
    private static let ids: [[UInt64]] = [[30, 10, 20], [10, 20, 30]]

    /// Writes of three replicas with few stamps and places, so that ties are the rule.
    private func writes(_ ids: [UInt64]) -> [WriteReference] {
        var writes: [WriteReference] = []
        for id in [10, 20, 30] as [UInt64] {
            guard let number = ids.firstIndex(of: id) else { continue }
            let replica = ReplicaIndex(rawValue: UInt32(number))
            for stamp in 1...3 as ClosedRange<UInt64> {
                for sequence in 1...2 as ClosedRange<UInt64> {
                    for index in 0...1 as ClosedRange<UInt32> {
                        writes.append(
                            WriteReference(
                                stamp: Stamp(rawValue: stamp),
                                replica: replica,
                                sequence: sequence,
                                index: index
                            )
                        )
                    }
                }
            }
        }
        return writes
    }

    @Test func `writes are in a strict total order, whatever numbers their replicas have`() {
        var orders: [[[Bool]]] = []
        for ids in Self.ids {
            let writes = self.writes(ids)
            let table = writes.map { left in
                writes.map { right in
                    WriteOrder.precedes(left, right) { index in
                        ReplicaID(bytes: Bytes16(high: 0, low: ids[Int(index.rawValue)]))
                    }
                }
            }
            for left in writes.indices {
                for right in writes.indices {
                    #expect((left == right) == (table[left][right] == table[right][left]))
                    #expect(left != right || !table[left][right])
                    for third in writes.indices where table[left][right] && table[right][third] {
                        #expect(table[left][third])
                    }
                }
            }
            orders.append(table)
        }
        #expect(orders[0] == orders[1])
    }
}
