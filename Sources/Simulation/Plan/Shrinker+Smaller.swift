/// What takes something away from a run.
extension Shrinker {
    /// Leaves out what comes after the failure.
    mutating func cutOff() {
        let end = self.failureTime
        guard end < self.recipe.plan.duration else {
            guard let last = self.recipe.plan.actions.last else { return }
            self.attemptOnPlan { $0.duration = min($0.duration, last.time + .seconds(1)) }
            return
        }
        self.attemptOnPlan { plan in
            plan.actions.removeAll { $0.time > end }
            plan.duration = end
        }
    }

    /// Plain links and nothing that lasts: all at once, or one after the other.
    mutating func simplifySurroundings() {
        let isPlain = self.attempt { recipe in
            recipe.isNetworkPlain = true
            recipe.plan.topology = .mesh
            recipe.plan.links = .lan
            recipe.plan.faults = []
            recipe.plan.checkpointPageCount = Scenario.usualCheckpointPageCount
            recipe.plan.endsWhenEqual = false
        }
        if !isPlain {
            self.attemptOnPlan { $0.faults = [] }
            for fault in Fault.switches { self.attemptOnPlan { $0.faults.remove(fault) } }
            self.attemptOnPlan { $0.topology = .mesh }
            self.attemptOnPlan { $0.links = .lan }
            self.attemptOnPlan { $0.checkpointPageCount = Scenario.usualCheckpointPageCount }
            self.attemptOnPlan { $0.hasShippedLimits = false }
            self.attemptOnPlan { $0.endsWhenEqual = false }
        }
        self.attemptOnPlan { $0.core = Array(0..<$0.peerCount) }
    }

    /// Fewer peers: without one and what it does, or with another in its place.
    mutating func dropPeers(mayReplace: Bool) {
        var peer = self.recipe.plan.peerCount - 1
        while peer >= 0, self.recipe.plan.peerCount > 1, !self.isOutOfTime {
            let count = self.recipe.plan.peerCount
            var isGone = self.adopt(self.recipe.replacing(peer, by: nil))
            if !isGone, mayReplace, count > 2 {
                isGone = (0..<count).contains { $0 != peer && self.adopt(self.recipe.replacing(peer, by: $0)) }
            }
            peer -= 1
        }
    }

    /// Fewer actions: many at a time first.
    mutating func dropActions(from first: Int) {
        var size = first
        while !self.isOutOfTime {
            var end = self.recipe.plan.actions.count
            while end > 0, !self.isOutOfTime {
                let start = max(0, end - size)
                self.attemptOnPlan { $0.actions.removeSubrange(start..<end) }
                end = start
            }
            if size == 1 { return }
            size = max(1, size / 2)
        }
    }

    /// Simpler actions, one at a time.
    mutating func simplifyActions() {
        var position = 0
        while position < self.recipe.plan.actions.count, !self.isOutOfTime {
            let forms = self.recipe.plan.actions[position].action.simplerForms
            let isSimpler = forms.contains { form in self.attemptOnPlan { $0.actions[position].action = form } }
            if !isSimpler { position += 1 }
        }
    }

    /// Two transactions of one peer as one.
    mutating func joinTransactions() {
        var later = self.recipe.plan.actions.count - 1
        while later > 0, !self.isOutOfTime {
            defer { later -= 1 }
            guard case .write(let peer, let steps) = self.recipe.plan.actions[later].action else { continue }
            for earlier in (0..<later).reversed() {
                guard case .write(peer, let first) = self.recipe.plan.actions[earlier].action else { continue }
                let isJoined = self.attemptOnPlan { plan in
                    plan.actions[earlier].action = .write(peer: peer, first + steps)
                    plan.actions.remove(at: later)
                }
                if isJoined { break }
            }
        }
    }

    /// Fewer objects: one in the place of another.
    mutating func joinObjects() {
        for object in self.recipe.objects.reversed() {
            for other in self.recipe.objects where other < object && !self.isOutOfTime {
                if self.adopt(self.recipe.renumberingObjects { $0 == object ? other : $0 }) { break }
            }
        }
    }
}

extension Recipe {
    /// The objects of its transactions, in the order in which they come up.
    var objects: [Int] {
        var objects: [Int] = []
        for timed in self.plan.actions {
            let named: [Int]
            switch timed.action {
            case .write(_, let steps): named = steps.flatMap(\.objects)
            case .branch(_, .write(_, let steps)): named = steps.flatMap(\.objects)
            case .history(_, .bringBack(let object)), .history(_, .forget(let object, _)): named = [object]
            case .sharing(_, let action): named = action.objects
            default: named = []
            }
            for object in named where !objects.contains(object) { objects.append(object) }
        }
        return objects
    }

    func renumberingObjects(_ number: (Int) -> Int) -> Recipe {
        var recipe = self
        for position in recipe.plan.actions.indices {
            let action = recipe.plan.actions[position].action
            recipe.plan.actions[position].action = action.renumberingObjects(number)
        }
        return recipe
    }

    /// Without a peer, and with another doing what it did, or nobody.
    func replacing(_ peer: Int, by other: Int?) -> Recipe {
        func number(_ old: Int) -> Int? {
            guard let kept = old == peer ? other : old else { return nil }
            return kept > peer ? kept - 1 : kept
        }
        var recipe = self
        recipe.plan.peerCount -= 1
        if !recipe.plan.users.isEmpty {
            recipe.plan.users.remove(at: peer)
            recipe.plan.users = Plan.renumbered(recipe.plan.users)
        }
        recipe.plan.actions = self.plan.actions.compactMap { timed in
            timed.action.renumberingPeers(number).map { TimedAction(time: timed.time, action: $0) }
        }
        recipe.plan.core = self.plan.core.filter { $0 != peer }.compactMap(number)
        if recipe.plan.core.isEmpty { recipe.plan.core = Array(0..<recipe.plan.peerCount) }
        return recipe
    }
}
