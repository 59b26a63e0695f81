import CRDTCore
import MergeModel
import Testing

/// P17: of any two writes one comes first, whoever compares them.
struct WriteOrderTests {
    private static let names = ["a1", "a2", "a3", "a2'", "a3'", "a3''", "a1'", "a2\"", "b1", "b2"]

    /// Two chains, one of which forks at its beginning, after its first change, and on a fork.
    private static let sample: TreeSample = {
        var sample = TreeSample()
        sample.open("a1", device: 1)
        sample.write("a2", after: "a1")
        sample.write("a3", after: "a2")
        sample.write("a2'", after: "a1")
        sample.write("a3'", after: "a2'")
        sample.write("a3''", after: "a2'")
        sample.open("a1'", device: 1)
        sample.write("a2\"", after: "a1'")
        sample.open("b1", device: 2)
        sample.write("b2", after: "b1")
        return sample
    }()

    private struct Write {
        var name: String
        var stamp: UInt64
        var index: UInt32
    }

    /// With few stamps and places, so that ties are the rule.
    private static let writes = Self.names.flatMap { name in
        (1...2).flatMap { stamp in (0...1).map { Write(name: name, stamp: stamp, index: $0) } }
    }

    /// The rule by its words.
    private func precedes(_ left: Write, _ right: Write) -> Bool {
        let (one, other) = (Self.sample[left.name], Self.sample[right.name])
        if left.stamp != right.stamp { return left.stamp < right.stamp }
        if one.replica != other.replica { return one.replica < other.replica }
        if one.sequence != other.sequence { return one.sequence < other.sequence }
        let paths = [one, other].map { Self.sample.history.path(to: $0.hash) }
        let parting = zip(paths[0], paths[1]).first { $0.hash != $1.hash }
        return parting.map { $0.hash < $1.hash } ?? (left.index < right.index)
    }

    @Test func `writes are in one strict total order, whichever fork came first`() throws {
        let expected = Self.writes.map { left in Self.writes.map { self.precedes(left, $0) } }
        var random = SplitMix64(seed: 1)
        for _ in 0..<20 {
            let order = Self.sample.order(of: Self.names, &random)
            let store = try Self.sample.store(order)
            let references = try Self.writes.map { write in
                let place = try #require(try store.place(Self.sample[write.name]))
                let stamp = Stamp(rawValue: write.stamp)
                return WriteReference(
                    stamp: stamp,
                    segment: place.segment,
                    sequence: place.sequence,
                    index: write.index
                )
            }
            let table = try store.read { transaction in
                references.map { left in references.map { WriteOrder.precedes(left, $0, transaction) } }
            }
            #expect(table == expected, "\(order)")
        }
        for left in expected.indices {
            for right in expected.indices {
                #expect((left == right) == (expected[left][right] == expected[right][left]))
                #expect(left != right || !expected[left][right])
                let isTransitive = expected.indices.allSatisfy { third in
                    !expected[left][right] || !expected[right][third] || expected[left][third]
                }
                #expect(isTransitive)
            }
        }
    }
}
