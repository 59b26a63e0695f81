internal import CRDTCore
internal import Simulation

/// What came of all planted bugs that were looked for.
struct MutantScore {
    var trials: [MutantTrial]
    /// Whether every bug there is was looked for.
    var isWhole: Bool
    var scenarios: [String]

    /// Scenario files that no bug makes fail; nothing can be said of them unless all bugs were tried.
    private var idleScenarios: [String] {
        let useful = Set(self.trials.flatMap(\.failedScenarios))
        return self.isWhole ? self.scenarios.filter { !useful.contains($0) } : []
    }

    private var caughtCount: Int { self.trials.count { $0.isCaught } }

    var isPerfect: Bool {
        self.trials.allSatisfy { $0.isCaught && $0.passedVictims.isEmpty && $0.unsound.isEmpty }
            && self.idleScenarios.isEmpty
    }

    private static func seconds(_ seconds: Double) -> String { "\(Double(Int(seconds * 10)) / 10)" }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    static func row(_ trial: MutantTrial) -> String {
        let oracle = trial.finding?.oracle ?? (trial.isCaught ? "a scenario" : "NOT CAUGHT")
        let scenarios = trial.failedScenarios.map { String($0.dropLast(4)) }
        var shown = scenarios.prefix(3).joined(separator: " ")
        if scenarios.count > 3 { shown += " and \(scenarios.count - 3) more" }
        return self.padded(trial.bug.rawValue, 24) + self.padded(trial.bug.victim.property, 5)
            + self.padded(oracle, 17) + self.padded("\(trial.seedCount)", 7)
            + self.padded(self.seconds(trial.seconds), 7) + shown
    }

    static let heading =
        padded("planted bug", 24) + padded("in", 5) + padded("caught by", 17) + padded("seeds", 7)
        + padded("s", 7) + "scenarios that fail"

    /// What follows the rows.
    var conclusion: String {
        var lines: [String] = []
        for trial in self.trials {
            if let failure = trial.failure { lines.append("the search for \(trial.bug.rawValue) failed: \(failure)") }
            for name in trial.passedVictims { lines.append("\(name) passes with \(trial.bug.rawValue)") }
        }
        // Found by several searches, it is still one.
        for run in Set(self.trials.flatMap(\.unsound)).sorted() {
            lines.append("FAILED without any of them: \(run)")
        }
        lines += self.idleScenarios.map { "\($0) fails with none of them" }
        lines.append("\(self.caughtCount) of \(self.trials.count) caught")
        return lines.joined(separator: "\n")
    }

    var json: String {
        let mutants = self.trials.map { trial -> JSON in
            var members: [ExactText: JSON] = [
                "name": .string(trial.bug.rawValue),
                "breaks": .string(trial.bug.victim.property),
                "caught": .bool(trial.isCaught),
                "caught_by": trial.finding.map { .string($0.oracle) } ?? .null,
                "message": trial.finding.map { .string($0.message) } ?? .null,
                "seed": trial.finding.map { .string(String($0.seed)) } ?? .null,
                "seeds": .int(Int64(trial.seedCount)),
                "milliseconds": .int(Int64(trial.seconds * 1000)),
            ]
            members["scenarios"] = .array(trial.failedScenarios.map { .string($0) })
            members["failure"] = trial.failure.map { .string($0) } ?? .null
            members["unsound"] = .array(trial.unsound.map { .string($0) })
            members["part"] = .string(trial.bug.part.rawValue)
            members["scenarios_passed"] = .array(trial.passedVictims.map { .string($0) })
            return .object(members)
        }
        var bytes: [UInt8] = []
        JSON.object([
            "mutants": .array(mutants),
            "caught": .int(Int64(self.caughtCount)),
            "count": .int(Int64(self.trials.count)),
            "idle_scenarios": .array(self.idleScenarios.map { .string($0) }),
        ]).append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
