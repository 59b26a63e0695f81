import CRDTCore
import MergeModel
import Testing

@Suite struct HybridClockTests {
    @Test func `stamps rise whatever the wall clock does`() {
        for seed in Seeds.range(from: 1, count: 50) {
            var random = SplitMix64(seed: seed)
            var clock = HybridClock()
            var previous = Stamp.zero
            for _ in 0..<200 {
                let wall = WallTime(milliseconds: random.chance(5) ? 0 : random.next() >> UInt64(17 + random.below(40)))
                if random.chance(20) {
                    let seen = Stamp(milliseconds: random.next() >> 20)
                    clock.observe(seen)
                    previous = max(previous, seen)
                }
                // A restart keeps nothing but the last stamp.
                if random.chance(10) { clock = HybridClock(last: clock.last) }
                let next = clock.next(at: wall) ?? .zero
                #expect(next > previous, "PEERD_SEED=\(seed)")
                previous = next
            }
        }
    }

    @Test func `a stamp follows the wall clock when that is ahead`() {
        var clock = HybridClock()
        let stamps = [5, 5, 4, 6].map { clock.next(at: WallTime(milliseconds: $0))?.rawValue }
        #expect(stamps == [5 << 16, 5 << 16 + 1, 5 << 16 + 2, 6 << 16])
    }

    @Test func `more than 65,536 stamps in a millisecond run on into the next`() {
        var clock = HybridClock(last: Stamp(rawValue: 5 << 16 + 0xffff))
        let next = clock.next(at: WallTime(milliseconds: 5))
        #expect(next == Stamp(milliseconds: 6))
    }

    @Test func `after the last stamp of all there is none, and no overflow`() {
        var clock = HybridClock(last: Stamp(rawValue: .max - 1))
        let stamps = [.max, .max, 0].map { clock.next(at: WallTime(milliseconds: $0))?.rawValue }
        #expect(stamps == [.max, nil, nil])
        #expect(clock.last == Stamp(rawValue: .max))
        #expect(Stamp(milliseconds: .max).milliseconds == Stamp.millisecondsMax)
        #expect(WallTime(milliseconds: .max).advanced(byMilliseconds: 1).milliseconds == .max)
    }

    @Test func `a change is held if and only if it is more than ten minutes ahead`() {
        let now = WallTime(milliseconds: 1_000_000)
        #expect(!HybridClock.isHeld(Stamp(milliseconds: 1_600_000), at: now))
        #expect(HybridClock.isHeld(Stamp(milliseconds: 1_600_001), at: now))
        #expect(!HybridClock.isHeld(Stamp(rawValue: .max), at: WallTime(milliseconds: .max)))
        #expect(HybridClock.isHeld(Stamp(rawValue: .max), at: now))
    }

    @Test func `a held change is due at the first moment it is not held`() {
        for milliseconds in [0, 1, 600_000, 600_001, 1_000_000_000_000, Stamp.millisecondsMax] {
            let stamp = Stamp(milliseconds: milliseconds)
            let due = HybridClock.dueTime(of: stamp)
            #expect(!HybridClock.isHeld(stamp, at: due))
            guard due.milliseconds > 0 else { continue }
            #expect(HybridClock.isHeld(stamp, at: WallTime(milliseconds: due.milliseconds - 1)))
        }
    }
}
