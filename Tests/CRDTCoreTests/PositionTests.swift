import CRDTCore
import MergeModel
import Testing

@Suite struct PositionTests {
    @Test func `ten thousand appended siblings have short positions in order`() {
        var last: Position?
        for count in 0..<10_000 {
            let next = Position.between(last, nil)
            if let last, !(last < next) { Issue.record("not ascending at \(count)") }
            if next.bytes.count > 6 { Issue.record("\(next.bytes.count) bytes at \(count)") }
            last = next
        }
    }

    @Test func `a thousand siblings put in front have short positions in order`() {
        var first: Position?
        for count in 0..<1_000 {
            let next = Position.between(nil, first)
            if let first, !(next < first) { Issue.record("not descending at \(count)") }
            if next.bytes.count > 6 { Issue.record("\(next.bytes.count) bytes at \(count)") }
            first = next
        }
    }

    @Test func `there is always room between two positions`() {
        for seed in Seeds.range(from: 1, count: 20) {
            var random = SplitMix64(seed: seed)
            var all: [Position] = []
            for _ in 0..<300 {
                // Often at the same place, so that the positions there become long.
                let place = random.chance(50) ? all.count / 2 : random.below(all.count + 1)
                let lower = place > 0 ? all[place - 1] : nil
                let upper = place < all.count ? all[place] : nil
                let next = Position.between(lower, upper)
                #expect(lower.map { $0 < next } ?? true, "PEERD_SEED=\(seed) \(all.map(\.bytes))")
                #expect(upper.map { next < $0 } ?? true, "PEERD_SEED=\(seed) \(all.map(\.bytes))")
                all.insert(next, at: place)
            }
        }
    }

    @Test func `two hundred inserts at one place stay well under the limit`() {
        for goesLeft in [true, false] {
            var lower = Position.between(nil, nil)
            var upper = Position.between(lower, nil)
            for _ in 0..<200 {
                let next = Position.between(lower, upper)
                #expect(lower < next && next < upper)
                if goesLeft { upper = next } else { lower = next }
                #expect(next.bytes.count < Limits.positionByteCountMax / 4)
            }
        }
    }

    @Test func `positions of other origin are never a trap`() {
        for seed in Seeds.range(from: 1, count: 500) {
            var random = SplitMix64(seed: seed)
            let alphabet = Array("0aAzZV!~".utf8) + [0, 255]
            func drawn() -> Position? {
                guard random.chance(85) else { return nil }
                return Position(bytes: (0..<random.below(6)).map { _ in random.pick(alphabet) })
            }
            let lower = drawn()
            let upper = drawn()
            let between = Position.between(lower, upper)
            #expect(lower.map { $0 < between } ?? true, "PEERD_SEED=\(seed)")
        }
    }

    @Test func `the initial position is before all others`() {
        #expect(Position.initial < Position.between(nil, nil))
        #expect(Position.initial < Position.between(.initial, nil))
        let first = Position.between(nil, nil)
        #expect(Position.between(.initial, first) < first)
    }
}
