import Foundation
import PeerdKit
import Synchronization

/// The machine that takes everything in, or has done so.
struct Receiver {
    let directory: URL
    let objectCount: Int
    /// Reads a second.
    let rate: Int
    /// The length of a series of reads without a sync.
    let seconds: Int

    private static let patience = Duration.seconds(1800)

    /// Operations of an object: its creation, its place, and its properties.
    private static let operationsPerObject = 12

    func read() async throws -> Report {
        let workspace = try await Workspace.open(at: self.directory, access: .readOnly)
        let reads = PacedReads(workspace, rate: self.rate, available: self.objectCount)
        // What a first read opens and loads is no part of the others.
        _ = try await reads.run(for: .seconds(1))
        var report = Report()
        try await reads.run(for: .seconds(self.seconds)).add(to: &report)
        await workspace.close()
        return report
    }

    /// Joins by the invite on standard input, and takes everything in.
    func sync(reads isReading: Bool) async throws -> Report {
        guard let line = readLine() else { throw Failure("there is no invite on standard input") }
        let workspace = try await Workspace.join(Invitation(line), at: self.directory, name: "receiver")
        let reads = PacedReads(workspace, rate: self.rate, available: 0)
        let clock = ContinuousClock()
        let start = clock.now
        let end = FirstInstant()
        async let outcome = isReading ? reads.run() : nil
        let final = try await workspace.sync(timeout: Self.patience) { report in
            reads.setAvailable(report.pulled / Self.operationsPerObject)
            if report.isInSync, report.pulled > 0 { end.note(clock.now) }
        }
        end.note(clock.now)
        reads.stop()
        let read = try await outcome
        var report = Report()
        report.add("seconds", ((end.instant ?? clock.now) - start).seconds)
        report.add("operations", Double(final.pulled))
        read?.add(to: &report)
        let count = try await workspace.status().objectCount
        guard count == self.objectCount else { throw Failure("\(count) objects came, not \(self.objectCount)") }
        await workspace.close()
        return report
    }
}

/// The first of several instants, noted by whoever comes first.
private final class FirstInstant: Sendable {
    private let noted = Mutex<ContinuousClock.Instant?>(nil)

    func note(_ instant: ContinuousClock.Instant) { self.noted.withLock { $0 = $0 ?? instant } }

    var instant: ContinuousClock.Instant? { self.noted.withLock { $0 } }
}
