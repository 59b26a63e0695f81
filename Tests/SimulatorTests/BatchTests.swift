import ArgumentParser
import Testing

@testable import Simulation
@testable import Simulator

/// What is said of many seeds together.
struct BatchTests {
    private func pool(first: UInt64, twicePercent: UInt64) -> SeedPool {
        SeedPool(seeds: first..<first + 1_000_000, twicePercent: twicePercent)
    }

    @Test(arguments: [1, 77, 0xfedc_ba98_7654] as [UInt64])
    func `a batch of any seeds runs its first one twice, and every twentieth after it`(_ first: UInt64) {
        let pool = self.pool(first: first, twicePercent: 5)
        let twice = (0..<200).filter { pool.isRunTwice(first + UInt64($0)) }
        #expect(twice == Array(stride(from: 0, to: 200, by: 20)))
    }

    @Test(arguments: [0, 1, 33, 50, 100] as [UInt64])
    func `as many of a hundred seeds are run twice as was asked`(_ percent: UInt64) {
        let pool = self.pool(first: 5, twicePercent: percent)
        #expect((5..<105 as Range<UInt64>).count { pool.isRunTwice($0) } == Int(percent))
    }

    /// A batch in which no seed finds anything, or reaches any rare state.
    private func batch(of count: Int) -> BatchSummary {
        var report = SeedReport(seed: 1, endedBy: Finding(property: .crash, message: ""))
        report.findings = []
        var summary = BatchSummary()
        for _ in 0..<count { summary.add(report) }
        return summary
    }

    @Test func `a large batch of all kinds of worlds must reach every mark, and says so if it did not`() throws {
        let world = try WorldOptions.parse([])
        let summary = self.batch(of: BatchSummary.seedCountForMarks)
        #expect(!summary.isClean(world))
        #expect(summary.text(wallSeconds: 1, world: world).contains("FAILED"))
        #expect(self.batch(of: BatchSummary.seedCountForMarks - 1).isClean(world))
    }

    @Test(arguments: ["--topology star", "--peers 2", "--faults kill", "--edits 1", "--duration 20"])
    func `where the kind of worlds was chosen, marks may be out of reach`(_ options: String) throws {
        let world = try WorldOptions.parse(options.split(separator: " ").map(String.init))
        let summary = self.batch(of: BatchSummary.seedCountForMarks)
        #expect(summary.isClean(world))
        #expect(summary.text(wallSeconds: 1, world: world).hasSuffix("no failures"))
    }

    @Test func `a seed whose second run is another is a failure`() {
        var summary = self.batch(of: 1)
        let first = SeedReport(seed: 9, endedBy: Finding(property: .crash, message: ""))
        var second = first
        second.hash = "other"
        summary.addSecondRun(second, of: first)
        #expect(summary.failures[.notRepeatable]?.seed == 9)
        #expect(summary.secondRunCount == 1)
    }
}
