import CRDTCore

/// The edits that are merged, as files of runs: `base` is there before the clock starts, `news` is what is merged.
///
/// `Beside/workload.py` makes the same edits for other programs.
enum Workload: String, CaseIterable {
    /// Every property of every object is written once: 10 properties an object.
    case writes
    /// A second device writes half as many of the same properties, without having seen the first's writes.
    case concurrent
    /// A hundred devices write a thousand properties each, none having seen another's.
    case gathering
    /// Two devices move the nodes of a tree of 10,000, neither having seen the other's moves.
    case moves
    /// Beside many writes, a chain of ten changes forks: ten others arrive, of the same properties.
    case fork
    /// Beside many writes, a chain of ten changes is restamped.
    case restamp

    /// What was made: runs on both sides of the clock, and how many operations the second part has.
    struct Runs {
        var base: [Run] = []
        var news: [Run] = []
    }

    static let propertyCount = 10
    static let names = (0..<Self.propertyCount).map { "property\($0)" }
    static let treeNodeCount = 10_000
    private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    private static let start: UInt64 = 1_700_000_000_000
    /// Later than every stamp.
    static let now = WallTime(milliseconds: Self.start + 100_000_000)

    /// How much of it, and in what portions.
    struct Shape {
        /// Operations of the news.
        var count: Int
        /// Operations in a change.
        var changeSize: Int
        /// Changes in a run, that is, under one signature.
        var runSize: Int
    }

    func runs(_ shape: Shape) -> Runs {
        switch self {
        case .writes: Self.writes(shape)
        case .concurrent: Self.concurrent(shape)
        case .gathering: Self.gathering(shape)
        case .moves: Self.moves(shape)
        case .fork: Self.lateKnowledge(shape, isFork: true)
        case .restamp: Self.lateKnowledge(shape, isFork: false)
        }
    }

    static func object(_ number: Int) -> ObjectID {
        let seed = UInt64(number) * 2
        return ObjectID(bytes: Bytes16(high: SplitMix64.mixed(seed + 1), low: SplitMix64.mixed(seed + 2)))
    }

    /// A write of a register: its object and property follow from its number.
    static func set(_ register: Int, by writer: Int) -> Edit {
        let value = SplitMix64.mixed(UInt64(register) << 8 | UInt64(writer)) % 1_000_000
        return .set(
            self.object(register / self.propertyCount),
            name: self.names[register % self.propertyCount],
            value: .int(Int64(value))
        )
    }

    /// Ticks are so short that all stamps lie within seconds.
    static func stamp(_ tick: Int) -> Stamp { Stamp(rawValue: (self.start << 16) + UInt64(tick) << 8) }

    static func create(_ objectCount: Int, by writer: inout Writer) {
        for first in stride(from: 0, to: objectCount, by: 100) {
            let objects = first..<min(objectCount, first + 100)
            writer.write(objects.map { .create(self.object($0), type: "item", kind: "") }, at: self.stamp(first / 100))
        }
    }

    static func write(
        _ registers: [Int],
        by writer: inout Writer,
        number: Int,
        _ shape: Shape,
        context: [Point],
        stamp: (Int) -> Int
    ) {
        for (position, first) in stride(from: 0, to: registers.count, by: shape.changeSize).enumerated() {
            let members = registers[first..<min(registers.count, first + shape.changeSize)]
            let news = position == 0 ? context : []
            writer.write(members.map { self.set($0, by: number) }, at: self.stamp(stamp(position)), context: news)
        }
    }

    private static func writes(_ shape: Shape) -> Runs {
        let founder = Founder()
        var writer = Writer(number: 1, founder: founder, runSize: shape.runSize)
        var runs = Runs()
        self.create(shape.count / self.propertyCount, by: &writer)
        runs.base = writer.takeRuns()
        self.write(Array(0..<shape.count), by: &writer, number: 1, shape, context: []) { 1_000_000 + $0 }
        runs.news = writer.takeRuns()
        return runs
    }

    private static func concurrent(_ shape: Shape) -> Runs {
        let founder = Founder()
        var first = Writer(number: 1, founder: founder, runSize: shape.runSize)
        var second = Writer(number: 2, founder: founder, runSize: shape.runSize)
        var runs = Runs()
        self.create(shape.count * 2 / self.propertyCount, by: &first)
        let seen = first.head
        self.write(Array(0..<shape.count * 2), by: &first, number: 1, shape, context: []) { 1_000_000 + $0 * 2 }
        runs.base = first.takeRuns()
        // Stamped so that it wins half of the time: it begins later, and the first overtakes it.
        let offset = 1_000_000 + shape.count / shape.changeSize / 2
        self.write(Array(0..<shape.count), by: &second, number: 2, shape, context: [seen]) { offset + $0 }
        runs.news = second.takeRuns()
        return runs
    }

    private static func gathering(_ shape: Shape) -> Runs {
        let founder = Founder()
        var first = Writer(number: 1, founder: founder, runSize: shape.runSize)
        var runs = Runs()
        self.create(shape.count / self.propertyCount, by: &first)
        runs.base = first.takeRuns()
        let seen = first.head
        for number in 2..<102 {
            var writer = Writer(number: UInt64(number), founder: founder, runSize: shape.runSize)
            var random = SplitMix64(seed: UInt64(number))
            let registers = (0..<shape.count / 100).map { _ in random.below(shape.count) }
            self.write(registers, by: &writer, number: number, shape, context: [seen]) {
                1_000_000 + $0 * 100 + number
            }
            runs.news += writer.takeRuns()
        }
        return runs
    }

    private static func moves(_ shape: Shape) -> Runs {
        let founder = Founder()
        var first = Writer(number: 1, founder: founder, runSize: shape.runSize)
        var runs = Runs()
        var parents = [Int](repeating: -1, count: self.treeNodeCount)
        var random = SplitMix64(seed: 1)
        self.create(self.treeNodeCount, by: &first)
        for start in stride(from: 1, to: self.treeNodeCount, by: 100) {
            let edits = (start..<min(self.treeNodeCount, start + 100)).map { node in
                parents[node] = random.below(node)
                return Self.move(node, under: parents[node], position: node)
            }
            first.write(edits, at: self.stamp(500_000 + start))
        }
        runs.base = first.takeRuns()
        let seen = first.head
        for number in 2..<4 {
            var writer = Writer(number: UInt64(number), founder: founder, runSize: shape.runSize)
            let moves = TreeMoves.draw(count: shape.count / 2, seed: UInt64(number), parents: parents)
            for (position, start) in stride(from: 0, to: moves.count, by: shape.changeSize).enumerated() {
                let edits = (start..<min(moves.count, start + shape.changeSize)).map { place in
                    Self.move(moves[place].node, under: moves[place].parent, position: Self.treeNodeCount + place)
                }
                let news = position == 0 ? [seen] : []
                writer.write(edits, at: self.stamp(1_000_000 + position * 2 + number), context: news)
            }
            runs.news += writer.takeRuns()
        }
        return runs
    }

    private static func lateKnowledge(_ shape: Shape, isFork: Bool) -> Runs {
        let founder = Founder()
        var first = Writer(number: 1, founder: founder, runSize: shape.runSize)
        var runs = Runs()
        self.create(shape.count / self.propertyCount, by: &first)
        self.write(Array(0..<shape.count), by: &first, number: 1, shape, context: []) { 1_000_000 + $0 * 2 }
        var second = Writer(number: 2, founder: founder, runSize: shape.runSize)
        second.write([], at: self.stamp(999_999))
        runs.base = first.takeRuns() + second.takeRuns()
        let start = second.place
        for change in 0..<10 { second.write([self.set(change * 7, by: 2)], at: self.stamp(2_000_000 + change)) }
        runs.base += second.takeRuns()
        if isFork {
            second.place = start
            for change in 0..<10 { second.write([self.set(change * 7, by: 3)], at: self.stamp(2_500_000 + change)) }
            runs.news = second.takeRuns()
        } else {
            let head = second.place
            var third = Writer(number: 3, founder: founder, runSize: shape.runSize)
            let restamp = Restamp(
                replica: second.replica,
                firstSequence: start.sequence + 1,
                lastSequence: head.sequence,
                lastHash: head.previous
            )
            third.write([.restamp(restamp)], at: self.stamp(3_000_000))
            runs.news = third.takeRuns()
        }
        return runs
    }

    private static func move(_ node: Int, under parent: Int, position: Int) -> Edit {
        // An integer of three digits at the front of a fractional index, as appending makes them.
        var bytes = Array("c".utf8)
        for unit in [62 * 62, 62, 1] { bytes.append(self.digits[position / unit % 62]) }
        return .move(self.object(node), Place(parent: self.object(parent), position: Position(bytes: bytes)))
    }
}

/// Moves that close no cycle on the device that makes them.
enum TreeMoves {
    static func draw(count: Int, seed: UInt64, parents: [Int]) -> [(node: Int, parent: Int)] {
        var parents = parents
        var random = SplitMix64(seed: seed)
        var moves: [(node: Int, parent: Int)] = []
        while moves.count < count {
            let node = 1 + random.below(parents.count - 1)
            let parent = random.below(parents.count)
            var ancestor = parent
            while ancestor >= 0, ancestor != node { ancestor = parents[ancestor] }
            guard ancestor != node else { continue }
            parents[node] = parent
            moves.append((node, parent))
        }
        return moves
    }
}
