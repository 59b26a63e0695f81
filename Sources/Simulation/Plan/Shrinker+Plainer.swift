/// What makes a run easier to read without taking anything away.
extension Shrinker {
    /// Small numbers, round times, and nothing said that is so anyway.
    mutating func makePlain() {
        let objects = self.recipe.objects
        _ = self.adopt(self.recipe.renumberingObjects { objects.firstIndex(of: $0) ?? $0 })
        self.sortGroups()
        self.shortenGaps()
        self.simplifyActions()
        self.simplifySurroundings()
        self.attempt { $0.isNetworkPlain = false }
        if self.recipe.seed != 1 {
            for seed in 1...9 as ClosedRange<UInt64> where seed < self.recipe.seed {
                if self.attempt({ $0.seed = seed }) { break }
            }
        }
        self.shortenGaps()
    }

    /// Peers of a cut in the order of their names.
    private mutating func sortGroups() {
        self.attemptOnPlan { plan in
            for position in plan.actions.indices {
                guard case .network(.partition(let groups)) = plan.actions[position].action else { continue }
                let sorted = groups.map { $0.sorted() }.sorted { ($0.first ?? 0) < ($1.first ?? 0) }
                plan.actions[position].action = .network(.partition(sorted))
            }
        }
    }

    /// Rounder and shorter times between one action and the next, and before the end.
    private mutating func shortenGaps() {
        let count = self.recipe.plan.actions.count
        for gap in [.milliseconds(20), .seconds(1), .seconds(5)] as [VirtualTime] {
            if self.attempt({ $0.gaps = Array(repeating: gap, count: count + 1) }) { break }
        }
        for position in 0...count {
            let present = self.recipe.gaps[position]
            let shorter = [0, 1, 2, 5, 10, 20, 30, 60].map { VirtualTime.seconds($0) }.filter { $0 < present }
            let rounder = [VirtualTime.seconds(present.microseconds / 1_000_000 + 1)].filter { _ in
                present.microseconds % 1_000_000 != 0
            }
            for gap in shorter + rounder where !self.isOutOfTime {
                if self.attempt({ $0.gaps[position] = gap }) { break }
            }
        }
    }

    /// The script without any times if it fails like that too, else with them.
    mutating func plainest() -> Scenario {
        var untimed = self.recipe.scenario
        for position in untimed.statements.indices { untimed.statements[position].time = nil }
        return self.failureTime(of: untimed) == nil ? self.recipe.scenario : untimed
    }
}

extension Recipe {
    /// The times from one action to the next, the first counted from the start, and the last until the faults are over.
    var gaps: [VirtualTime] {
        get {
            let times = self.plan.actions.map(\.time) + [self.plan.duration]
            return zip(times, [.zero] + times).map { $0 - $1 }
        }
        set {
            var time = VirtualTime.zero
            for position in self.plan.actions.indices {
                time = time + newValue[position]
                self.plan.actions[position].time = time
            }
            self.plan.duration = time + newValue[self.plan.actions.count]
        }
    }
}
