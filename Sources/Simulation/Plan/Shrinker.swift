/// Makes a failing run smaller as long as it fails in the same way.
///
/// What is tried is always a whole run, so nothing is assumed about what a failure needs. Large parts are taken away
/// first, since runs with less in them take less time.
package struct Shrinker {
    /// What it failed with at first, and what every smaller one must fail with.
    package let finding: Finding
    package var recipe: Recipe
    /// How many runs were made.
    package private(set) var runCount = 0
    /// Lines of a script for a person to read, and peers in it: once it is as small, only cheap things are tried.
    private static let lineCountMax = 10
    private static let peerCountMax = 3
    /// Seeds that are tried where the present one no longer fails: what happens hangs on them too.
    private static let otherSeeds: ClosedRange<UInt64> = 1...4
    /// How much of the time is for making it small; the rest is for making it plain.
    private static let shareForSearch = 0.75

    private let run: Run
    private let start: Double
    private let seconds: Double
    private var deadline: Double
    /// Whether other seeds are tried.
    private var isStubborn = false
    private var tried: Set<Recipe> = []
    private var watchesSilence = true
    /// When the present recipe was seen to fail, counted as its actions are.
    private(set) var failureTime = VirtualTime.zero

    /// Runs a scenario; `watchesSilence` as the runner has it.
    package typealias Run = (_ scenario: Scenario, _ watchesSilence: Bool) -> ScenarioVerdict

    /// - Returns: nil if it does not fail.
    package init?(
        _ recipe: Recipe,
        seconds: Double,
        run: @escaping Run = { ScenarioVerdict(ScenarioRunner.run($0, watchesSilence: $1)) }
    ) {
        self.start = WallClock.seconds()
        self.seconds = seconds
        self.deadline = self.start + seconds * Shrinker.shareForSearch
        self.recipe = recipe
        self.run = run
        let verdict = run(recipe.scenario, true)
        self.runCount = 1
        guard let finding = verdict.finding else { return nil }
        self.finding = finding
        self.failureTime = Self.time(of: verdict, recipe)
        self.watchesSilence = run(recipe.scenario, false).finding != finding
    }

    /// When a run failed, counted as the actions are; where it is not known, at the end.
    private static func time(of verdict: ScenarioVerdict, _ recipe: Recipe) -> VirtualTime {
        let time = VirtualTime.microseconds(verdict.simulatedMicroseconds)
        return time > Simulation.preparation ? time - Simulation.preparation : recipe.plan.duration
    }

    /// Shrinks, and returns the script that is left.
    package mutating func shrink() -> Scenario {
        self.cutOff()
        self.simplifySurroundings()
        self.dropPeers(mayReplace: false)
        self.dropActions(from: max(1, self.recipe.plan.actions.count / 2))
        self.tighten()
        if !self.isSmall {
            self.isStubborn = true
            self.tried = []
            self.tighten()
        }
        self.deadline = self.start + self.seconds
        self.isStubborn = false
        self.makePlain()
        return self.plainest()
    }

    /// Lines of the script, with its remark.
    var lineCount: Int { self.recipe.scenario.lines.count + 1 }

    private var isSmall: Bool {
        self.lineCount <= Shrinker.lineCountMax && self.recipe.plan.peerCount <= Shrinker.peerCountMax
    }

    var isOutOfTime: Bool { WallClock.seconds() > self.deadline }

    /// Takes away whatever it can until there is nothing left to take away.
    private mutating func tighten() {
        while !self.isOutOfTime {
            let before = self.recipe
            self.cutOff()
            // With many actions left, a run takes long, and one peer seldom does for another.
            self.dropPeers(mayReplace: self.recipe.plan.actions.count <= 20)
            self.dropActions(from: max(1, min(8, self.recipe.plan.actions.count / 2)))
            self.simplifyActions()
            self.joinTransactions()
            self.joinObjects()
            self.simplifySurroundings()
            if self.recipe == before { return }
        }
    }

    // MARK: - Trying

    /// Makes a recipe the present one if it fails in the same way.
    mutating func adopt(_ candidate: Recipe) -> Bool {
        if self.adoptAsItIs(candidate) { return true }
        guard self.isStubborn else { return false }
        for seed in Shrinker.otherSeeds where seed != candidate.seed {
            var other = candidate
            other.seed = seed
            if self.adoptAsItIs(other) { return true }
        }
        return false
    }

    private mutating func adoptAsItIs(_ candidate: Recipe) -> Bool {
        guard candidate != self.recipe, !self.isOutOfTime, self.tried.insert(candidate).inserted,
            let time = self.failureTime(of: candidate.scenario)
        else { return false }
        self.recipe = candidate
        self.failureTime = time
        return true
    }

    /// When a scenario fails in the same way; nil if it does not.
    mutating func failureTime(of scenario: Scenario) -> VirtualTime? {
        self.runCount += 1
        let verdict = self.run(scenario, self.watchesSilence)
        guard verdict.finding?.kind == self.finding.kind else { return nil }
        return Self.time(of: verdict, self.recipe)
    }

    /// Tries a change of the present recipe.
    @discardableResult
    mutating func attempt(_ change: (inout Recipe) -> Void) -> Bool {
        var candidate = self.recipe
        change(&candidate)
        return self.adopt(candidate)
    }

    @discardableResult
    mutating func attemptOnPlan(_ change: (inout Plan) -> Void) -> Bool { self.attempt { change(&$0.plan) } }
}
