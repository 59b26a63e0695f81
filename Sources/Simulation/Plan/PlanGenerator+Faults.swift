/// When and how the faults that are switched on come.
extension PlanGenerator {
    /// How often at most a fault comes in one run.
    private static let occurrenceCountMax = 3
    /// How many faults come at most in a small run.
    private static let smallFaultCountMax = 8
    /// Of a hundred times that small pushes are on, how often they come: they are the longest of all.
    private static let smallPushesPercent = 20

    mutating func addFaults() {
        if self.plan.topology == .sneakernet { self.addMeetings() }
        if self.plan.topology == .churn { self.addChurn() }
        if self.isSmall {
            let faults = Fault.allCases.filter { self.plan.faults.contains($0) }
            guard !faults.isEmpty else { return }
            for _ in 0..<1 + self.tape.below(PlanGenerator.smallFaultCountMax, .plan) {
                self.add(self.tape.pick(faults, .plan))
            }
            return
        }
        // Always drawn, in the order of the list, so that one switch does not shift what the others draw.
        for fault in Fault.allCases where self.plan.faults.contains(fault) {
            for _ in 0..<1 + self.tape.below(PlanGenerator.occurrenceCountMax, .plan) { self.add(fault) }
        }
    }

    private mutating func add(_ fault: Fault) {
        switch fault {
        case .slowLinks, .mobileLinks, .satelliteLinks, .lostSegments, .fragmentation, .lostBeacons, .sneakernet,
            .lostWrites, .reorderedWrites, .tornWrites, .coarseClocks:
            // Not events: they change how links and clocks are, and what a power cut does.
            return
        case .connectionReset, .cutAfterBytes, .cutInHandshake, .oneSidedCut, .truncatedStream, .stalledLink,
            .halfOpenLink, .bitFlip, .refusedDials, .simultaneousDial, .partition, .isolation, .swappedIdentity:
            self.addNetworkFault(fault)
        case .replayedHandshake, .replayedStream, .garbageStranger, .silentStranger, .strangerFlood:
            self.addStranger(fault)
        case .clockOffset, .clockHourAhead, .clockDayBehind, .clockYearsAhead, .clockAtEpoch, .clockDrift, .clockStuck,
            .clockJump:
            self.addClockFault(fault)
        case .restampAsked: self.add(.restamp(peer: self.peer()), at: self.time())
        case .smallPushes: self.addSmallPushes()
        case .historyUsed: self.addUndos()
        case .branchesUsed: self.addBranches()
        case .historyCompacted: self.addCompactions()
        case .pastErased: self.addErasures()
        case .kill, .powerCut, .killAtStoreCall, .powerCutAtStoreCall, .restart, .pause, .clockBackAtRestart:
            self.addProcessFault(fault)
        case .readError, .writeError, .syncError, .diskFull, .lyingSync, .bitRot, .lostLog, .restoredMachine,
            .restoredDatabase, .clonedDisk, .copiedDatabase:
            self.addDiskFault(fault)
        case .hostileWrite, .equivocation, .replayedChanges, .withheldChanges, .falseHeads, .missingDependency,
            .hostileStamp, .backdating, .repeatedForks, .hostileRestamp, .hostileReversal, .spoiledRun,
            .malformedMessage, .slowMember, .flood, .hostileStays:
            self.addHostility(fault)
        case .pairingCut, .pairingInviterEnds, .pairingNewcomerGone, .pairingReplayed, .wrongInvite, .expiredInvite,
            .inviteUsedTwice:
            self.add(.pair(inviter: self.peer(), self.pairingTrouble(fault)), at: self.time())
        case .lateJoin: self.add(.join(inviter: self.peer()), at: self.time())
        case .earlyLeave:
            let outside = (0..<self.plan.peerCount).filter { !self.plan.core.contains($0) }
            guard !outside.isEmpty else { return }
            self.add(.leave(peer: self.tape.pick(outside, .plan)), at: self.time())
        }
    }

    // MARK: - Network

    private mutating func addMeetings() {
        var time = VirtualTime.zero
        while time < self.plan.duration {
            let (left, right) = self.pair()
            let others = (0..<self.plan.peerCount).filter { $0 != left && $0 != right }
            self.add(.network(.partition([[left, right]] + others.map { [$0] })), at: time)
            time = time + .seconds(self.tape.between(5, 60, .plan))
        }
    }

    /// A few devices join, and those outside the core may leave.
    private mutating func addChurn() {
        for _ in 0..<1 + self.tape.below(PlanGenerator.occurrenceCountMax, .plan) {
            self.add(.join(inviter: self.peer()), at: self.time())
        }
        for peer in 0..<self.plan.peerCount where !self.plan.core.contains(peer) && self.tape.chance(50, .plan) {
            self.add(.leave(peer: peer), at: self.time())
        }
    }

    private func seconds(_ low: UInt64, _ high: UInt64) -> VirtualTime {
        .milliseconds(self.tape.between(low * 1_000, high * 1_000, .plan))
    }

    private mutating func addNetworkFault(_ fault: Fault) {
        let time = self.time()
        let (left, right) = self.pair()
        switch fault {
        case .connectionReset: self.add(.network(.reset(left, right)), at: time)
        case .cutAfterBytes:
            let count = self.tape.pick([200, 1_000, 4_096, 20_000], .plan) + self.tape.below(2_000, .plan)
            self.add(.network(.cut(from: left, to: right, afterByteCount: count)), at: time)
        case .cutInHandshake:
            let count = self.tape.pick([0, 1, 8, 10, 105, 106, 107, 108, 155, 156, 157, 160, 170, 199], .plan)
            self.add(.network(.reset(left, right)), at: time)
            self.add(.network(.cut(from: left, to: right, afterByteCount: count)), at: time + .milliseconds(1))
        case .oneSidedCut: self.add(.network(.oneSidedCut(left, right, self.seconds(1, 60))), at: time)
        case .truncatedStream: self.add(.network(.truncate(from: left, to: right)), at: time)
        case .stalledLink: self.add(.network(.stall(left, right, self.seconds(5, 60))), at: time)
        case .halfOpenLink: self.add(.network(.halfOpen(from: left, to: right, self.seconds(5, 90))), at: time)
        case .bitFlip:
            // Half of them hit the length of a record, and make it much longer.
            let bit = self.tape.chance(50, .plan) ? self.tape.pick([4, 5, 6, 7], .plan) : self.tape.below(8_000, .plan)
            self.add(.network(.flipBit(from: left, to: right, bit: bit)), at: time)
        case .refusedDials: self.add(.network(.refuseDials(to: left, self.seconds(1, 30))), at: time)
        case .swappedIdentity: self.add(.network(.impersonate(left, by: right, self.seconds(5, 60))), at: time)
        case .simultaneousDial: self.add(.network(.dialTogether(left, right)), at: time)
        case .partition:
            let inside = (0..<self.plan.peerCount).filter { _ in self.tape.chance(50, .plan) }
            let outside = (0..<self.plan.peerCount).filter { !inside.contains($0) }
            self.add(.network(.partition([inside, outside].filter { !$0.isEmpty })), at: time)
            self.add(.network(.healPartition), at: time + self.seconds(1, 60))
        case .isolation:
            self.add(.network(.partition([[left], (0..<self.plan.peerCount).filter { $0 != left }])), at: time)
            self.add(.network(.healPartition), at: time + self.seconds(1, 60))
        default: preconditionFailure("\(fault) is not a fault of the network")
        }
    }

    private mutating func addStranger(_ fault: Fault) {
        let action: StrangerAction
        switch fault {
        case .replayedHandshake: action = .replayHandshake
        case .replayedStream: action = .replayStream
        case .garbageStranger: action = .garbage(byteCount: 1 + self.tape.below(300, .plan))
        case .silentStranger: action = .silence
        default: action = .flood(connectionCount: 8 + self.tape.below(40, .plan))
        }
        self.add(.stranger(peer: self.peer(), action), at: self.time())
    }

    // MARK: - Machines

    private mutating func addClockFault(_ fault: Fault) {
        let action: ClockAction
        let peer = self.peer()
        let time = self.time()
        switch fault {
        case .clockOffset: action = .offset(milliseconds: Int64(self.tape.below(600_000, .plan)) - 300_000)
        case .clockHourAhead: action = .offset(milliseconds: 3_600_000)
        case .clockDayBehind: action = .offset(milliseconds: -86_400_000)
        case .clockYearsAhead: action = .offset(milliseconds: 10 * 365 * 86_400_000)
        case .clockAtEpoch: action = .epoch
        case .clockDrift: action = .drift(partsPerMillion: self.tape.below(401, .plan) - 200)
        case .clockStuck: action = .stuck
        default: action = .jump(milliseconds: Int64(self.tape.below(7_200_000, .plan)) - 3_600_000)
        }
        self.add(.clock(peer: peer, action), at: time)
        let isFarAhead = fault == .clockHourAhead || fault == .clockYearsAhead
        if isFarAhead, self.tape.chance(50, .plan) { self.addOthersAhead(peer, action, at: time) }
    }

    /// Other clocks are as far ahead, so that each edits what the other wrote; then all are put right, or the first
    /// machine never comes back.
    private mutating func addOthersAhead(_ first: Int, _ action: ClockAction, at time: VirtualTime) {
        let object = self.tape.below(3, .plan)
        self.add(.write(peer: first, [.set(object, property: 0)]), at: time + .milliseconds(1))
        for peer in 0..<self.plan.peerCount where peer != first && self.tape.chance(60, .plan) {
            self.add(.clock(peer: peer, action), at: time)
            self.add(.write(peer: peer, [.set(object, property: 0)]), at: time + self.seconds(1, 3))
        }
        self.add(.write(peer: first, [.set(object, property: 0)]), at: time + .seconds(4))
        guard self.tape.chance(50, .plan) else { return }
        let later = time + self.seconds(4, 8)
        if self.plan.core.contains(first) || self.tape.chance(50, .plan) {
            for peer in 0..<self.plan.peerCount where self.tape.chance(80, .plan) {
                self.add(.clock(peer: peer, .offset(milliseconds: 0)), at: later)
            }
        } else {
            self.add(.leave(peer: first), at: later)
        }
    }

    /// One peer after another writes little, very often.
    private mutating func addSmallPushes() {
        guard self.tape.chance(PlanGenerator.smallPushesPercent, .plan) else { return }
        var time = VirtualTime.zero
        for _ in 0..<2 {
            let peer = self.peer()
            self.add(.write(peer: peer, (0..<3).map { .create($0, parent: nil) }), at: time)
            for number in 0..<100 + self.tape.below(150, .plan) {
                time = time + .milliseconds(self.tape.between(2, 20, .plan))
                self.add(.write(peer: peer, [.unset(number % 3, property: 0)]), at: time)
            }
        }
    }

    private func powerLoss() -> PowerLoss {
        var outcomes: [PowerLoss] = [.keepsAll]
        if self.plan.faults.contains(.lostWrites) { outcomes += [.losesAll, .losesTail] }
        if self.plan.faults.contains(.reorderedWrites) { outcomes.append(.losesSome) }
        if self.plan.faults.contains(.tornWrites) { outcomes.append(.tears) }
        return self.tape.pick(outcomes, .plan)
    }

    private mutating func addProcessFault(_ fault: Fault) {
        let downtime = self.seconds(0, 40)
        let calls = 1 + self.tape.below(120, .plan)
        let action: ProcessAction
        switch fault {
        case .kill: action = .kill(downtime: downtime)
        case .powerCut: action = .powerCut(self.powerLoss(), downtime: downtime)
        case .killAtStoreCall:
            guard self.tape.chance(50, .plan) else {
                action = .killAtStoreCall(calls, downtime: downtime)
                break
            }
            return self.addKillInCommit()
        case .powerCutAtStoreCall: action = .powerCutAtStoreCall(calls, self.powerLoss(), downtime: downtime)
        case .restart: action = .restart(downtime: downtime, clockBackMilliseconds: 0)
        case .clockBackAtRestart:
            action = .restart(downtime: downtime, clockBackMilliseconds: self.tape.between(1, 86_400_000, .plan))
        default: action = .pause(self.seconds(1, 600))
        }
        self.add(.process(peer: self.peer(), action), at: self.time())
    }

    /// The process ends in the middle of a commit of its own, and the power soon after it is back.
    private mutating func addKillInCommit() {
        let peer = self.peer()
        let time = self.time()
        let calls = 1 + self.tape.below(20, .plan)
        self.add(.process(peer: peer, .killAtStoreCall(calls, downtime: .milliseconds(200))), at: time)
        self.add(.write(peer: peer, [.set(self.tape.below(3, .plan), property: 0)]), at: time)
        guard self.plan.faults.contains(.powerCut) else { return }
        self.add(.process(peer: peer, .powerCut(self.powerLoss(), downtime: .seconds(1))), at: time + .seconds(2))
    }

    private mutating func addDiskFault(_ fault: Fault) {
        let peer = self.peer()
        let time = self.time()
        let after = time + self.seconds(1, 60)
        switch fault {
        case .readError: self.add(.disk(peer: peer, .failNext(.read)), at: time)
        case .writeError: self.add(.disk(peer: peer, .failNext(.write)), at: time)
        case .syncError: self.add(.disk(peer: peer, .failNext(.sync)), at: time)
        case .diskFull: self.add(.disk(peer: peer, .full(self.seconds(1, 40))), at: time)
        case .lyingSync:
            self.add(.disk(peer: peer, .lie(self.seconds(1, 40))), at: time)
            self.add(.process(peer: peer, .powerCut(.losesAll, downtime: self.seconds(0, 10))), at: after)
        case .bitRot: self.add(.disk(peer: peer, .flipBit(seed: self.tape.below(1 << 20, .plan))), at: time)
        case .lostLog: self.add(.disk(peer: peer, .loseLog), at: time)
        case .restoredMachine, .restoredDatabase:
            self.add(.disk(peer: peer, .backUp), at: time)
            let isDatabaseAlone = fault == .restoredDatabase
            if isDatabaseAlone, self.tape.chance(80, .plan) {
                // Opened again since, the database has another token than its copy.
                let middle = VirtualTime.milliseconds((time.milliseconds + after.milliseconds) / 2)
                self.add(.process(peer: peer, .restart(downtime: .zero, clockBackMilliseconds: 0)), at: middle)
            }
            self.add(.disk(peer: peer, .restore(isDatabaseAlone: isDatabaseAlone)), at: after)
            guard self.tape.chance(60, .plan) else { return }
            // It writes before it meets anyone who knows better, and they hold what it has forgotten.
            let others = (0..<self.plan.peerCount).filter { $0 != peer }
            let beforeThat = VirtualTime.milliseconds(after.milliseconds - min(after.milliseconds, 500))
            self.add(.write(peer: peer, [.set(0, property: 0), .twins]), at: beforeThat)
            self.add(.network(.partition([[peer], others])), at: after)
            self.add(.write(peer: peer, [.set(0, property: 0), .twins]), at: after + .seconds(3))
            self.add(.network(.healPartition), at: after + .seconds(5))
        default: self.add(.disk(peer: peer, .clone(isDatabaseAlone: fault == .copiedDatabase)), at: time)
        }
    }
}
