import CRDTCore
import MergeModel
import Testing

/// What the author of a change had seen, for changes that are long past.
struct ContextTests {
    /// How far each of the chains `a`, `b` and `d`, and the fork `c` that leaves `a` behind `a300`, was seen.
    private typealias View = [Character: Int]

    private static func number(_ name: String) -> Int { Int(name.dropFirst()) ?? 0 }

    /// Chains of several hundred changes that name each other's now and then.
    private static func sample() -> (TreeSample, views: [String: View]) {
        var sample = TreeSample()
        var views: [String: View] = ["a1": [:], "b1": [:], "d1": [:]]
        sample.open("a1", device: 1)
        sample.open("b1", device: 2)
        sample.open("d1", device: 3)
        func write(_ name: String, after previous: String, saw seen: [String] = []) {
            sample.write(name, after: previous, saw: seen)
            var view = views[previous] ?? [:]
            for other in [previous] + seen {
                view[Character(String(other.prefix(1))), default: 0].formMaximum(self.number(other))
                if other.hasPrefix("c") { view["a", default: 0].formMaximum(300) }
            }
            views[name] = view
        }
        for number in 2...700 {
            write("a\(number)", after: "a\(number - 1)", saw: number % 37 == 0 ? ["b\(number - 1)"] : [])
            write("b\(number)", after: "b\(number - 1)", saw: number % 101 == 0 ? ["a\(number - 1)"] : [])
        }
        for number in 301...620 {
            // The fork sees the other one, too.
            let seen = [400: ["a500"], 450: ["a600", "b650"]][number] ?? []
            write("c\(number)", after: number == 301 ? "a300" : "c\(number - 1)", saw: seen)
        }
        write("d2", after: "d1", saw: ["c400", "a310"])
        return (sample, views)
    }

    @Test(arguments: [false, true])
    func `contexts are right at, before and behind checkpoints, whichever fork came first`(_ branchFirst: Bool) throws {
        let (sample, views) = Self.sample()
        let a = (1...700).map { "a\($0)" }
        let b = (1...700).map { "b\($0)" }
        let c = (301...620).map { "c\($0)" }
        let paths = branchFirst ? [a.prefix(300) + c, a[300...], b[...]] : [b[...], a[...], c[...]]
        let store = try SampleStore()
        for path in paths + [["d1", "d2"]] {
            try store.receive([sample.history.sealed(path.map { sample[$0] })])
        }
        #expect(try store.waits().isEmpty)
        #expect(try store.read { $0.segmentCount } == 4)
        var probes: [String] = []
        let numbers = [
            1, 36, 37, 100, 255, 256, 257, 299, 300, 301, 302, 310, 311, 399, 400, 401, 449, 450, 499, 500, 501, 511,
            512, 513, 600, 601, 619, 620, 650, 651, 700,
        ]
        for number in numbers {
            probes += ["a\(number)", "b\(number)", "c\(number)", "d\(number)"].filter { views[$0] != nil }
        }
        let places = try probes.map { try #require(try store.place(sample[$0])) }
        for (name, place) in zip(probes, places) {
            let context = try store.read { transaction throws(StoreError) in try transaction.context(at: place) }
            let ordinal = ChainOrdinal(sequence: place.sequence, index: 0)
            let view = CausalContext(seen: context, author: place.segment, ordinal: ordinal)
            let expected = views[name] ?? [:]
            for (other, otherPlace) in zip(probes, places) {
                let isSeen = Self.number(other) <= expected[Character(String(other.prefix(1)))] ?? 0
                let covered = view.covers(otherPlace.segment, ChainOrdinal(sequence: otherPlace.sequence, index: 0))
                #expect(covered == isSeen, "\(name) and \(other)")
            }
        }
    }
}

extension Int {
    fileprivate mutating func formMaximum(_ other: Int) { self = Swift.max(self, other) }
}
