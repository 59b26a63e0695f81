/// When users take back what they did, and bring back what was.
extension PlanGenerator {
    /// Of a hundred writes of a burst, after how many its peer takes something back or does it again.
    private static let undoPercent = 15

    /// What may follow a write, where users do such things at all.
    mutating func addUndo(after time: VirtualTime, by peer: Int) {
        guard self.plan.faults.contains(.historyUsed), self.tape.chance(PlanGenerator.undoPercent, .plan) else {
            return
        }
        // Half of the time another device of the same user takes back what it has done itself.
        let reverser = self.tape.chance(50, .plan) ? peer : self.peer()
        let pause = VirtualTime.milliseconds(self.tape.between(1, 300, .plan))
        self.add(.history(peer: reverser, self.tape.chance(65, .plan) ? .undo : .redo), at: time + pause)
    }

    /// An episode: something is kept in mind, edited, taken back, done again and brought back.
    mutating func addUndos() {
        let (peer, other) = self.pair()
        let object = self.tape.below(3, .plan)
        var time = self.time()
        func next(_ low: UInt64, _ high: UInt64) -> VirtualTime {
            time = time + .milliseconds(self.tape.between(low, high, .plan))
            return time
        }
        self.add(.write(peer: peer, [.set(object, property: 0), .set(object, property: 1)]), at: time)
        self.add(.history(peer: peer, .remember), at: next(1, 50))
        let isInActions = self.tape.chance(40, .plan)
        for _ in 0..<1 + self.tape.below(3, .plan) {
            if isInActions { self.addAct(peer, at: next(1, 20)) }
            self.add(.write(peer: peer, [self.step(peer)]), at: next(1, 300))
            if isInActions { self.add(.write(peer: peer, [self.step(peer)]), at: next(1, 300)) }
        }
        // Both at one moment, so that neither has seen the other's.
        let isTogether = self.tape.chance(50, .plan)
        if isTogether {
            let both: WorkStep = self.tape.chance(50, .plan) ? .delete(object) : .set(object, property: 0)
            self.add(.write(peer: peer, [both]), at: next(1, 300))
            self.add(.write(peer: other, [both]), at: time)
        }
        let count = 1 + self.tape.below(3, .plan)
        for _ in 0..<count {
            let reverser = self.tape.chance(70, .plan) ? peer : other
            self.add(.history(peer: reverser, .undo), at: next(1, 1_000))
            if isInActions, self.tape.chance(30, .plan) { self.addAct(reverser, at: next(1, 20)) }
        }
        for _ in 0..<self.tape.below(count + 2, .plan) {
            let reverser = self.tape.chance(70, .plan) ? peer : other
            self.add(.history(peer: reverser, .redo), at: next(1, 500))
        }
        for _ in 0..<self.tape.below(count + 1, .plan) { self.add(.history(peer: peer, .undo), at: next(1, 500)) }
        if self.tape.chance(40, .plan) { self.add(.history(peer: peer, .bringBack(object)), at: next(1, 500)) }
    }

    /// The user of a peer works with one of two programs from now on, or with none that has a name.
    private mutating func addAct(_ peer: Int, at time: VirtualTime) {
        let program = self.tape.chance(85, .plan) ? self.tape.below(2, .plan) : nil
        let isNew = program == nil || self.tape.chance(40, .plan)
        self.add(.history(peer: peer, .act(program: program, isNew: isNew)), at: time)
    }

    /// An episode: a property is written again and again, and somebody drops what was replaced, perhaps while others
    /// are away or write.
    mutating func addCompactions() {
        let (peer, other) = self.pair()
        let object = self.tape.below(3, .plan)
        var time = self.time()
        for _ in 0..<2 + self.tape.below(6, .plan) {
            let writer = self.tape.chance(70, .plan) ? peer : other
            let property = self.tape.below(2, .plan)
            self.add(.write(peer: writer, [.set(object, property: property), self.step(writer)]), at: time)
            time = time + .milliseconds(self.tape.between(1, 2_000, .plan))
        }
        for _ in 0..<1 + self.tape.below(3, .plan) {
            let isShort = self.tape.chance(60, .plan)
            let keeping = VirtualTime.milliseconds(isShort ? 0 : self.tape.between(1, 20_000, .plan))
            let compacter = self.tape.chance(60, .plan) ? peer : self.peer()
            self.add(.history(peer: compacter, .compact(keeping: keeping)), at: time)
            time = time + .milliseconds(self.tape.between(1, 10_000, .plan))
            self.add(.write(peer: other, [.set(object, property: 0)]), at: time)
        }
    }

    /// An episode: a property is written again and again, and somebody has its past erased, perhaps while others write
    /// it, are away, or have it erased as well.
    mutating func addErasures() {
        let (peer, other) = self.pair()
        let (object, property) = (self.tape.below(3, .plan), self.tape.below(2, .plan))
        var time = self.time()
        for _ in 0..<1 + self.tape.below(5, .plan) {
            let writer = self.tape.chance(60, .plan) ? peer : other
            let step: WorkStep =
                self.tape.chance(85, .plan) ? .set(object, property: property) : self.step(writer)
            self.add(.write(peer: writer, [step, self.step(writer)]), at: time)
            time = time + .milliseconds(self.tape.between(1, 2_000, .plan))
        }
        let name = Workload.propertyNames[property]
        for _ in 0..<1 + self.tape.below(3, .plan) {
            let asker = self.tape.chance(60, .plan) ? peer : self.peer()
            self.add(.history(peer: asker, .forget(object, name: name)), at: time)
            // At one moment, so that neither has seen the other's.
            if self.tape.chance(40, .plan) {
                self.add(.write(peer: other, [.set(object, property: property)]), at: time)
            }
            time = time + .milliseconds(self.tape.between(1, 5_000, .plan))
        }
    }
}
