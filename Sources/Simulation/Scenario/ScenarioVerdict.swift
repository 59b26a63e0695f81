/// What a run of a scenario has found, as far as shrinking goes by it.
package struct ScenarioVerdict: Codable, Hashable, Sendable {
    package var finding: Finding?
    /// When it was found, or the run over.
    package var simulatedMicroseconds: UInt64

    package init(_ outcome: RunOutcome) {
        self.finding = outcome.record.findings.first
        self.simulatedMicroseconds = outcome.simulated.microseconds
    }

    /// Of a run that has not come to its end.
    package init(_ finding: Finding?) {
        self.finding = finding
        self.simulatedMicroseconds = 0
    }
}
