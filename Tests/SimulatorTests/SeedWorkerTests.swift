import Testing

@testable import Simulation
@testable import Simulator

/// Processes that run things for another: how they end is a finding.
struct SeedWorkerTests {
    private func worker(_ script: String, patienceSeconds: Double) throws -> SeedWorker {
        try SeedWorker(
            SeedWorker.Launch(executable: "/bin/sh", arguments: ["-c", script], patienceSeconds: patienceSeconds)
        )
    }

    @Test func `each question is answered with one line`() throws {
        let worker = try self.worker("while read line; do echo \"$line!\"; done", patienceSeconds: 60)
        #expect(worker.answer(to: "a") == .init("a!".utf8))
        #expect(worker.answer(to: "b") == .init("b!".utf8))
        worker.stop()
    }

    @Test func `a process that is ended by a signal is a crash`() throws {
        let worker = try self.worker("read line; kill -ILL $$", patienceSeconds: 60)
        #expect(worker.answer(to: "a") == nil)
        #expect(worker.ending() == Finding(property: .crash, message: "the process ended: signal 4"))
    }

    @Test func `a process that does not answer is ended`() throws {
        let worker = try self.worker("read line; exec sleep 3600", patienceSeconds: 1)
        #expect(worker.answer(to: "a") == nil)
        #expect(worker.ending() == Finding(property: .spinning, message: "no end of it within 1 seconds"))
    }

    @Test func `a scenario that ends its process is a finding, and the next one has another process`() throws {
        let worker = ScenarioWorker(
            SeedWorker.Launch(
                executable: "/bin/sh",
                arguments: ["-c", "read line; kill -ILL $$"],
                patienceSeconds: 60
            )
        )
        let scenario = try ScenarioParser.parse("peers A B\nsettle")
        for _ in 0..<2 {
            #expect(worker.verdict(scenario, watchesSilence: true).finding?.property == .crash)
        }
        #expect(worker.launchFailure == nil)
    }
}
