import CRDTCore
import MergeModel
import Testing

/// A context inside a store, whether most of its segments or few of very many were seen.
struct SeenSegmentsTests {
    @Test(arguments: [40, 300, 5_000] as [UInt64])
    func `what was raised is found, in whichever order it came`(segmentCount: UInt64) throws {
        var random = SplitMix64(seed: segmentCount)
        for count in [1, 3, 70, 400, 2_000] {
            let raises = (0..<count).map { _ in
                (segment: UInt32(random.next() % segmentCount), sequence: random.next() % 50 + 1)
            }
            var expected: [UInt32: UInt64] = [:]
            var seen = SeenSegments()
            for (segment, sequence) in raises {
                let isNews = sequence > expected[segment] ?? 0
                let wasNews = seen.raise(SegmentIndex(rawValue: segment), to: sequence)
                #expect(wasNews == isNews)
                expected[segment] = max(expected[segment] ?? 0, sequence)
            }
            for segment in 0..<UInt32(segmentCount) + 3 {
                #expect(seen[SegmentIndex(rawValue: segment)] == expected[segment] ?? 0)
            }
            #expect(seen.all.map(\.segment.rawValue) == expected.keys.sorted())
            #expect(seen.all.map(\.sequence) == expected.sorted { $0.key < $1.key }.map(\.value))
            #expect(seen.endOfLines == expected.keys.max().map { Int($0) + 1 })
            #expect(!seen.isEmpty)
            var other = SeenSegments()
            for (segment, sequence) in raises.reversed() {
                _ = other.raise(SegmentIndex(rawValue: segment), to: sequence)
            }
            #expect(other == seen)
        }
    }

    @Test(arguments: [40, 300, 5_000] as [UInt64])
    func `what one has seen beyond another is found from any segment on`(segmentCount: UInt64) throws {
        var random = SplitMix64(seed: segmentCount + 1)
        for round in 0..<12 {
            var common = SeenSegments()
            for _ in 0..<[0, 30, 700][round % 3] {
                _ = common.raise(
                    SegmentIndex(rawValue: UInt32(random.next() % segmentCount)),
                    to: random.next() % 20 + 1
                )
            }
            // Copies that share parts, and one that shares none.
            var (left, right) = (common, round % 2 == 0 ? common : SeenSegments())
            for _ in 0..<round {
                _ = left.raise(SegmentIndex(rawValue: UInt32(random.next() % segmentCount)), to: random.next() % 50 + 1)
                _ = right.raise(
                    SegmentIndex(rawValue: UInt32(random.next() % segmentCount)),
                    to: random.next() % 50 + 1
                )
            }
            for (seen, other) in [(left, right), (right, left), (left, left), (left, SeenSegments())] {
                let expected = seen.all.filter { $0.sequence > other[$0.segment] }.map(\.segment.rawValue)
                var found: [UInt32] = []
                var next = seen.next(from: SegmentIndex(rawValue: 0), beyond: other)
                while let segment = next {
                    found.append(segment.rawValue)
                    next = seen.next(from: SegmentIndex(rawValue: segment.rawValue + 1), beyond: other)
                }
                #expect(found == expected)
            }
        }
    }

    @Test func `nothing was seen at first`() {
        let seen = SeenSegments()
        #expect(seen.isEmpty && seen.all.isEmpty && seen.endOfLines == 0)
        #expect(seen == [] && seen == [0, 0])
        #expect(seen[SegmentIndex(rawValue: .max)] == 0)
    }

    @Test func `the last segment that there can be is one of few`() {
        var seen: SeenSegments = [1, 2]
        let isNews = seen.raise(SegmentIndex(rawValue: .max - 1), to: 7)
        #expect(isNews)
        #expect(seen.endOfLines == Int(UInt32.max))
        #expect(seen.all.map(\.sequence) == [1, 2, 7])
    }
}
