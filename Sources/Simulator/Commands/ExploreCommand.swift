import ArgumentParser
internal import CRDTCore
internal import Foundation
internal import Simulation
internal import Synchronization

/// `explore`: small worlds in full.
struct ExploreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explore",
        abstract: "Tries everything that can happen in small worlds.",
        discussion: """
            trees: four concurrent moves over three nodes, in every order of arrival. existence: what two replicas can \
            do to one object in a few steps, in every order of arrival. forks: what can be done on and after the \
            forks of a chain that forks, with fast clocks and restamps, in every order of arrival and across a \
            clock that is set back. rights: three users of a circle and what they may do, with grants, removals and \
            a fork. crashes: a process that ends at each store call of a commit. cuts: a connection \
            that breaks after each byte of a handshake and of a short sync.

            Exit codes: 0 nothing found, 1 a property did not hold, 64 the command line is not understood.
            """
    )

    private static let kinds = Exploration.Scope.allCases.map(\.rawValue).joined(separator: ", ")

    /// How long a case may take that should take microseconds.
    private static let patienceSeconds = 15

    @Option(help: "The kinds to explore, separated by commas: \(Self.kinds). Default: all.")
    var only: String?
    @Option(
        name: .customLong("case"),
        help: ArgumentHelp("One case alone, as a finding names it; needs --only.", valueName: "name")
    )
    var caseName: String?
    @Option(
        help: ArgumentHelp(
            "Only each so many-th history of forks and cut of a connection, and of circles still fewer.",
            valueName: "n"
        )
    )
    var every = 1
    @Flag(help: "Print what was found as JSON.")
    var json = false

    func run() throws {
        let scopes = try self.scopes()
        if self.every < 1 { throw ValidationError("--every needs 1 or more.") }
        let start = WallClock.seconds()
        var summary = ExplorationSummary()
        self.watchForCasesWithoutEnd()
        for scope in scopes {
            let begin = WallClock.seconds()
            let result = try self.explore(scope)
            summary.add(result, seconds: WallClock.seconds() - begin)
        }
        let seconds = WallClock.seconds() - start
        print(self.json ? summary.json(seconds: seconds) : summary.text(seconds: seconds))
        if !summary.isClean { throw ExitCode.failure }
    }

    /// Ends the program with a finding if a merge does not come to an end.
    private func watchForCasesWithoutEnd() {
        let isJSON = self.json
        CasesUnderWay.all.watch(seconds: ExploreCommand.patienceSeconds) { test in
            var result = Exploration(.trees)
            result.find(.spinning, in: test.name, "the merge does not come to an end")
            var summary = ExplorationSummary()
            summary.add(result, seconds: 0)
            let seconds = Double(ExploreCommand.patienceSeconds)
            print(isJSON ? summary.json(seconds: seconds) : summary.text(seconds: seconds))
            Foundation.exit(1)
        }
    }

    private func scopes() throws -> [Exploration.Scope] {
        guard let only else {
            if self.caseName != nil { throw ValidationError("--case needs the kind of the case; name it with --only.") }
            return Exploration.Scope.allCases
        }
        let scopes = try only.split(separator: ",").map { name in
            guard let scope = Exploration.Scope(rawValue: String(name)) else {
                throw ValidationError("“\(name)” is not a kind to explore; name some of \(Self.kinds).")
            }
            return scope
        }
        if scopes.isEmpty || (self.caseName != nil && scopes.count != 1) {
            throw ValidationError("--only needs one or more of \(Self.kinds); with --case exactly one.")
        }
        return scopes
    }

    private func explore(_ scope: Exploration.Scope) throws -> Exploration {
        if let name = self.caseName {
            do {
                return try scope.replay(name)
            } catch let error as UnknownCase {
                throw ValidationError("\(error)")
            }
        }
        let progress = ExplorationProgress(scope)
        return scope.run(stride: self.every) { progress.advance($0) }
    }
}

extension Exploration.Scope {
    /// Tries every case, or of the many that take long each `stride`-th; `advance` is called with the number of cases
    /// done since it was last called.
    func run(stride: Int, _ advance: @escaping @Sendable (Int) -> Void) -> Exploration {
        switch self {
        case .trees: TreeSearch.run(advance)
        case .existence: ExistenceSearch.run(advance)
        case .forks: ForkSearch.run(stride: stride, advance)
        // Of these there are many more.
        case .rights: RightsSearch.run(stride: stride == 1 ? 1 : stride * Self.rightsFactor, advance)
        case .crashes: CrashSearch.run(advance)
        case .cuts: CutSearch.run(stride: stride, advance)
        }
    }

    /// So many times fewer circles are tried, if not all are.
    private static let rightsFactor = 50

    /// Tries one case.
    func replay(_ name: String) throws -> Exploration {
        switch self {
        case .trees: try TreeCase.replay(name)
        case .existence: try ExistenceSearch.replay(name)
        case .forks: try ForkSearch.replay(name)
        case .rights: try RightsSearch.replay(name)
        case .crashes: try CrashSearch.replay(name)
        case .cuts: try CutSearch.replay(name)
        }
    }
}

/// Says on standard error how far a search is, every two seconds.
private final class ExplorationProgress: Sendable {
    private let scope: Exploration.Scope
    private let state: Mutex<(caseCount: Int, shown: Double)>

    private static let interval = 2.0

    init(_ scope: Exploration.Scope) {
        self.scope = scope
        self.state = Mutex((0, WallClock.seconds()))
    }

    func advance(_ count: Int) {
        let now = WallClock.seconds()
        let line = self.state.withLock { state -> String? in
            state.caseCount += count
            guard now - state.shown >= ExplorationProgress.interval else { return nil }
            state.shown = now
            return "\(self.scope.rawValue): \(state.caseCount) cases"
        }
        if let line { StandardError.write(line) }
    }
}
