/// What some histories came to, as a worker tells it to the process that asked.
struct HistoryReport: Codable, Hashable, Sendable {
    var historyCount = 0
    /// How many of them were compared with the naive model, and performed again with deliveries as bytes.
    var comparedCount = 0
    var changeCount = 0
    var operationCount = 0
    var deliveryCount = 0
    /// The sum of the states, each mixed with its seed: the same whatever order the histories are run in.
    var digest: UInt64 = 0
    /// The time that processors have spent on them: unlike time by the wall, it does not count what others do.
    var processorSeconds = 0.0
    /// How many histories reached each rare state, by its number.
    var markCounts = HistoryMarks.names.map { _ in 0 }
    /// What did not hold, the first of each seed.
    var findings: [SeedFinding] = []

    struct SeedFinding: Codable, Hashable, Sendable {
        var seed: UInt64
        var finding: Finding
    }

    mutating func add(_ outcome: HistoryOutcome, seed: UInt64, isThorough: Bool) {
        self.historyCount += 1
        self.comparedCount += isThorough ? 1 : 0
        self.changeCount += outcome.changeCount
        self.operationCount += outcome.operationCount
        self.deliveryCount += outcome.deliveryCount
        self.digest &+= (outcome.digest ^ seed) &* 0x9e37_79b9_7f4a_7c15
        for (number, _) in HistoryMarks.names.enumerated()
        where outcome.marks.contains(HistoryMarks(rawValue: 1 << number)) {
            self.markCounts[number] += 1
        }
        if let finding = outcome.finding { self.findings.append(SeedFinding(seed: seed, finding: finding)) }
    }

    /// Takes in what others came to.
    mutating func add(_ other: HistoryReport) {
        self.historyCount += other.historyCount
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

/// What kind of histories, and how many of them are looked at in every way.
struct HistoryShape: Hashable, Sendable {
    var peerCount = 3
    var stepCount = 60
    /// One of so many histories is compared with the naive model and performed again with deliveries as bytes; the
    /// first of every batch is.
    var thoroughEvery: UInt64 = 128

    /// Performs the histories of some seeds.
    func report(of seeds: Range<UInt64>, in world: HistoryWorld) -> HistoryReport {
        var report = HistoryReport()
        let start = WallClock.processorSeconds()
        for seed in seeds {
            let isThorough = (seed - seeds.lowerBound) % self.thoroughEvery == 0
            let outcome = HistoryRun.outcome(of: self.plan(seed: seed), in: world, isThorough: isThorough)
            report.add(outcome, seed: seed, isThorough: isThorough)
        }
        report.processorSeconds = WallClock.processorSeconds() - start
        return report
    }

    func plan(seed: UInt64) -> HistoryPlan {
        HistoryPlanner.plan(seed: seed, peers: self.peerCount, steps: self.stepCount)
    }
}
