internal import CRDTCore
internal import Engine

/// Doing what a plan or a scenario says.
extension World {
    package func perform(_ action: Action) {
        switch action {
        case .write(let peer, let steps): self.write(steps, on: self.machines[peer])
        case .network(let action): self.perform(action)
        case .stranger(let peer, let action): self.sendStranger(action, to: self.machines[peer])
        case .hostile(let peer, let victim, let action):
            self.perform(action, of: self.machines[peer], to: self.machines[victim])
        case .clock(let peer, let action): self.perform(action, on: self.machines[peer])
        case .restamp(let peer): self.restamp(self.machines[peer])
        case .history(let peer, let action): self.perform(action, on: self.machines[peer])
        case .branch(let peer, let action): self.perform(action, on: self.machines[peer])
        case .sharing(let peer, let action): self.perform(action, on: self.machines[peer])
        case .process(let peer, let action): self.perform(action, on: self.machines[peer])
        case .disk(let peer, let action): self.perform(action, on: self.machines[peer])
        case .join(let inviter): self.join(self.machines[inviter])
        case .pair(let inviter, let trouble): self.pair(self.machines[inviter], trouble)
        case .leave(let peer):
            self.record.count(.earlyLeave)
            self.fail(self.machines[peer])
        }
    }

    // MARK: - Network

    private func perform(_ action: NetworkAction) {
        switch action {
        case .partition(let groups):
            self.record.count(groups.contains { $0.count == 1 } ? .isolation : .partition)
            self.network.partition(groups)
        case .healPartition:
            self.network.healPartition()
            self.releaseHeldLanes()
        case .stall(let left, let right, let length):
            self.record.count(.stalledLink)
            self.network.block(from: left, to: right, until: self.time + length)
            self.network.block(from: right, to: left, until: self.time + length)
            self.schedule(after: length) { $0.releaseHeldLanes() }
        case .halfOpen(let from, let to, let length):
            self.record.count(.halfOpenLink)
            self.network.block(from: from, to: to, until: self.time + length)
            self.schedule(after: length) { $0.releaseHeldLanes() }
        case .refuseDials(let peer, let length): self.machines[peer].refusesDialsUntil = self.time + length
        case .impersonate(let peer, let impostor, let length):
            self.machines[peer].impostor = (impostor, self.time + length)
        case .dialTogether(let left, let right):
            self.record.count(.simultaneousDial)
            self.handle(self.machines[left], .dialAll)
            self.handle(self.machines[right], .dialAll)
        case .reset(let left, let right):
            self.disturb(left, right, .connectionReset) { wire, _ in self.reset(wire) }
        case .cut(let from, let to, let byteCount):
            self.disturb(from, to, byteCount < 200 ? .cutInHandshake : .cutAfterBytes) { wire, lane in
                wire.lanes[lane].bytesUntilCut = byteCount
            }
            if self.openWires(from, to).isEmpty, self.machines[from].isUp {
                self.handle(self.machines[from], .dialAll)
                self.disturb(from, to, .cutInHandshake) { wire, lane in wire.lanes[lane].bytesUntilCut = byteCount }
            }
        case .oneSidedCut(let first, let second, let delay):
            self.disturb(first, second, .oneSidedCut) { wire, side in
                wire.lanes[1 - side].segments = []
                wire.lanes[side].lastArrival = self.time + delay
                self.close(wire.ends[side], tellingIt: false)
                self.enqueue(.end, on: wire, lane: side)
                self.tellClosed(wire.ends[side])
            }
        case .truncate(let from, let to):
            self.disturb(from, to, .truncatedStream) { wire, lane in
                wire.lanes[lane].segments = []
                self.enqueue(.end, on: wire, lane: lane)
            }
        case .flipBit(let from, let to, let bit):
            for wire in self.openWires(from, to) { wire.lanes[wire.lane(from: from)].bitToFlip = bit }
        }
    }

    /// Does something to each connection that stands between two machines; `lane`: that which begins at the first.
    private func disturb(_ from: Int, _ to: Int, _ fault: Fault, _ body: (_ wire: Wire, _ lane: Int) -> Void) {
        for wire in self.openWires(from, to) {
            self.record.count(fault)
            body(wire, wire.lane(from: from))
        }
    }

    private func tellClosed(_ end: WireEnd) {
        guard let number = end.machine else { return }
        self.handle(self.machines[number], .closed(end.connection))
    }

    func openWires(_ left: Int, _ right: Int) -> [Wire] {
        self.wires.filter { $0.joins(left, right) && $0.ends[0].state == .open && $0.ends[1].state == .open }
    }

    // MARK: - Clocks

    private func perform(_ action: ClockAction, on machine: Machine) {
        switch action {
        case .offset(let milliseconds):
            let fault: Fault =
                milliseconds > 86_400_000
                ? .clockYearsAhead
                : milliseconds > 600_000 ? .clockHourAhead : milliseconds < -600_000 ? .clockDayBehind : .clockOffset
            self.record.count(fault)
            machine.clock.set(offsetMilliseconds: milliseconds, at: self.time)
        case .epoch:
            self.record.count(.clockAtEpoch)
            machine.clock.setToEpoch(at: self.time)
        case .drift(let partsPerMillion):
            self.record.count(.clockDrift)
            machine.clock.drift(partsPerMillion: partsPerMillion, at: self.time)
        case .stuck:
            self.record.count(.clockStuck)
            machine.clock.stop(at: self.time)
        case .jump(let milliseconds):
            self.record.count(.clockJump)
            machine.clock.jump(milliseconds: milliseconds, at: self.time)
        }
    }

    // MARK: - Processes

    private func perform(_ action: ProcessAction, on machine: Machine) {
        guard machine.isUp || machine.condition == .paused else { return }
        switch action {
        case .kill(let downtime):
            self.record.count(.kill)
            self.end(machine, .kill, downtime: downtime)
        case .powerCut(let outcome, let downtime):
            self.record.count(.powerCut)
            self.count(outcome)
            self.end(machine, .powerCut(outcome), downtime: downtime)
        case .killAtStoreCall(let count, let downtime):
            self.record.count(.killAtStoreCall)
            machine.plannedDowntime = downtime
            machine.disk.faults.ending = (machine.disk.callCount + count, .kill)
        case .powerCutAtStoreCall(let count, let outcome, let downtime):
            self.record.count(.powerCutAtStoreCall)
            self.count(outcome)
            machine.plannedDowntime = downtime
            machine.disk.faults.ending = (machine.disk.callCount + count, .powerCut(outcome))
        case .restart(let downtime, let clockBack):
            self.record.count(clockBack > 0 ? .clockBackAtRestart : .restart)
            self.stop(machine, downtime: downtime)
            if clockBack > 0 { machine.clock.jump(milliseconds: -Int64(clockBack), at: self.time) }
        case .pause(let length):
            self.record.count(.pause)
            self.pause(machine, length)
        }
    }

    private func count(_ outcome: PowerLoss) {
        switch outcome {
        case .keepsAll: break
        case .losesAll, .losesTail: self.record.count(.lostWrites)
        case .losesSome: self.record.count(.reorderedWrites)
        case .tears: self.record.count(.tornWrites)
        }
    }
}
