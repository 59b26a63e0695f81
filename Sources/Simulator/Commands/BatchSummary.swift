internal import Simulation

/// What many seeds showed together.
struct BatchSummary {
    private(set) var seedCount = 0
    private(set) var secondRunCount = 0
    private(set) var simulated = VirtualTime.zero
    private(set) var eventCount = 0
    private(set) var operationCount = 0
    private(set) var acknowledgedCount = 0
    private(set) var faultCounts: [Fault: Int] = [:]
    private(set) var markCounts: [Mark: Int] = [:]
    private(set) var failures: [CheckedProperty: Failure] = [:]
    private(set) var worstConvergence = VirtualTime.zero

    /// Seeds that broke one property.
    struct Failure {
        var count: Int
        /// The one that took the fewest events.
        var seed: UInt64
        var eventCount: Int
        var message: String
    }

    /// Below so many seeds, marks that were missed say nothing.
    static let seedCountForMarks = 2_000

    mutating func add(_ report: SeedReport) {
        self.seedCount += 1
        self.simulated = self.simulated + .microseconds(report.simulatedMicroseconds)
        self.eventCount += report.eventCount
        self.operationCount += report.operationCount
        self.acknowledgedCount += report.acknowledgedCount
        self.worstConvergence = max(self.worstConvergence, .microseconds(report.convergenceMicroseconds ?? 0))
        for (name, count) in report.faultCounts {
            if let fault = Fault(rawValue: name) { self.faultCounts[fault, default: 0] += count }
        }
        for mark in report.marks.compactMap({ Mark(rawValue: $0) }) { self.markCounts[mark, default: 0] += 1 }
        for finding in report.findings { self.add(finding, report) }
    }

    /// The same seed, run again by another process.
    mutating func addSecondRun(_ second: SeedReport, of first: SeedReport) {
        self.secondRunCount += 1
        if second != first {
            self.add(Finding(property: .notRepeatable, message: "\(first.hash) and \(second.hash)"), first)
        }
    }

    private mutating func add(_ finding: Finding, _ report: SeedReport) {
        var failure =
            self.failures[finding.property]
            ?? Failure(count: 0, seed: report.seed, eventCount: .max, message: "")
        failure.count += 1
        // Workers finish in any order; the summary does not depend on it.
        if (report.eventCount, report.seed) < (failure.eventCount, failure.seed) {
            failure.seed = report.seed
            failure.eventCount = report.eventCount
            failure.message = finding.message
        }
        self.failures[finding.property] = failure
    }

    var missedMarks: [Mark] { Mark.allCases.filter { self.markCounts[$0] == nil } }

    /// Whether nothing was found, and a batch that is large enough has reached every rare state.
    func isClean(_ world: WorldOptions) -> Bool { self.failures.isEmpty && !self.missesDueMarks(world) }

    /// Whether rare states were missed that many worlds of all kinds must reach; where the kind was chosen, some
    /// cannot be reached.
    private func missesDueMarks(_ world: WorldOptions) -> Bool {
        !world.isRestricted && self.seedCount >= BatchSummary.seedCountForMarks && !self.missedMarks.isEmpty
    }

    func progress(wallSeconds: Double) -> String {
        "\(self.seedCount) seeds, \(Int(self.simulated.seconds)) s simulated, "
            + "\(self.ratio(wallSeconds)) x real time, \(self.failures.values.map(\.count).reduce(0, +)) failures"
    }

    func ratio(_ wallSeconds: Double) -> Int {
        wallSeconds > 0 ? Int(self.simulated.seconds / wallSeconds) : 0
    }

    func text(wallSeconds: Double, world: WorldOptions) -> String {
        var lines = [
            "seeds        \(self.seedCount), \(self.secondRunCount) of them run twice",
            "simulated    \(Int(self.simulated.seconds)) s in \(Int(wallSeconds * 1000)) ms: "
                + "\(self.ratio(wallSeconds)) x real time",
            "operations   \(self.operationCount) in \(self.acknowledgedCount) transactions, \(self.eventCount) events",
            "convergence  at most \(self.worstConvergence.seconds) s after healing",
        ]
        lines.append("faults       " + self.list(Fault.allCases.map { ($0.rawValue, self.faultCounts[$0] ?? 0) }))
        lines.append("marks        " + self.list(Mark.allCases.map { ($0.rawValue, self.markCounts[$0] ?? 0) }))
        if !self.missedMarks.isEmpty {
            lines.append("missed       \(self.missedMarks.map(\.rawValue).joined(separator: " "))")
        }
        for property in CheckedProperty.allCases {
            guard let failure = self.failures[property] else { continue }
            lines.append("FAILED       \(property.rawValue) in \(failure.count) seeds: \(failure.message)")
            lines.append("             \(Checkout.replayLine(seed: failure.seed, world))")
        }
        if self.missesDueMarks(world) { lines.append("FAILED       so many seeds have to reach every mark") }
        if !self.failures.isEmpty { lines.append("\(self.failures.count) properties failed") }
        if self.isClean(world) { lines.append("no failures") }
        return lines.joined(separator: "\n")
    }

    private func list(_ entries: [(String, Int)]) -> String {
        var lines = [""]
        for (name, count) in entries where count > 0 {
            let word = "\(name) \(count)"
            if lines[lines.count - 1].count + word.count > 100 { lines.append("") }
            lines[lines.count - 1] += lines[lines.count - 1].isEmpty ? word : ", \(word)"
        }
        return lines.joined(separator: "\n             ")
    }
}
