import CRDTCore
import MergeModel
import Testing

@Suite struct SiblingOrderTests {
    /// Siblings with names, so that their order can be compared.
    private struct Folder {
        var siblings: [(name: Int, position: Position)] = []
        var renewalCount = 0

        /// Inserts, and checks that the order stays.
        mutating func insert(_ name: Int, at place: Int) throws {
            let insertion = try #require(SiblingOrder.insertion(at: place, among: self.siblings.map(\.position)))
            self.renewalCount += insertion.renewed.count
            for renewal in insertion.renewed { self.siblings[renewal.place].position = renewal.position }
            self.siblings.insert((name, insertion.position), at: place)
        }

        var isInOrder: Bool {
            zip(self.siblings, self.siblings.dropFirst()).allSatisfy { $0.position < $1.position }
        }
        var byteCountMax: Int { self.siblings.map(\.position.bytes.count).max() ?? 0 }
    }

    @Test(arguments: [(front: 0, back: 1), (front: 1, back: 0), (front: 1, back: 1), (front: 30, back: 30)])
    func `four thousand insertions at one place keep positions short`(front: Int, back: Int) throws {
        var folder = Folder()
        for name in 0..<front + back { try folder.insert(name, at: name) }
        for name in 0..<4_000 {
            // Before the same sibling each time, or behind the same.
            try folder.insert(name, at: back > 0 ? folder.siblings.count - back : front)
        }
        #expect(folder.isInOrder)
        #expect(folder.byteCountMax <= Limits.positionByteCountKept)
        #expect(folder.renewalCount < 12_000)
    }

    @Test func `insertions at one place and another keep positions short`() throws {
        for seed in Seeds.range(from: 1, count: 10) {
            var random = SplitMix64(seed: seed)
            var folder = Folder()
            var place = 0
            for name in 0..<2_000 {
                if random.chance(5) { place = random.below(folder.siblings.count + 1) }
                try folder.insert(name, at: min(place + random.below(2), folder.siblings.count))
            }
            #expect(folder.isInOrder, "PEERD_SEED=\(seed)")
            #expect(folder.byteCountMax <= Limits.positionByteCountKept, "PEERD_SEED=\(seed)")
        }
    }

    @Test(arguments: [UInt8(ascii: "z"), UInt8(ascii: "Z"), 0, 255, UInt8(ascii: "A")])
    func `what others made long or strange is put in order`(byte: UInt8) throws {
        let strange = Position(bytes: Array(repeating: byte, count: Limits.positionByteCountMax))
        for place in 0...3 {
            var folder = Folder()
            folder.siblings = [(0, Position(bytes: Array("a0".utf8))), (1, strange)]
                .sorted { $0.position < $1.position }
            for name in 2..<200 { try folder.insert(name, at: min(place, folder.siblings.count)) }
            #expect(folder.isInOrder)
            #expect(folder.byteCountMax <= Limits.positionByteCountMax)
            let own = folder.siblings.filter { $0.name >= 2 }
            #expect(own.allSatisfy { $0.position.bytes.count <= Limits.positionByteCountKept })
        }
    }

    @Test(arguments: [2, 3, 10, 500, 9_000, 20_000])
    func `among siblings that share a position each place can be taken`(count: Int) throws {
        for shared in [Position.initial, Position(bytes: []), Position(bytes: Array("a0V".utf8))] {
            for place in [0, 1, count / 3, count - 1, count] {
                var folder = Folder()
                folder.siblings = (0..<count).map { ($0, shared) }
                try folder.insert(count, at: place)
                #expect(folder.siblings.firstIndex { $0.name == count } == place)
                // What stands beside the place is before it and behind it; farther siblings may share positions still.
                let positions = folder.siblings.map(\.position)
                #expect(zip(positions, positions.dropFirst()).allSatisfy { $0 <= $1 })
                #expect(place == 0 || positions[place - 1] < positions[place])
                #expect(place == count || positions[place] < positions[place + 1])
                #expect(folder.byteCountMax <= Limits.positionByteCountKept)
            }
        }
    }

    @Test func `more than can be put in order is refused, but for the end`() throws {
        // The last and the first positions that there are, ten thousand times.
        let last = Position(bytes: Array(repeating: 255, count: Limits.positionByteCountMax))
        let full = Array(repeating: last, count: 2 * SiblingOrder.renewedCountMax + 10)
        let insertion = try #require(SiblingOrder.insertion(at: full.count, among: full))
        #expect(insertion.position.bytes.count <= Limits.positionByteCountMax)
        #expect(insertion.renewed.isEmpty)
        #expect(SiblingOrder.insertion(at: full.count / 2, among: full) == nil)
        let first = try #require(SiblingOrder.insertion(at: 0, among: full))
        #expect(first.position < last && first.renewed.isEmpty)
        // Nothing comes before an empty position, and nothing behind so many that share it.
        let empty = Array(repeating: Position(bytes: []), count: SiblingOrder.renewedCountMax + 10)
        #expect(SiblingOrder.insertion(at: 0, among: empty) == nil)
    }
}
