import CRDTCore
import MergeModel
import Persistence
import Testing

/// What changes had seen, where that is much: contexts with many entries, inherited by forks of forks.
@Suite struct WideContextTests {
    /// Changes of many chains, and what each had seen, as plain sets.
    private struct Growth {
        private(set) var runs: [VerifiedRun] = []
        /// Of each change, a bit for each change that it had seen or extends.
        private(set) var seen: [[UInt64]] = []
        private(set) var points: [Point] = []
        private(set) var hashes: [Hash256] = []
        /// Each change with those of its chain before it.
        private var chains: [[UInt64]] = []
        private var random: SplitMix64
        private let wordCount = 32

        /// A chain, and its last change.
        struct Tip {
            var author: Author
            var last: Int?
        }

        init(seed: UInt64) { self.random = SplitMix64(seed: seed) }

        mutating func number(below limit: Int) -> Int { Int(self.random.next() % UInt64(limit)) }

        mutating func write(on tip: inout Tip, seeing others: [Int]) {
            let own = self.runs.count
            let named = others.filter { self.points[$0].replica != tip.author.replica }
            // Of one chain a change names one fork.
            let byReplica = Dictionary(named.map { (self.points[$0].replica, $0) }, uniquingKeysWith: max)
            let edits = [Edit.set(object(UInt64(own % 7)), name: "n", value: .int(Int64(own)))]
            let run = tip.author.run([edits], context: byReplica.values.map { self.points[$0] }.sorted())
            let previous = tip.last
            var chain = previous.map { self.chains[$0] } ?? Array(repeating: 0, count: self.wordCount)
            var seen = previous.map { self.seen[$0] } ?? chain
            for other in byReplica.values { for word in seen.indices { seen[word] |= self.chains[other][word] } }
            chain[own / 64] |= 1 << UInt64(own % 64)
            seen[own / 64] |= 1 << UInt64(own % 64)
            tip.last = own
            self.runs.append(run)
            self.seen.append(seen)
            self.chains.append(chain)
            self.points.append(tip.author.point)
            self.hashes.append(tip.author.head)
        }

        mutating func some(_ count: Int) -> [Int] {
            (0..<min(count, self.runs.count)).map { _ in self.number(below: self.runs.count) }
        }

        func hasSeen(_ change: Int, _ other: Int) -> Bool {
            self.seen[change][other / 64] >> UInt64(other % 64) & 1 == 1
        }
    }

    private static func growth(seed: UInt64) -> Growth {
        var growth = Growth(seed: seed)
        var tips: [Growth.Tip] = []
        for number in 1...70 {
            var tip = Growth.Tip(author: Author(number: UInt64(number)))
            growth.write(on: &tip, seeing: growth.some(growth.number(below: 4)))
            tips.append(tip)
        }
        // Few chains grow long, and see now little and now much. Each change may become a place where forks leave.
        var former: [Growth.Tip] = tips
        for _ in 0..<900 {
            let position = growth.number(below: 5)
            let breadth = [0, 0, 1, 1, 3, 90][growth.number(below: 6)]
            growth.write(on: &tips[position], seeing: growth.some(breadth))
            former.append(tips[position])
        }
        for _ in 0..<120 {
            var fork = former[growth.number(below: former.count)]
            for _ in 0...growth.number(below: 4) {
                growth.write(on: &fork, seeing: growth.some(growth.number(below: 3)))
            }
            former.append(fork)
        }
        // Each fork leaves the one before, which goes on.
        var trunk = tips[0]
        for _ in 0..<80 {
            var fork = trunk
            growth.write(on: &fork, seeing: growth.some(1))
            growth.write(on: &trunk, seeing: [])
            trunk = fork
        }
        return growth
    }

    private func check(_ store: inout SQLiteStoreHandle, _ growth: Growth, _ when: String) throws {
        try store.write { transaction throws(StoreError) in
            var places: [SegmentPoint] = []
            for (point, hash) in zip(growth.points, growth.hashes) {
                let place = try transaction.place(of: point.replica, sequence: point.sequence, hash: hash)
                places.append(place ?? SegmentPoint(segment: SegmentIndex(rawValue: 0), sequence: 0))
            }
            for change in places.indices {
                let place = places[change]
                let seen = try transaction.context(at: place)
                let ordinal = ChainOrdinal(sequence: place.sequence, index: 0)
                let context = CausalContext(seen: seen, author: place.segment, ordinal: ordinal)
                let wrong = places.indices.first { other in
                    let otherOrdinal = ChainOrdinal(sequence: places[other].sequence, index: 0)
                    return other != change
                        && context.covers(places[other].segment, otherOrdinal) != growth.hasSeen(change, other)
                }
                #expect(wrong == nil, "\(when): what change \(change) had seen of \(wrong ?? 0)")
            }
        }
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `contexts are what was named, also in forks of forks and after opening again`(seed: UInt64) throws {
        let growth = Self.growth(seed: seed)
        let directory = try TemporaryDirectory()
        var store = try SQLiteStoreHandle(directory)
        // Now alone, now many at a time.
        var rest = growth.runs[...]
        var size = 1
        while !rest.isEmpty {
            #expect(try store.receive(Array(rest.prefix(size))).allSatisfy { $0 == .stored })
            rest = rest.dropFirst(size)
            size = size % 40 + 13
        }
        try self.check(&store, growth, "as they came")
        store.close()
        store = try SQLiteStoreHandle(directory)
        try self.check(&store, growth, "after opening")
        // What comes then builds upon what was read.
        var late = Growth.Tip(author: Author(number: 99))
        var more = growth
        more.write(on: &late, seeing: Array(growth.runs.indices.suffix(60)))
        for number in 0..<300 { more.write(on: &late, seeing: [number * 4]) }
        try store.receive(Array(more.runs.dropFirst(growth.runs.count)))
        try self.check(&store, more, "with what came later")
        store.close()
        store = try SQLiteStoreHandle(directory)
        try self.check(&store, more, "after opening again")
        store.close()
    }
}
