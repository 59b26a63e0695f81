import CRDTCore
import MergeModel
import Testing

@testable import Simulation
@testable import Simulator

struct RelayTrialTests {
    @Test func `what is written or accepted goes from store to store, however it is cut`() throws {
        var count = RelayTrial.Count()
        for seed in Seeds.range(from: 1, count: 6) {
            var trial = RelayTrial(seed: seed, largeEvery: 100)
            try trial.perform(seed: seed, changeCount: 60)
            count.writes += trial.count.writes
            count.relayedRuns += trial.count.relayedRuns
        }
        #expect(count.writes > 0 && count.relayedRuns > 0)
    }

    @Test func `no run is loaded that is larger than one that a peer accepts`() throws {
        #expect(RunLimits(changeCountMax: .max, operationCountMax: .max, byteCountMax: .max) == RunLimits())
        // A store was asked for more, and small changes before a large one made a run that nobody accepts.
        let seed: UInt64 = 9_693_074_414_038
        var trial = RelayTrial(seed: seed)
        try trial.perform(seed: seed)
    }
}
