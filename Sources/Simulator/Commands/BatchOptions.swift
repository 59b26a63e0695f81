import ArgumentParser
internal import Foundation
internal import Simulation

/// How the seeds of a batch are run.
struct BatchOptions: ParsableArguments {
    @Option(help: "The first seed.")
    var first: UInt64 = 1
    @Option(help: "Stop after so many minutes of wall time.")
    var minutes: Double?
    @Option(help: "How many processes run the seeds. Default: one per core.")
    var jobs: Int?

    /// Processes at a time.
    private static let jobCountMax = 1_024

    func validate() throws {
        if let minutes, !(minutes > 0) {
            throw ValidationError("The time limit --minutes is out of range; give more than 0.")
        }
        if let jobs, !(1...BatchOptions.jobCountMax).contains(jobs) {
            throw ValidationError("The number --jobs is out of range; give 1 to 1,024.")
        }
    }

    /// So many seeds from the first on.
    func seeds(_ count: Int) throws -> Range<UInt64> {
        guard let count = UInt64(exactly: count), count > 0 else {
            throw ValidationError("At least one seed has to be run.")
        }
        let (end, isTooMuch) = self.first.addingReportingOverflow(count)
        guard !isTooMuch else { throw ValidationError("There are not so many seeds after \(self.first).") }
        return self.first..<end
    }

    var jobCount: Int { self.jobs ?? ProcessInfo.processInfo.activeProcessorCount }

    /// Whether a batch that has gone on for some seconds is over.
    func isOver(afterSeconds seconds: Double) -> Bool { self.minutes.map { seconds >= $0 * 60 } ?? false }
}
