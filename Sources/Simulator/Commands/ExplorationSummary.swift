internal import CRDTCore
internal import Simulation

/// What all searches came to, on one screen.
struct ExplorationSummary {
    private var results: [(exploration: Exploration, seconds: Double)] = []

    mutating func add(_ exploration: Exploration, seconds: Double) { self.results.append((exploration, seconds)) }

    var isClean: Bool { self.results.allSatisfy { $0.exploration.findingCount == 0 } }

    func text(seconds: Double) -> String {
        var lines: [String] = []
        for (result, seconds) in self.results {
            let scope = result.scope.rawValue
            let name = scope + String(repeating: " ", count: 13 - scope.count)
            lines.append("\(name)\(result.caseCount) cases in \(Int(seconds * 1_000)) ms")
            lines += result.details.map { "             \($0)" }
            guard let shortest = result.shortest else { continue }
            lines.append("FAILED       \(shortest.property.rawValue), \(result.findingCount) findings; the shortest:")
            lines += shortest.message.split(separator: "\n").map { "             \($0)" }
            lines.append("             \(result.replayLine(shortest))")
        }
        let count = self.results.reduce(0) { $0 + $1.exploration.findingCount }
        lines.append("\(count == 0 ? "nothing" : "\(count) findings") found in \(Int(seconds * 1_000)) ms")
        return lines.joined(separator: "\n")
    }

    /// Everything of the summary for programs to read.
    func json(seconds: Double) -> String {
        let scopes = self.results.map { result -> JSON in
            .object([
                "scope": .string(result.exploration.scope.rawValue),
                "cases": .int(Int64(result.exploration.caseCount)),
                "wall_milliseconds": .int(Int64(result.seconds * 1_000)),
                "details": .array(result.exploration.details.map { .string($0) }),
                "findings": .int(Int64(result.exploration.findingCount)),
                "shown": .array(result.exploration.findings.map { self.json($0, result.exploration) }),
            ])
        }
        return JSON.object(["wall_milliseconds": .int(Int64(seconds * 1_000)), "scopes": .array(scopes)]).text
    }

    private func json(_ finding: ExhaustiveFinding, _ result: Exploration) -> JSON {
        .object([
            "property": .string(finding.property.rawValue),
            "case": .string(finding.caseName),
            "message": .string(finding.message),
            "replay": .string(result.replayLine(finding)),
        ])
    }
}

extension Exploration {
    /// The finding whose case has the shortest name.
    fileprivate var shortest: ExhaustiveFinding? {
        self.findings.min { $0.caseName.utf8.count < $1.caseName.utf8.count }
    }

    /// The line that replays a finding.
    fileprivate func replayLine(_ finding: ExhaustiveFinding) -> String {
        Checkout.line("explore --only \(self.scope.rawValue) --case \(finding.caseName)")
    }
}
