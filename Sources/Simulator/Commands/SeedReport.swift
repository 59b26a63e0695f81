internal import Simulation

/// What one seed came to, as a worker tells it to the process that asked.
struct SeedReport: Codable, Hashable, Sendable {
    var seed: UInt64
    var hash = ""
    var eventCount = 0
    var simulatedMicroseconds: UInt64 = 0
    var convergenceMicroseconds: UInt64?
    var operationCount = 0
    var acknowledgedCount = 0
    /// How often each fault took effect, by its name.
    var faultCounts: [String: Int] = [:]
    /// The rare states that were reached, by name and in the order of the names.
    var marks: [String] = []
    var findings: [Finding]

    init(seed: UInt64, _ outcome: RunOutcome) {
        self.seed = seed
        self.hash = outcome.hash
        self.eventCount = outcome.eventCount
        self.simulatedMicroseconds = outcome.simulated.microseconds
        self.convergenceMicroseconds = outcome.record.convergenceTime?.microseconds
        self.operationCount = outcome.record.operationCount
        self.acknowledgedCount = outcome.acknowledgedCount
        for (fault, count) in outcome.record.faultCounts { self.faultCounts[fault.rawValue] = count }
        self.marks = outcome.record.marks.map(\.rawValue).sorted()
        self.findings = outcome.record.findings
    }

    /// A seed whose process ended in the middle of it.
    init(seed: UInt64, endedBy finding: Finding) {
        self.seed = seed
        self.findings = [finding]
    }
}
