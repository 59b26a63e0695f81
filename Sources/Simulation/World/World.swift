internal import CRDTCore
package import Engine

/// A deterministic world: machines with simulated disks and clocks, the network between them, and one queue of events
/// in virtual time.
///
/// The node, its sessions, Noise and the SQLite store in it are those of `peerd`, unchanged. Everything else comes from
/// a plan and a choice tape: the same plan and tape make the same run.
package final class World {
    package let plan: Plan
    package let tape: ChoiceTape
    package var time = VirtualTime.zero
    /// What will happen.
    package var queue = EventQueue<(World) -> Void>()
    var machines: [Machine] = []
    package var network: Network
    var wires: [Wire] = []
    package var hash = EventHash()
    package var record = RunRecord()
    var oracles = Oracles()
    package var work = Workload()
    /// What the root key of each user follows from.
    var rootSeeds: [UserID: UInt64] = [:]
    let memo = WorldMemo()
    /// Devices that came to join over connections that things go wrong on.
    var newcomers: [Newcomer] = []
    /// What is recorded for looking at; nil unless it is asked for.
    package var trace: Trace?
    /// Whether the faults are still going on.
    var isFaulty = true
    /// Whether equal machines are watched for saying nothing more, which takes the longest of all.
    package var watchesSilence = true
    /// Whether the past is read in any case, and not only in a share of the runs.
    var comparesAll = false
    /// Whether this run keeps states and reads them again in the end, which takes time.
    lazy var readsPast = self.comparesAll || self.tape.chance(World.pastPercent, .oracles)
    /// Whether it is also tried what writes and strangers do to them then.
    var disturbsSilence = true
    /// The last request to restamp what is held.
    var restampRequest: RequestID?
    /// The last request that was acknowledged.
    var acknowledged: (request: RequestID, receipt: WriteReceipt)?
    var nextConnection: UInt64 = 1 << 63
    /// Whether several people use the machines, or one removes some: not everybody has everything.
    var isShared: Bool
    /// By circle, whom anybody has ever given something there.
    var guests: [Circle: Set<UserID>] = [:]
    /// Sessions that ended, as the machines said.
    var endedSessionCount = 0
    /// Whether there was ever a copy of a database that nobody could tell from the original.
    var hasHiddenCopy = false
    /// Whether somebody has dropped what was replaced: what a log says of the past is not all of it then.
    var hasCompacted = false
    /// Whether somebody has handed on what was replaced without its content: nobody gets that back, and nobody has
    /// dropped it.
    var hasWithheld = false
    private var nextAlarm: UInt64 = 0
    private var nextWire = 0

    /// Events on one machine without time passing, above which it counts as spinning.
    private static let eventsWithoutTimeMax = 50_000

    init(plan: Plan, tape: ChoiceTape) {
        self.plan = plan
        self.tape = tape
        self.network = Network(plan)
        self.isShared = plan.isShared || plan.actions.contains { $0.action.isSharing }
        self.work.makesObjects = !plan.isShared
    }

    // MARK: - Time

    /// Lets everything happen up to a time.
    package func run(until end: VirtualTime) {
        while let next = self.queue.nextTime, next <= end, !self.record.hasFatalFinding {
            guard let (time, body) = self.queue.next() else { break }
            self.time = time
            body(self)
        }
        self.time = max(self.time, end)
    }

    /// Has something happen when some time has passed.
    func schedule(after delay: VirtualTime, _ body: @escaping (World) -> Void) {
        self.schedule(at: self.time + delay, body)
    }

    func schedule(at time: VirtualTime, _ body: @escaping (World) -> Void) {
        let happening = { (world: World) in
            body(world)
            world.updateTrace()
        }
        self.queue.schedule(happening, at: time)
    }

    // MARK: - Machines

    /// Gives a node an event and does what it asks for.
    package func handle(_ machine: Machine, _ event: Event) {
        guard machine.isUp else { return }
        let moment = machine.moment(at: self.time)
        machine.disk.wallMilliseconds = moment.wall.milliseconds
        machine.highestWall = max(machine.highestWall, moment.wall)
        self.note(event, machine)
        if let member = machine.hostile {
            self.hear(event, member)
            return
        }
        guard let effects = machine.node?.handle(event, at: moment) else { return }
        for fault in machine.disk.takeShown() { self.record.count(fault) }
        if let ending = machine.disk.ending {
            // The process died before it could do anything of this.
            self.ended(machine, ending)
            return
        }
        for effect in effects { self.perform(effect, of: machine) }
        self.oracles.look(at: machine, in: self)
        self.trace?.touch(machine.number)
        self.setAlarm(machine)
        self.checkForSpinning(machine)
    }

    /// Gives an event to the process that it was meant for.
    func handle(_ machine: Machine, _ incarnation: Int, _ event: Event) {
        if machine.incarnation == incarnation { self.handle(machine, event) }
    }

    /// Notes what has changed, if anyone wants to look at it.
    func updateTrace() {
        guard var trace = self.trace.take() else { return }
        trace.look(at: self)
        self.trace = trace
    }

    /// Asks to be called when the node's next deadline has passed.
    func setAlarm(_ machine: Machine) {
        guard let deadline = machine.node?.nextDeadline else {
            machine.alarm = nil
            return
        }
        let time = max(VirtualTime.milliseconds(min(deadline, 1 << 50)), self.time)
        if machine.alarm?.time == time { return }
        self.nextAlarm += 1
        let number = self.nextAlarm
        machine.alarm = (number, time)
        self.queue.schedule({ $0.ring(number, machine) }, at: time)
    }

    private func ring(_ alarm: UInt64, _ machine: Machine) {
        guard machine.alarm?.number == alarm else { return }
        machine.alarm = nil
        self.handle(machine, .timer)
        self.updateTrace()
    }

    private func checkForSpinning(_ machine: Machine) {
        if machine.eventsWithoutTime.time == self.time {
            machine.eventsWithoutTime.count += 1
            if machine.eventsWithoutTime.count == World.eventsWithoutTimeMax {
                let message = "machine \(machine.number) handles events for ever at \(self.time.seconds) s"
                self.record.find(.spinning, message)
            }
        } else {
            machine.eventsWithoutTime = (self.time, 0)
        }
    }

    /// A connection that somebody begins to a machine.
    func connect(_ dialler: WireEnd, to machine: Machine) -> Wire {
        let acceptor = WireEnd(of: machine, connection: self.newConnection())
        let wire = Wire(number: self.nextWire, dialler: dialler, acceptor: acceptor)
        self.nextWire += 1
        self.wires.removeAll { $0.isOver }
        self.wires.append(wire)
        self.enqueue(.opening, on: wire, lane: 0)
        return wire
    }

    // MARK: - The hash

    private func note(_ event: Event, _ machine: Machine) {
        let number = machine.number
        switch event {
        case .accepted(let id, _): self.hash.note("accepted", machine: number, at: self.time, id.rawValue)
        case .connected(let id): self.hash.note("connected", machine: number, at: self.time, id.rawValue)
        case .dialFailed(let id): self.hash.note("dialFailed", machine: number, at: self.time, id.rawValue)
        case .received(let id, let bytes):
            self.hash.note("received", machine: number, at: self.time, id.rawValue)
            self.hash.note(bytes)
            self.record.deliveredByteCount += bytes.count
        case .flushed(let id, let count):
            self.hash.note("flushed", machine: number, at: self.time, id.rawValue, UInt64(count))
        case .closed(let id): self.hash.note("closed", machine: number, at: self.time, id.rawValue)
        case .write(let requests): self.hash.note("write", machine: number, at: self.time, UInt64(requests.count))
        case .restamp: self.hash.note("restamp", machine: number, at: self.time)
        case .beacon(let bytes, _):
            self.hash.note("beacon", machine: number, at: self.time)
            self.hash.note(bytes)
        case .addAddress: self.hash.note("addAddress", machine: number, at: self.time)
        case .dialAll: self.hash.note("dialAll", machine: number, at: self.time)
        case .takePart: self.hash.note("takePart", machine: number, at: self.time)
        case .withdraw: self.hash.note("withdraw", machine: number, at: self.time)
        case .databaseChanged: self.hash.note("databaseChanged", machine: number, at: self.time)
        case .introduce: self.hash.note("introduce", machine: number, at: self.time)
        case .timer: self.hash.note("timer", machine: number, at: self.time)
        }
    }
}
