package import CRDTCore

/// A random circle with forks, thieves and rogue managers: what `CircleRights` says of it after two orders of arrival,
/// and what the naive model does.
package struct CircleTrial {
    package let circle: WrittenCircle
    /// What was asked: whether somebody may do something in a change.
    package let questions: [(change: Int, need: RightNeed)]
    /// The answers to these.
    package let verdicts: [Bool]
    /// The devices to which the circle is sent.
    package let readers: [DeviceID]
    /// Where answers differ, in words.
    package private(set) var disagreements: [String] = []

    package init(seed: UInt64) throws {
        let world = RandomCircle(seed: seed)
        var random = SplitMix64(seed: seed)
        let log = try CircleLog(world.circle)
        let arrivals = (0..<2).map { _ in random.shuffled(Array(log.runs.indices)) }
        let found = try arrivals.map { try log.verdicts(in: $0) }
        let naive = world.circle.rights
        (self.circle, self.questions, self.readers) = (world.circle, log.questions, try log.readers())
        self.verdicts = found[0].map(\.counts)
        for (index, question) in log.questions.enumerated() {
            let expected =
                switch question.need {
                case .role(let role): naive.counts(question.change, as: .init(rawValue: Int(role.rawValue)) ?? .owner)
                case .write(let name): naive.counts(question.change, writing: name)
                case .owner: naive.counts(question.change, as: .owner)
                }
            for verdict in found.map({ $0[index] }) {
                guard verdict.counts != expected || verdict.reason.allows != expected else { continue }
                self.disagreements.append(
                    "change \(question.change), \(question.need): \(verdict), by the naive model \(expected)"
                )
            }
        }
        let expected = world.circle.devices.keys.sorted().filter { naive.reads($0) }
        if self.readers != expected { self.disagreements.append("readers \(self.readers), \(expected) expected") }
    }
}
