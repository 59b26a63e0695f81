import CRDTCore
import MergeModel
import Testing

/// What is restamped of a chain with forks, against the set of its changes.
struct RestampedChainTests {
    /// A chain in which every change may have several that follow it.
    private static func sample(_ random: inout SplitMix64) -> (sample: TreeSample, names: [String]) {
        var sample = TreeSample()
        sample.open("0", device: 1)
        var names = ["0"]
        for number in 1..<40 {
            // Mostly the newest goes on, so that long segments and forks of forks come about.
            let previous = random.chance(60) ? names[names.count - 1] : random.pick(names)
            // Stamps mostly rise; those of a liar do what they like.
            let stamp = random.chance(80) ? UInt64(number) : UInt64(random.below(40))
            sample.write("\(number)", after: previous, at: stamp)
            names.append("\(number)")
        }
        return (sample, names)
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `each change that is stamped later comes in once, whatever stretches cover it`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let (sample, names) = Self.sample(&random)
        let store = try sample.store(sample.order(of: names, &random))
        let changes = names.map { sample[$0] }
        let places = try changes.map { try #require(try store.place($0)) }
        var chain = RestampedChain()
        var covered: Set<SegmentPoint> = []
        for _ in 0..<60 {
            let last = random.below(changes.count)
            let first = 1 + UInt64(random.below(Int(changes[last].sequence)))
            let stamp = Stamp(rawValue: UInt64(random.below(random.chance(50) ? 40 : 1)))
            let path = sample.history.path(to: changes[last].hash).reversed()
                .prefix { $0.sequence >= first && $0.stamp > stamp }
            let end = changes[last]
            let restamp = Restamp(
                replica: end.replica,
                firstSequence: first,
                lastSequence: end.sequence,
                lastHash: end.hash
            )
            let expected = try Set(path.map { try #require(try store.place($0)) }).subtracting(covered)
            let news = try store.read { transaction throws(StoreError) in
                try chain.cover(from: places[last], by: StampedRestamp(restamp, at: stamp), in: &transaction)
            }
            let found = news.flatMap { piece in
                piece.sequences.map { SegmentPoint(segment: piece.segment, sequence: $0) }
            }
            #expect(Set(found) == expected)
            #expect(found.count == expected.count)
            covered.formUnion(expected)
            for place in places { #expect(chain.contains(place) == covered.contains(place)) }
        }
    }
}
