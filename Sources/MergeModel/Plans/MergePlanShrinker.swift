/// Takes steps and edits away from a failing plan as long as it fails in the same way.
///
/// `Failure` is what two plans must have in common to fail in the same way.
package struct MergePlanShrinker<Failure: Equatable> {
    package private(set) var plan: MergePlan
    package private(set) var runCount = 0
    private let failure: Failure
    private let runCountMax: Int
    private let fail: (MergePlan) -> Failure?

    /// Creates a shrinker of a plan; nil if the plan does not fail.
    ///
    /// `runCountMax`: the number of plans to try; the default is more than enough for some hundred steps. `fail`:
    /// performs a plan, and returns how it fails.
    package init?(_ plan: MergePlan, runCountMax: Int = 20_000, fail: @escaping (MergePlan) -> Failure?) {
        guard let failure = fail(plan) else { return nil }
        self.plan = plan
        self.fail = fail
        self.failure = failure
        self.runCountMax = runCountMax
    }

    /// Makes the plan as small as it can.
    package mutating func shrink() {
        var before = self.plan
        repeat {
            before = self.plan
            self.dropSteps()
            self.dropEdits()
            self.dropPeers()
            self.simplify()
        } while self.plan != before && self.runCount < self.runCountMax
    }

    /// Makes a plan the present one if it fails in the same way.
    @discardableResult
    private mutating func adopt(_ candidate: MergePlan) -> Bool {
        guard candidate != self.plan, candidate.isPossible, self.runCount < self.runCountMax else { return false }
        self.runCount += 1
        guard self.fail(candidate) == self.failure else { return false }
        self.plan = candidate
        return true
    }

    /// Tries a change of the present plan.
    @discardableResult
    private mutating func attempt(_ change: (inout MergePlan) -> Void) -> Bool {
        var candidate = self.plan
        change(&candidate)
        return self.adopt(candidate)
    }

    /// Drops steps, large parts first, from the end, since the last steps are less often needed.
    private mutating func dropSteps() {
        var size = max(1, self.plan.steps.count / 2)
        while true {
            var end = self.plan.steps.count
            while end > 0 {
                let start = max(0, end - size)
                self.attempt { $0.steps.removeSubrange(start..<end) }
                end = start
            }
            if size == 1 { return }
            size /= 2
        }
    }

    private mutating func dropEdits() {
        for position in self.plan.steps.indices {
            guard case .write(let peer, let pause, let edits) = self.plan.steps[position], edits.count > 1 else {
                continue
            }
            var left = edits
            for place in edits.indices.reversed() where left.count > 1 {
                var fewer = left
                fewer.remove(at: place)
                if self.attempt({ $0.steps[position] = .write(peer: peer, pause: pause, edits: fewer) }) {
                    left = fewer
                }
            }
        }
    }

    /// Drops peers that no step names.
    private mutating func dropPeers() {
        for peer in (0..<self.plan.peerCount).reversed() {
            if let candidate = self.plan.without(peer) { self.adopt(candidate) }
        }
    }

    /// Drops traits, times and clocks that do not matter, and makes deliveries those of one change.
    private mutating func simplify() {
        self.attempt { $0.fastPeer = nil }
        for (_, trait) in MergePlan.Traits.words { self.attempt { $0.traits.remove(trait) } }
        for position in self.plan.steps.indices {
            switch self.plan.steps[position] {
            case .write(let peer, 1..., let edits):
                self.attempt { $0.steps[position] = .write(peer: peer, pause: 0, edits: edits) }
            case .deliver(let peer, let chain, 2...):
                self.attempt { $0.steps[position] = .deliver(to: peer, chain: chain, count: 1) }
            default: break
            }
        }
    }
}

extension MergePlan {
    /// Returns the plan without a peer, the others moved up; nil if the peer is named in it.
    fileprivate func without(_ peer: Int) -> MergePlan? {
        // Chains that are opened later are numbered behind the peers, and so move up as well.
        func moved(_ number: Int) -> Int { number > peer ? number - 1 : number }
        var plan = self
        plan.peerCount -= 1
        if self.fastPeer == peer { return nil }
        plan.fastPeer = self.fastPeer.map { moved($0) }
        for (position, step) in self.steps.enumerated() {
            guard !step.numbers.contains(peer) else { return nil }
            plan.steps[position] = step.renumbered(moved)
        }
        return plan
    }
}

extension MergeStep {
    /// The peers and the chains that the step names.
    fileprivate var numbers: [Int] {
        var numbers: [Int] = []
        _ = self.renumbered { number in
            numbers.append(number)
            return number
        }
        return numbers
    }

    /// Returns the same step where peers and chains have other numbers.
    fileprivate func renumbered(_ moved: (Int) -> Int) -> MergeStep {
        switch self {
        case .write(let author, let pause, let edits):
            .write(peer: moved(author), pause: pause, edits: edits.map { $0.renumbered(moved) })
        case .deliver(let to, let chain, let count): .deliver(to: moved(to), chain: moved(chain), count: count)
        case .synchronise(let to, let from): .synchronise(to: moved(to), from: moved(from))
        case .repeated(let to, let chain, let number):
            .repeated(to: moved(to), chain: moved(chain), number: number)
        case .backUp(let peer): .backUp(peer: moved(peer))
        case .restore(let peer, let other): .restore(peer: moved(peer), of: moved(other))
        case .setClock(let peer, let clock): .setClock(peer: moved(peer), clock)
        case .reopen(let peer): .reopen(peer: moved(peer))
        case .lie(let peer, let lie): .lie(peer: moved(peer), lie)
        case .wait: self
        }
    }
}

extension PlannedEdit {
    /// Returns the same edit where chains have other numbers.
    fileprivate func renumbered(_ moved: (Int) -> Int) -> PlannedEdit {
        guard case .restamp(let chain, let first, let last) = self else { return self }
        return .restamp(UInt8(moved(Int(chain))), from: first, to: last)
    }
}
