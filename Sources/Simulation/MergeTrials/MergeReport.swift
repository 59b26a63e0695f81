package import MergeModel

/// The results of some merge trials, as a worker tells them to the process that asked.
package struct MergeReport: Codable, Hashable, Sendable {
    package var trialCount = 0
    /// The number of those that were compared with the naive model, and performed again with deliveries as bytes.
    package var comparedCount = 0
    package var changeCount = 0
    package var operationCount = 0
    package var deliveryCount = 0
    /// The sum of the states, each mixed with its seed: the same whatever order the plans are performed in.
    package var digest: UInt64 = 0
    /// The time that processors have spent on them: unlike time by the wall, it does not count what others do.
    package var processorSeconds = 0.0
    /// The number of trials that reached each rare state, by its number.
    package var markCounts = MergeMarks.names.map { _ in 0 }
    /// What did not hold, the first of each seed.
    package var findings: [SeedFinding] = []

    package struct SeedFinding: Codable, Hashable, Sendable {
        package var seed: UInt64
        package var finding: Finding

        package init(seed: UInt64, finding: Finding) {
            self.seed = seed
            self.finding = finding
        }
    }

    package init() {}

    package mutating func add(_ outcome: MergeOutcome, seed: UInt64, isThorough: Bool) {
        self.trialCount += 1
        self.comparedCount += isThorough ? 1 : 0
        self.changeCount += outcome.changeCount
        self.operationCount += outcome.operationCount
        self.deliveryCount += outcome.deliveryCount
        self.digest &+= (outcome.digest ^ seed) &* 0x9e37_79b9_7f4a_7c15
        for (number, _) in MergeMarks.names.enumerated()
        where outcome.marks.contains(MergeMarks(rawValue: 1 << number)) {
            self.markCounts[number] += 1
        }
        if let finding = outcome.finding { self.findings.append(SeedFinding(seed: seed, finding: finding)) }
    }

    /// Takes in what others came to.
    package mutating func add(_ other: MergeReport) {
        self.trialCount += other.trialCount
        self.comparedCount += other.comparedCount
        self.changeCount += other.changeCount
        self.operationCount += other.operationCount
        self.deliveryCount += other.deliveryCount
        self.digest &+= other.digest
        self.processorSeconds += other.processorSeconds
        for (number, count) in other.markCounts.enumerated() { self.markCounts[number] += count }
        self.findings += other.findings
        // Workers finish in any order.
        self.findings.sort { $0.seed < $1.seed }
    }
}

/// The kind of plans that are drawn, and the share of them that is looked at in every way.
package struct MergeShape: Hashable, Sendable {
    package var peerCount: Int
    package var stepCount: Int
    /// One of so many trials is compared with the naive model and performed again with deliveries as bytes; the
    /// first of every batch is.
    package var thoroughEvery: UInt64

    package init(peerCount: Int = 3, stepCount: Int = 60, thoroughEvery: UInt64 = 128) {
        self.peerCount = peerCount
        self.stepCount = stepCount
        self.thoroughEvery = thoroughEvery
    }

    /// Performs the plans of some seeds.
    package func report(of seeds: Range<UInt64>, in world: MergeWorld) -> MergeReport {
        var report = MergeReport()
        let start = WallClock.processorSeconds()
        for seed in seeds {
            let isThorough = (seed - seeds.lowerBound) % self.thoroughEvery == 0
            let outcome = MergeTrial.outcome(of: self.plan(seed: seed), in: world, isThorough: isThorough)
            report.add(outcome, seed: seed, isThorough: isThorough)
        }
        report.processorSeconds = WallClock.processorSeconds() - start
        return report
    }

    /// Returns the plan of a seed.
    package func plan(seed: UInt64) -> MergePlan {
        MergePlanGenerator.plan(seed: seed, peers: self.peerCount, steps: self.stepCount)
    }
}
