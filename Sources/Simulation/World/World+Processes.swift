internal import CRDTCore
internal import Engine

/// Processes and machines that start and end.
extension World {
    /// How long an operator takes to start again what did not start.
    private static let retryDelay = VirtualTime.seconds(5)

    package func start(_ machine: Machine) {
        guard machine.condition == .down else { return }
        self.hash.note("start", machine: machine.number, at: self.time)
        do throws(StoreError) {
            try machine.start(
                at: self.time,
                entropySeed: self.tape.seed(),
                checkpointPageCount: self.plan.checkpointPageCount,
                lateWork: self.plan.hasShippedLimits ? LateWorkLimits() : .small
            )
        } catch {
            self.failedToStart(machine, error)
            return
        }
        if let ending = machine.disk.ending {
            self.ended(machine, ending)
            return
        }
        self.oracles.started(machine, in: self)
        self.handle(machine, .introduce)
        self.releaseHeldLanes()
    }

    private func failedToStart(_ machine: Machine, _ error: StoreError) {
        for fault in machine.disk.takeShown() { self.record.count(fault) }
        machine.end(.kill)
        if case .damaged(let text) = error {
            self.record.mark(.damageNoticed)
            if !machine.isTainted {
                let message = "machine \(machine.number), whose disk kept its promises, cannot be opened: \(text)"
                self.record.find(.damage, message)
            }
            self.fail(machine)
            return
        }
        self.record.mark(.startFailed)
        self.schedule(after: World.retryDelay) { $0.start(machine) }
    }

    /// A process or machine has ended, and its connections with it.
    package func ended(_ machine: Machine, _ ending: Ending) {
        self.hash.note("ended", machine: machine.number, at: self.time)
        machine.end(ending)
        for fault in machine.disk.takeShown() { self.record.count(fault) }
        switch ending {
        case .kill: self.closeAll(of: machine)
        case .powerCut:
            for end in self.ends(of: machine) {
                end.state = .vanished
                end.wire?.lanes[end.side].segments = []
            }
            machine.connections = [:]
            if machine.disk.lostUnsynced { self.record.mark(.unsyncedWriteLost) }
            if machine.disk.brokePromise {
                self.record.mark(.promiseBroken)
                self.taint(machine)
            }
        }
        if let downtime = machine.plannedDowntime {
            machine.plannedDowntime = nil
            self.schedule(after: downtime) { $0.start(machine) }
        }
    }

    /// Ends a process now, and starts it after a time.
    package func end(_ machine: Machine, _ ending: Ending, downtime: VirtualTime) {
        guard machine.isUp || machine.condition == .paused else { return }
        machine.plannedDowntime = downtime
        machine.end(ending)
        self.ended(machine, ending)
    }

    /// Ends a process in order.
    package func stop(_ machine: Machine, downtime: VirtualTime) {
        guard machine.isUp else { return }
        machine.stop()
        self.closeAll(of: machine)
        if let ending = machine.disk.ending {
            machine.plannedDowntime = downtime
            self.ended(machine, ending)
        } else {
            self.schedule(after: downtime) { $0.start(machine) }
        }
    }

    func pause(_ machine: Machine, _ length: VirtualTime) {
        guard machine.isUp else { return }
        machine.condition = .paused
        let incarnation = machine.incarnation
        self.schedule(after: length) { $0.resume(machine, incarnation) }
    }

    package func resume(_ machine: Machine, _ incarnation: Int) {
        guard machine.condition == .paused, machine.incarnation == incarnation else { return }
        machine.condition = .up
        self.handle(machine, .timer)
        self.releaseHeldLanes()
    }

    /// A machine is gone for good, without a word.
    package func fail(_ machine: Machine) {
        guard machine.condition != .failed else { return }
        self.oracles.acknowledged.holderIsGone(machine, self.machines)
        for end in self.ends(of: machine) { end.state = .vanished }
        machine.connections = [:]
        if machine.condition != .down { machine.end(.kill) }
        machine.condition = .failed
    }

    /// Notes that a disk has broken a promise: what it alone held may be gone.
    func taint(_ machine: Machine) {
        machine.isTainted = true
        self.oracles.acknowledged.holderIsGone(machine, self.machines)
        machine.view = StoreContent()
        machine.writeCounts = WriteCounts()
    }

    private func closeAll(of machine: Machine) {
        for end in self.ends(of: machine) {
            guard let wire = end.wire else { continue }
            end.state = .closed
            self.enqueue(.end, on: wire, lane: end.side)
        }
        machine.connections = [:]
    }

    /// The open ends of a machine's connections, in a fixed order.
    private func ends(of machine: Machine) -> [WireEnd] {
        self.wires.flatMap(\.ends).filter { $0.machine == machine.number && $0.state == .open }
    }
}
