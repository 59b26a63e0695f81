internal import CRDTCore
internal import Simulation

extension BatchSummary {
    /// Everything of the summary for programs to read.
    func json(wallSeconds: Double, world: WorldOptions) -> String {
        let members: [ExactText: JSON] = [
            "seeds": .int(Int64(self.seedCount)),
            "second_runs": .int(Int64(self.secondRunCount)),
            "simulated_milliseconds": .int(Int64(self.simulated.milliseconds)),
            "wall_milliseconds": .int(Int64(wallSeconds * 1_000)),
            "operations": .int(Int64(self.operationCount)),
            "transactions": .int(Int64(self.acknowledgedCount)),
            "events": .int(Int64(self.eventCount)),
            "convergence_milliseconds_max": .int(Int64(self.worstConvergence.milliseconds)),
            "faults": self.object(Fault.allCases.map { ($0.rawValue, self.faultCounts[$0] ?? 0) }),
            "marks": self.object(Mark.allCases.map { ($0.rawValue, self.markCounts[$0] ?? 0) }),
            "ratio": .int(Int64(self.ratio(wallSeconds))),
            "marks_missed": .array(self.missedMarks.map { .string($0.rawValue) }),
            "failures": .array(CheckedProperty.allCases.compactMap { self.failure($0, world) }),
            "commit": .string(Checkout.commit),
        ]
        return JSON.object(members).text
    }

    private func object(_ entries: [(String, Int)]) -> JSON {
        var members: [ExactText: JSON] = [:]
        for (name, count) in entries { members[ExactText(name)] = .int(Int64(count)) }
        return .object(members)
    }

    private func failure(_ property: CheckedProperty, _ world: WorldOptions) -> JSON? {
        guard let failure = self.failures[property] else { return nil }
        return .object([
            "property": .string(property.rawValue),
            "seeds": .int(Int64(failure.count)),
            "shortest_seed": .string(String(failure.seed)),
            "message": .string(failure.message),
            "plan": .string(Checkout.planHash(seed: failure.seed, world)),
            "replay": .string(Checkout.replayLine(seed: failure.seed, world)),
        ])
    }
}
