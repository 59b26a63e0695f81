import ArgumentParser
internal import Simulation

/// `relays`: the limits alone, very often.
struct RelaysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relays",
        abstract: "Sends chains of changes of all sizes from store to store; each store cuts them in another way.",
        discussion: """
            A chain has a device's own writes, and runs that another device signs, at each limit, one below and one \
            above, alone and in pairs. Every store must load, cut, relay and accept what a write acknowledged or \
            another store accepted. Each seed is a chain.

            Exit codes: 0 nothing found, 1 a chain stood still, 64 the command line is not understood.
            """
    )

    @Option(help: "The first seed.")
    var first: UInt64 = 1
    @Option(help: "The least number of writes and runs.")
    var changes = 100_000

    func run() throws {
        var total = RelayTrial.Count()
        var seed = self.first
        let start = ContinuousClock.now
        while total.writes + total.runs < self.changes {
            var trial = RelayTrial(seed: seed)
            do {
                try trial.perform(seed: seed)
            } catch {
                print("FOUND a chain that stands still: seed \(seed): \(error)")
                throw ExitCode.failure
            }
            total.writes += trial.count.writes
            total.refusedWrites += trial.count.refusedWrites
            total.runs += trial.count.runs
            total.refusedRuns += trial.count.refusedRuns
            total.relayedRuns += trial.count.relayedRuns
            total.relayedBytes += trial.count.relayedBytes
            seed += 1
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        print(
            """
            seeds        \(self.first) to \(seed - 1)
            writes       \(total.writes), \(total.refusedWrites) of them too large
            runs         \(total.runs), \(total.refusedRuns) of them beyond a limit
            relayed      \(total.relayedRuns) runs, \(total.relayedBytes / 1_000_000) MB
            took         \(Int(seconds)) s
            no failures
            """
        )
    }
}
