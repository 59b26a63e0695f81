import CRDTCore
import MergeModel
import Testing

/// A context inside a store, whether most of its lines or few of very many were seen.
struct SeenLinesTests {
    @Test(arguments: [40, 300, 5_000] as [UInt64])
    func `what was raised is found, in whichever order it came`(lineCount: UInt64) throws {
        var random = SplitMix64(seed: lineCount)
        for count in [1, 3, 70, 400, 2_000] {
            let raises = (0..<count).map { _ in
                (line: UInt32(random.next() % lineCount), sequence: random.next() % 50 + 1)
            }
            var expected: [UInt32: UInt64] = [:]
            var seen = SeenLines()
            for (line, sequence) in raises {
                let isNews = sequence > expected[line] ?? 0
                let wasNews = seen.raise(LineIndex(rawValue: line), to: sequence)
                #expect(wasNews == isNews)
                expected[line] = max(expected[line] ?? 0, sequence)
            }
            for line in 0..<UInt32(lineCount) + 3 {
                #expect(seen[LineIndex(rawValue: line)] == expected[line] ?? 0)
            }
            #expect(seen.all.map(\.line.rawValue) == expected.keys.sorted())
            #expect(seen.all.map(\.sequence) == expected.sorted { $0.key < $1.key }.map(\.value))
            #expect(seen.endOfLines == expected.keys.max().map { Int($0) + 1 })
            #expect(!seen.isEmpty)
            var other = SeenLines()
            for (line, sequence) in raises.reversed() { _ = other.raise(LineIndex(rawValue: line), to: sequence) }
            #expect(other == seen)
        }
    }

    @Test(arguments: [40, 300, 5_000] as [UInt64])
    func `what one has seen beyond another is found from any line on`(lineCount: UInt64) throws {
        var random = SplitMix64(seed: lineCount + 1)
        for round in 0..<12 {
            var common = SeenLines()
            for _ in 0..<[0, 30, 700][round % 3] {
                _ = common.raise(LineIndex(rawValue: UInt32(random.next() % lineCount)), to: random.next() % 20 + 1)
            }
            // Copies that share parts, and one that shares none.
            var (left, right) = (common, round % 2 == 0 ? common : SeenLines())
            for _ in 0..<round {
                _ = left.raise(LineIndex(rawValue: UInt32(random.next() % lineCount)), to: random.next() % 50 + 1)
                _ = right.raise(LineIndex(rawValue: UInt32(random.next() % lineCount)), to: random.next() % 50 + 1)
            }
            for (seen, other) in [(left, right), (right, left), (left, left), (left, SeenLines())] {
                let expected = seen.all.filter { $0.sequence > other[$0.line] }.map(\.line.rawValue)
                var found: [UInt32] = []
                var next = seen.next(from: LineIndex(rawValue: 0), beyond: other)
                while let line = next {
                    found.append(line.rawValue)
                    next = seen.next(from: LineIndex(rawValue: line.rawValue + 1), beyond: other)
                }
                #expect(found == expected)
            }
        }
    }

    @Test func `nothing was seen at first`() {
        let seen = SeenLines()
        #expect(seen.isEmpty && seen.all.isEmpty && seen.endOfLines == 0)
        #expect(seen == [] && seen == [0, 0])
        #expect(seen[LineIndex(rawValue: .max)] == 0)
    }

    @Test func `the last line that there can be is one of few`() {
        var seen: SeenLines = [1, 2]
        let isNews = seen.raise(LineIndex(rawValue: .max - 1), to: 7)
        #expect(isNews)
        #expect(seen.endOfLines == Int(UInt32.max))
        #expect(seen.all.map(\.sequence) == [1, 2, 7])
    }
}
