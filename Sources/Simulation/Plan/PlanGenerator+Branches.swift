/// When users write on branches of the workspace, and merge them.
extension PlanGenerator {
    /// Few, so that peers that are apart give one name to two.
    private static let branchCount = 3

    /// Of a hundred runs with branches, how many have some beside the other work, whatever faults there are.
    private static let besideWorkPercent = 30

    mutating func addBranchesBesideWork() {
        guard self.plan.faults.contains(.branchesUsed), self.tape.chance(Self.besideWorkPercent, .plan) else { return }
        self.addBranches()
    }

    /// An episode: a branch is created, several peers write on it and beside it, and some merge it.
    mutating func addBranches() {
        let (peer, other) = self.pair()
        let branch = self.tape.below(PlanGenerator.branchCount, .plan)
        var time = self.time()
        func next(_ low: UInt64, _ high: UInt64) -> VirtualTime {
            time = time + .milliseconds(self.tape.between(low, high, .plan))
            return time
        }
        func someone() -> Int { self.tape.chance(65, .plan) ? peer : other }
        self.add(.write(peer: peer, [.set(self.tape.below(3, .plan), property: 0)]), at: time)
        let isOfThePast = self.tape.chance(25, .plan)
        if isOfThePast {
            self.add(.history(peer: peer, .remember), at: next(1, 20))
            self.add(.write(peer: peer, [self.step(peer)]), at: next(1, 20))
        }
        let parent = self.tape.chance(25, .plan) ? (branch + 1) % PlanGenerator.branchCount : nil
        self.add(.branch(peer: peer, .open(branch, leaving: parent, isOfThePast: isOfThePast)), at: next(1, 50))
        for _ in 0..<1 + self.tape.below(4, .plan) {
            let (writer, step) = (someone(), self.step(peer))
            let isOnBranch = self.tape.chance(65, .plan)
            let beside = Action.write(peer: writer, [step])
            self.add(isOnBranch ? .branch(peer: writer, .write(branch, [step])) : beside, at: next(1, 300))
        }
        if self.plan.faults.contains(.historyUsed), self.tape.chance(60, .plan) {
            for _ in 0..<1 + self.tape.below(4, .plan) {
                let isRedo = self.tape.chance(35, .plan)
                self.add(.branch(peer: someone(), .reverse(branch, isRedo: isRedo)), at: next(1, 200))
            }
        }
        if self.tape.chance(30, .plan) { self.addNested(in: branch, by: someone(), at: next(1, 200)) }
        if self.tape.chance(25, .plan) {
            self.add(.branch(peer: someone(), .merge(nil, into: branch)), at: next(1, 200))
        }
        guard self.tape.chance(75, .plan) else { return }
        let target = self.tape.chance(70, .plan) ? nil : parent
        self.add(.branch(peer: peer, .merge(branch, into: target)), at: next(1, 500))
        // Both at one moment, so that neither has seen the other's.
        if self.tape.chance(35, .plan) { self.add(.branch(peer: other, .merge(branch, into: target)), at: time) }
        if self.plan.faults.contains(.historyUsed), self.tape.chance(40, .plan) {
            // Back and forth, as far as the steps go that the merge has brought.
            let count = 1 + self.tape.below(3, .plan)
            let reverser = someone()
            for verb in [HistoryAction.undo, .redo, .undo] {
                for _ in 0..<count { self.add(.history(peer: reverser, verb), at: next(1, 200)) }
                guard self.tape.chance(60, .plan) else { break }
            }
        }
        if self.tape.chance(50, .plan) {
            self.add(.branch(peer: someone(), .write(branch, [self.step(peer)])), at: next(1, 200))
            if self.tape.chance(40, .plan) {
                self.add(.branch(peer: someone(), .merge(branch, into: nil)), at: next(1, 200))
            }
        }
        if self.tape.chance(20, .plan) { self.add(.branch(peer: someone(), .close(branch)), at: next(1, 500)) }
    }

    /// A branch of the branch, which is merged there, or past it.
    private mutating func addNested(in branch: Int, by peer: Int, at start: VirtualTime) {
        let nested = (branch + 2) % PlanGenerator.branchCount
        self.add(.branch(peer: peer, .open(nested, leaving: branch, isOfThePast: false)), at: start)
        for count in 1...1 + self.tape.below(2, .plan) {
            let time = start + .milliseconds(UInt64(count) * 20)
            self.add(.branch(peer: peer, .write(nested, [self.step(peer)])), at: time)
        }
        let target = self.tape.chance(60, .plan) ? branch : nil
        guard self.tape.chance(70, .plan) else { return }
        self.add(.branch(peer: peer, .merge(nested, into: target)), at: start + .milliseconds(80))
    }
}
