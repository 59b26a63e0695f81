/// Takes steps and edits away from a failing history as long as it fails in the same way.
struct HistoryShrinker {
    private(set) var plan: HistoryPlan
    private(set) var runCount = 0
    private let kind: Finding.Kind
    private let find: (HistoryPlan) -> Finding?

    /// More than enough for some hundred steps.
    private static let runCountMax = 20_000

    /// Nil if nothing is found in the plan.
    ///
    /// `find`: performs a plan, and returns what does not hold.
    init?(_ plan: HistoryPlan, find: @escaping (HistoryPlan) -> Finding?) {
        guard let finding = find(plan) else { return nil }
        self.plan = plan
        self.find = find
        self.kind = finding.kind
    }

    /// Makes the plan as small as it can.
    mutating func shrink() {
        var before = self.plan
        repeat {
            before = self.plan
            self.dropSteps()
            self.dropEdits()
            self.dropPeers()
            self.simplify()
        } while self.plan != before && self.runCount < HistoryShrinker.runCountMax
    }

    /// Makes a plan the present one if it fails in the same way.
    @discardableResult
    private mutating func adopt(_ candidate: HistoryPlan) -> Bool {
        guard candidate != self.plan, self.runCount < HistoryShrinker.runCountMax else { return false }
        self.runCount += 1
        guard self.find(candidate)?.kind == self.kind else { return false }
        self.plan = candidate
        return true
    }

    /// Large parts first, from the end, since the last steps are less often needed.
    private mutating func dropSteps() {
        var size = max(1, self.plan.steps.count / 2)
        while true {
            var end = self.plan.steps.count
            while end > 0 {
                let start = max(0, end - size)
                var candidate = self.plan
                candidate.steps.removeSubrange(start..<end)
                self.adopt(candidate)
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
                if self.adopt(self.plan.replacing(position, by: .write(peer: peer, pause: pause, edits: fewer))) {
                    left = fewer
                }
            }
        }
    }

    /// Takes away peers that no step names.
    private mutating func dropPeers() {
        for peer in (0..<self.plan.peerCount).reversed()
        where self.plan.peerCount > HistoryPlan.peerCounts.lowerBound {
            if let candidate = self.plan.without(peer) { self.adopt(candidate) }
        }
    }

    /// Times and clocks that do not matter, and deliveries of one change.
    private mutating func simplify() {
        var candidate = self.plan
        candidate.fastPeer = nil
        self.adopt(candidate)
        for position in self.plan.steps.indices {
            switch self.plan.steps[position] {
            case .write(let peer, 1..., let edits):
                self.adopt(self.plan.replacing(position, by: .write(peer: peer, pause: 0, edits: edits)))
            case .deliver(let peer, let chain, 2...):
                self.adopt(self.plan.replacing(position, by: .deliver(to: peer, chain: chain, count: 1)))
            default: break
            }
        }
    }
}

extension HistoryPlan {
    /// The plan without a peer, the others moved up; nil if the peer is named in it.
    fileprivate func without(_ peer: Int) -> HistoryPlan? {
        func moved(_ number: Int) -> Int { number > peer ? number - 1 : number }
        var plan = self
        plan.peerCount -= 1
        if self.fastPeer == peer { return nil }
        plan.fastPeer = self.fastPeer.map { moved($0) }
        for (position, step) in self.steps.enumerated() {
            guard !step.peers.contains(peer) else { return nil }
            plan.steps[position] =
                switch step {
                case .write(let author, let pause, let edits):
                    .write(peer: moved(author), pause: pause, edits: edits.map { $0.renamed(moved) })
                case .deliver(let to, let chain, let count):
                    .deliver(to: moved(to), chain: moved(chain), count: count)
                case .synchronise(let to, let from): .synchronise(to: moved(to), from: moved(from))
                case .repeated(let to, let chain, let number):
                    .repeated(to: moved(to), chain: moved(chain), number: number)
                case .backUp(let peer): .backUp(peer: moved(peer))
                case .restore(let peer): .restore(peer: moved(peer))
                case .setClock(let peer, let clock): .setClock(peer: moved(peer), clock)
                }
        }
        return plan
    }

    fileprivate func replacing(_ position: Int, by step: HistoryStep) -> HistoryPlan {
        var plan = self
        plan.steps[position] = step
        return plan
    }
}

extension HistoryEdit {
    /// The same edit where peers have other numbers.
    fileprivate func renamed(_ moved: (Int) -> Int) -> HistoryEdit {
        guard case .restamp(let chain, let first, let last) = self else { return self }
        return .restamp(UInt8(moved(Int(chain))), from: first, to: last)
    }
}

extension HistoryStep {
    /// Everyone whom the step names.
    fileprivate var peers: [Int] {
        switch self {
        case .write(let peer, _, let edits):
            [peer] + edits.compactMap { if case .restamp(let chain, _, _) = $0 { Int(chain) } else { nil } }
        case .deliver(let peer, let chain, _), .repeated(let peer, let chain, _): [peer, chain]
        case .synchronise(let peer, let other): [peer, other]
        case .backUp(let peer), .restore(let peer), .setClock(let peer, _): [peer]
        }
    }
}
