internal import CRDTCore
internal import MergeModel
package import Simulation

/// The results of many merge trials together.
package struct MergeSummary {
    private let report: MergeReport
    private let shape: MergeShape
    private let seconds: Double
    private let jobs: Int
    private let failures: [Failure]

    /// The trials in which one property did not hold.
    private struct Failure {
        var count: Int
        var seed: UInt64
        var finding: Finding
        /// The least plan that fails in this way, if one was found.
        var plan: MergePlan?
    }

    /// Below so many trials, rare states that were missed say nothing.
    private static let trialCountForMarks = 2_000

    /// `shrunk`: the text of the least plan that fails as that of a seed does.
    package init(
        _ report: MergeReport,
        _ shape: MergeShape,
        seconds: Double,
        jobs: Int,
        shrunk: (UInt64) -> String?
    ) {
        self.report = report
        self.shape = shape
        self.seconds = seconds
        self.jobs = jobs
        self.failures = CheckedProperty.allCases.compactMap { property in
            let failed = report.findings.filter { $0.finding.property == property }
            guard let first = failed.first else { return nil }
            let plan = shrunk(first.seed).flatMap { try? MergePlan(text: $0) }
            return Failure(count: failed.count, seed: first.seed, finding: first.finding, plan: plan)
        }
    }

    private var missedMarks: [String] {
        guard self.report.trialCount >= MergeSummary.trialCountForMarks, self.shape.stepCount >= 20 else {
            return []
        }
        return zip(MergeMarks.names, self.report.markCounts).filter { $0.1 == 0 }.map(\.0)
    }

    package var isClean: Bool { self.failures.isEmpty && self.missedMarks.isEmpty }

    private var rate: Int { self.seconds > 0 ? Int(Double(self.report.trialCount) / self.seconds) : 0 }
    private var processorMicroseconds: Int {
        Int(self.report.processorSeconds * 1e6 / Double(max(1, self.report.trialCount)))
    }
    private var hash: String { Hexadecimal.text(Bytes16(high: 0, low: self.report.digest).array.suffix(8)) }

    package var text: String {
        let report = self.report
        let marks = zip(MergeMarks.names, report.markCounts).map { "\($0) \($1)" }
        var lines = [
            "histories    \(report.trialCount) of \(self.shape.peerCount) peers and \(self.shape.stepCount) steps, "
                + "\(report.comparedCount) of them looked at in every way",
            "steps        \(report.changeCount) changes of \(report.operationCount) operations, "
                + "\(report.deliveryCount) deliveries",
            "marks        \(marks.joined(separator: ", "))",
            "states       \(self.hash)",
            "speed        \(self.rate) histories a second: \(Int(self.seconds * 1_000)) ms, \(self.jobs) processes, "
                + "\(self.processorMicroseconds) µs of a processor each",
        ]
        for failure in self.failures {
            let message = failure.finding.message.split(separator: "\n").map { "             \($0)" }
            lines.append("FAILED       \(failure.finding.property.rawValue) in \(failure.count) histories:")
            lines += message + ["             \(self.replayLine(failure.seed))"]
            guard let plan = failure.plan else { continue }
            lines.append("shrunk       to \(plan.steps.count) steps:")
            lines += plan.sentences.map { "             \($0)" } + ["             \(self.replayLine(plan))"]
        }
        if !self.missedMarks.isEmpty {
            lines.append("FAILED       so many histories have to reach \(self.missedMarks.joined(separator: " "))")
        }
        return (lines + (self.isClean ? ["no failures"] : [])).joined(separator: "\n")
    }

    /// Everything of the summary for programs to read.
    package var json: String {
        var marks: [CRDTCore.ExactText: JSON] = [:]
        for (name, count) in zip(MergeMarks.names, self.report.markCounts) {
            marks[CRDTCore.ExactText(name)] = .int(Int64(count))
        }
        return JSON.object([
            "histories": .int(Int64(self.report.trialCount)),
            "peers": .int(Int64(self.shape.peerCount)),
            "steps": .int(Int64(self.shape.stepCount)),
            "compared": .int(Int64(self.report.comparedCount)),
            "changes": .int(Int64(self.report.changeCount)),
            "operations": .int(Int64(self.report.operationCount)),
            "deliveries": .int(Int64(self.report.deliveryCount)),
            "marks": .object(marks),
            "marks_missed": .array(self.missedMarks.map { .string($0) }),
            "states": .string(self.hash),
            "wall_milliseconds": .int(Int64(self.seconds * 1_000)),
            "histories_per_second": .int(Int64(self.rate)),
            "processor_microseconds_each": .int(Int64(self.processorMicroseconds)),
            "processes": .int(Int64(self.jobs)),
            "failures": .array(self.failures.map { self.json($0) }),
            "commit": .string(Checkout.commit),
        ]).text
    }

    private func json(_ failure: Failure) -> JSON {
        .object([
            "property": .string(failure.finding.property.rawValue),
            "histories": .int(Int64(failure.count)),
            "seed": .string(String(failure.seed)),
            "message": .string(failure.finding.message),
            "replay": .string(self.replayLine(failure.seed)),
            "shrunk": failure.plan.map { .string($0.text) } ?? .null,
            "replay_shrunk": failure.plan.map { .string(self.replayLine($0)) } ?? .null,
        ])
    }

    private func replayLine(_ seed: UInt64) -> String {
        let shape = "--peers \(self.shape.peerCount) --steps \(self.shape.stepCount)"
        return Checkout.line("histories --first \(seed) --seeds 1 \(shape)") + "  # commit \(Checkout.commit)"
    }

    private func replayLine(_ plan: MergePlan) -> String {
        Checkout.line("histories --case '\(plan.text)'") + "  # commit \(Checkout.commit)"
    }
}
