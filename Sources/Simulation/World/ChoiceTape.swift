internal import MergeModel

/// Where every choice of a run comes from: drawn from a seed and written down, or read back from what was written.
///
/// The choices are kept in lanes by purpose, so that to change one of them shifts only those of its own lane.
package final class ChoiceTape {
    /// What a choice is for.
    package enum Lane: Int, CaseIterable, Sendable {
        /// Peers, topology, and what happens when.
        case plan
        /// How long bytes take, and where they are cut.
        case network
        /// Seeds of nodes, keys and disks.
        case seeds
        /// What the oracles look at.
        case oracles
        /// Who uses which machine, and what people share.
        case sharing
    }

    /// The choices of one lane.
    private struct Draws {
        /// Nil if choices are read back.
        var generator: SplitMix64?
        /// Choices to read back.
        var recorded: [UInt64] = []
        /// Whether every choice is 0, the simplest.
        var isPlain = false
        /// Every choice made so far.
        var choices: [UInt64] = []

        mutating func draw(below bound: UInt64) -> UInt64 {
            var choice: UInt64 = 0
            if self.isPlain {
                choice = 0
            } else if self.generator == nil {
                let made = self.choices.count
                choice = made < self.recorded.count ? self.recorded[made] % bound : 0
            } else {
                choice = (self.generator?.next() ?? 0) % bound
            }
            self.choices.append(choice)
            return choice
        }
    }

    private var lanes: [Draws]

    /// Draws from a seed.
    ///
    /// `plainLanes`: lanes of which every choice is 0.
    package init(seed: UInt64, plain plainLanes: Set<Lane> = []) {
        self.lanes = Lane.allCases.map { lane in
            let start = SplitMix64.mixed(seed &+ UInt64(lane.rawValue + 1) &* 0x9e37_79b9_7f4a_7c15)
            return Draws(generator: SplitMix64(seed: start), isPlain: plainLanes.contains(lane))
        }
    }

    /// Reads choices back; each one beyond their end is 0, the simplest.
    package init(choices: [[UInt64]]) {
        self.lanes = choices.map { Draws(recorded: $0) }
    }

    /// Every choice made so far, by lane.
    var choices: [[UInt64]] { self.lanes.map(\.choices) }

    /// A number below `bound`, which must be positive.
    package func draw(_ lane: Lane, below bound: UInt64) -> UInt64 { self.lanes[lane.rawValue].draw(below: bound) }

    /// Any 64 bits.
    package func seed() -> UInt64 { self.draw(.seeds, below: .max) }

    package func below(_ bound: Int, _ lane: Lane) -> Int { Int(self.draw(lane, below: UInt64(max(1, bound)))) }

    func chance(_ percent: Int, _ lane: Lane) -> Bool { self.below(100, lane) < percent }

    func pick<Element>(_ elements: [Element], _ lane: Lane) -> Element { elements[self.below(elements.count, lane)] }

    /// A number between two bounds, both included.
    package func between(_ low: UInt64, _ high: UInt64, _ lane: Lane) -> UInt64 {
        low + self.draw(lane, below: high - low + 1)
    }
}
