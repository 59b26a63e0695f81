/// What a run came to.
package struct RunOutcome: Sendable {
    package var record: RunRecord
    /// The hash over every event.
    package var hash: String
    package var eventCount: Int
    package var simulated: VirtualTime
    package var acknowledgedCount: Int
    /// What happened, if it was recorded.
    package var trace: Trace?
    /// The first expectation of a scenario that was not met.
    package var failure: ScenarioError?

    package var isPassed: Bool { self.failure == nil && self.record.findings.isEmpty }

    init(of world: World) {
        for finding in world.record.findings { world.trace?.add(finding, at: world.time) }
        self.record = world.record
        self.hash = world.hash.text
        self.eventCount = world.hash.eventCount
        self.simulated = world.time
        self.acknowledgedCount = world.work.acknowledgedCount
        self.trace = world.trace
    }
}
