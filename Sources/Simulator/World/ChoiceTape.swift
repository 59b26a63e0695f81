internal import MergeTestSupport

/// Where every choice of a run comes from: drawn from a seed and written down, or read back from what was written.
///
/// The choices are kept in lanes by purpose, so that to change one of them shifts only those of its own lane.
final class ChoiceTape {
    /// What a choice is for.
    enum Lane: Int, CaseIterable, Sendable {
        /// Peers, topology, and what happens when.
        case plan
        /// How long bytes take, and where they are cut.
        case network
        /// Seeds of nodes, keys and disks.
        case seeds
        /// What the oracles look at.
        case oracles
    }

    private var generators: [SplitMix64]
    private let recorded: [[UInt64]]?
    /// Lanes of which every choice is 0, the simplest.
    private let plainLanes: Set<Lane>
    /// Every choice made so far, by lane.
    private(set) var choices: [[UInt64]]

    /// Draws from a seed.
    init(seed: UInt64, plain plainLanes: Set<Lane> = []) {
        self.plainLanes = plainLanes
        self.generators = Lane.allCases.map {
            SplitMix64(seed: SplitMix64.mixed(seed &+ UInt64($0.rawValue + 1) &* 0x9e37_79b9_7f4a_7c15))
        }
        self.recorded = nil
        self.choices = Lane.allCases.map { _ in [] }
    }

    /// Reads choices back; each one beyond their end is 0, the simplest.
    init(choices: [[UInt64]]) {
        self.generators = []
        self.recorded = choices
        self.plainLanes = []
        self.choices = Lane.allCases.map { _ in [] }
    }

    /// A number below `bound`, which must be positive.
    func draw(_ lane: Lane, below bound: UInt64) -> UInt64 {
        let made = self.choices[lane.rawValue].count
        let choice: UInt64
        if self.plainLanes.contains(lane) {
            choice = 0
        } else if let recorded = self.recorded {
            let choices = recorded[lane.rawValue]
            choice = made < choices.count ? choices[made] % bound : 0
        } else {
            choice = self.generators[lane.rawValue].next() % bound
        }
        self.choices[lane.rawValue].append(choice)
        return choice
    }

    /// Any 64 bits.
    func seed() -> UInt64 { self.draw(.seeds, below: .max) }

    func below(_ bound: Int, _ lane: Lane) -> Int { Int(self.draw(lane, below: UInt64(max(1, bound)))) }

    func chance(_ percent: Int, _ lane: Lane) -> Bool { self.below(100, lane) < percent }

    func pick<Element>(_ elements: [Element], _ lane: Lane) -> Element { elements[self.below(elements.count, lane)] }

    /// A number between two bounds, both included.
    func between(_ low: UInt64, _ high: UInt64, _ lane: Lane) -> UInt64 { low + self.draw(lane, below: high - low + 1) }
}
