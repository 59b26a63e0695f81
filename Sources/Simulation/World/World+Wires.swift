package import Engine

/// Carrying bytes.
extension World {
    /// How long a dial may take.
    private static let dialTimeout = VirtualTime.seconds(10)
    /// More dials of one machine in a minute mean that it does not wait between them.
    private static let dialCountMax = 1_000

    // MARK: - Beginning

    func dial(_ connection: ConnectionID, _ address: NetworkAddress, from machine: Machine) {
        let dialler = WireEnd(of: machine, connection: connection)
        machine.connections[connection] = dialler
        self.count(dialBy: machine)
        let target = self.machines.first { $0.host == address.host }.map { self.whoAnswers(for: $0) }
        guard let target, target.number != machine.number else {
            self.fail(dialler, after: .milliseconds(1))
            return
        }
        let wire = self.connect(dialler, to: target)
        self.schedule(after: World.dialTimeout) { $0.dialTimedOut(wire) }
    }

    /// P24: who fails to reach another waits longer each time.
    private func count(dialBy machine: Machine) {
        let minute = Int(self.time.seconds) / 60
        machine.dials = machine.dials.minute == minute ? (minute, machine.dials.count + 1) : (minute, 1)
        guard machine.dials.count == World.dialCountMax else { return }
        self.record.find(.spinning, "machine \(machine.number) dials \(World.dialCountMax) times a minute")
    }

    /// Who answers at a machine's address: itself, but for a time in which another has taken its place.
    private func whoAnswers(for machine: Machine) -> Machine {
        guard let impostor = machine.impostor, impostor.until > self.time else { return machine }
        self.record.count(.swappedIdentity)
        return self.machines[impostor.number]
    }

    func newConnection() -> ConnectionID {
        self.nextConnection += 1
        return ConnectionID(rawValue: self.nextConnection)
    }

    private func fail(_ end: WireEnd, after delay: VirtualTime) {
        guard let number = end.machine, end.state == .open else { return }
        end.state = .closed
        let machine = self.machines[number]
        machine.connections[end.connection] = nil
        self.schedule(after: delay) { $0.handle(machine, end.incarnation, .dialFailed(end.connection)) }
    }

    func dialTimedOut(_ wire: Wire) {
        guard !wire.isConnected, wire.ends[0].state == .open else { return }
        wire.lanes[0].segments = []
        self.fail(wire.ends[0], after: .zero)
        wire.ends[1].state = .closed
    }

    private func opened(_ wire: Wire, by target: Machine) {
        let acceptor = wire.ends[1]
        let isRefused = !target.isUp || target.refusesDialsUntil > self.time
        guard !isRefused, target.incarnation == acceptor.incarnation else {
            if target.isUp, target.refusesDialsUntil > self.time { self.record.count(.refusedDials) }
            acceptor.state = .closed
            self.fail(wire.ends[0], after: .milliseconds(1))
            return
        }
        wire.isConnected = true
        target.connections[acceptor.connection] = acceptor
        self.enqueue(.opening, on: wire, lane: 1)
        let host = wire.ends[0].machine.map { self.machines[$0].host } ?? "10.9.9.\(wire.number % 250)"
        self.handle(target, .accepted(acceptor.connection, from: NetworkAddress(host: host, port: 40_000)))
        // What nobody goes on with is given up soon, and an inspection would come too late.
        self.checkFootprint(of: target)
    }

    // MARK: - Sending

    package func send(_ bytes: [UInt8], on connection: ConnectionID, of machine: Machine) {
        guard let end = machine.connections[connection], end.state == .open, let wire = end.wire else { return }
        self.recordForReplay(bytes, end, wire)
        for piece in self.pieces(of: bytes) { self.enqueue(.bytes(piece), on: wire, lane: end.side) }
    }

    /// Keeps what a dialler says, for replays.
    private func recordForReplay(_ bytes: [UInt8], _ end: WireEnd, _ wire: Wire) {
        guard end.side == 0, let target = wire.ends[1].machine else { return }
        let machine = self.machines[target]
        if bytes.starts(with: Array("peerd/1".utf8)) { machine.recording = [] }
        if machine.recording.count < 16 { machine.recording.append(bytes) }
    }

    func pieces(of bytes: [UInt8]) -> [[UInt8]] {
        guard self.isFaulty, self.plan.faults.contains(.fragmentation), bytes.count > 1,
            self.tape.chance(15, .network)
        else { return [bytes] }
        self.record.count(.fragmentation)
        if self.tape.chance(20, .network) {
            let single = min(bytes.count - 1, 40)
            return bytes.prefix(single).map { [$0] } + [Array(bytes[single...])]
        }
        let cut = 1 + self.tape.below(bytes.count - 1, .network)
        return [Array(bytes[..<cut]), Array(bytes[cut...])]
    }

    func enqueue(_ content: ByteLane.Content, on wire: Wire, lane: Int) {
        var delay = VirtualTime.microseconds(500)
        var traceNumber: Int?
        if let from = wire.ends[lane].place, let to = wire.ends[1 - lane].place {
            let choice = self.tape.draw(.network, below: 1 << 50)
            let isLossy = self.isFaulty && self.plan.faults.contains(.lostSegments)
            delay = self.network.latency(from, to, isLossy: isLossy, choice: choice)
            if case .bytes(let bytes) = content, wire.ends.allSatisfy({ $0.machine != nil }) {
                traceNumber = self.trace?.add(.sent(to: to, byteCount: bytes.count), machine: from, at: self.time)
            }
        }
        let arrival = max(wire.lanes[lane].lastArrival, self.time + delay)
        wire.lanes[lane].lastArrival = arrival
        wire.lanes[lane].segments.append(ByteLane.Segment(arrival: arrival, content: content, traceNumber: traceNumber))
        self.scheduleArrival(wire, lane)
    }

    private func scheduleArrival(_ wire: Wire, _ lane: Int) {
        guard !wire.lanes[lane].isScheduled, !wire.lanes[lane].isHeld, let first = wire.lanes[lane].segments.first
        else { return }
        wire.lanes[lane].isScheduled = true
        self.schedule(at: max(first.arrival, self.time)) { $0.arrive(wire, lane) }
    }

    // MARK: - Arriving

    func arrive(_ wire: Wire, _ lane: Int) {
        wire.lanes[lane].isScheduled = false
        guard !wire.lanes[lane].segments.isEmpty else { return }
        if self.isBlocked(wire, lane) {
            wire.lanes[lane].isHeld = true
            return
        }
        let segment = wire.lanes[lane].segments.removeFirst()
        switch segment.content {
        case .opening:
            if lane == 0, let target = wire.ends[1].machine {
                self.opened(wire, by: self.machines[target])
            } else {
                self.give(.connected(wire.ends[0].connection), to: wire.ends[0])
            }
        case .bytes(let bytes):
            if let sent = segment.traceNumber, let receiver = wire.ends[1 - lane].machine {
                let isHeard = wire.ends[1 - lane].state == .open
                let kind = Trace.Kind.arrived(sent: sent, byteCount: bytes.count, isHeard: isHeard)
                self.trace?.add(kind, machine: receiver, at: self.time)
            }
            self.deliver(bytes, on: wire, lane)
        case .end: self.close(wire.ends[1 - lane], tellingIt: true)
        }
        self.scheduleArrival(wire, lane)
    }

    private func isBlocked(_ wire: Wire, _ lane: Int) -> Bool {
        if wire.ends[1 - lane].isDeaf { return true }
        guard let to = wire.ends[1 - lane].machine else { return false }
        let target = self.machines[to]
        // A machine without power answers nobody; one that sleeps takes it all in when it wakes.
        if target.condition == .paused || target.condition == .failed { return true }
        if !target.isUp, wire.ends[1 - lane].state == .vanished { return true }
        guard let from = wire.ends[lane].machine else { return false }
        return self.network.isBlocked(from: from, to: to, at: self.time)
    }

    private func deliver(_ bytes: [UInt8], on wire: Wire, _ lane: Int) {
        let receiver = wire.ends[1 - lane]
        var bytes = bytes
        var isCut = false
        if let left = wire.lanes[lane].bytesUntilCut {
            isCut = bytes.count > left
            bytes = Array(bytes.prefix(left))
            wire.lanes[lane].bytesUntilCut = left - bytes.count
        }
        if let bit = wire.lanes[lane].bitToFlip, !bytes.isEmpty {
            wire.lanes[lane].bitToFlip = nil
            bytes[bit / 8 % bytes.count] ^= 1 << UInt8(bit & 7)
            self.record.count(.bitFlip)
        }
        let count = bytes.count
        switch receiver.state {
        case .open:
            if count > 0 { self.give(.received(receiver.connection, bytes), to: receiver) }
            if count > 0 { self.give(.flushed(wire.ends[lane].connection, byteCount: count), to: wire.ends[lane]) }
        case .closed: break
        case .vanished:
            // The machine is back and knows of no such connection.
            self.reset(wire)
            return
        }
        if isCut {
            self.record.mark(.cutMidStream)
            self.reset(wire)
        }
    }

    /// Gives an event to the process that has an end.
    private func give(_ event: Event, to end: WireEnd) {
        if let newcomer = end.newcomer {
            if end.state == .open { self.hear(event, newcomer) }
            return
        }
        guard let number = end.machine, end.state == .open, self.machines[number].incarnation == end.incarnation else {
            return
        }
        self.handle(self.machines[number], event)
    }

    /// Lets go on what waited for a link or a machine that works again.
    func releaseHeldLanes() {
        for wire in self.wires {
            for lane in 0..<2 where wire.lanes[lane].isHeld && !self.isBlocked(wire, lane) {
                wire.lanes[lane].isHeld = false
                self.scheduleArrival(wire, lane)
            }
        }
    }

    // MARK: - Ending

    package func close(_ connection: ConnectionID, afterFlush: Bool, of machine: Machine) {
        guard let end = machine.connections[connection], let wire = end.wire else { return }
        if !afterFlush {
            wire.lanes[end.side].segments.removeAll { if case .bytes = $0.content { true } else { false } }
        }
        self.enqueue(.end, on: wire, lane: end.side)
        self.close(end, tellingIt: false)
    }

    /// Closes one end; what arrives there is dropped.
    package func close(_ end: WireEnd, tellingIt: Bool) {
        guard end.state == .open else { return }
        end.state = .closed
        // What an end whose other side is gone still had to send has nowhere to go.
        if tellingIt, let wire = end.wire { wire.lanes[end.side].segments = [] }
        guard let number = end.machine, self.machines[number].incarnation == end.incarnation else { return }
        self.machines[number].connections[end.connection] = nil
        if tellingIt { self.handle(self.machines[number], .closed(end.connection)) }
    }

    /// Ends a connection at both ends; what is under way is lost.
    func reset(_ wire: Wire) {
        wire.lanes[0].segments = []
        wire.lanes[1].segments = []
        for end in wire.ends {
            if end.state == .open, !wire.isConnected, end.side == 0 {
                self.fail(end, after: .zero)
            } else {
                self.close(end, tellingIt: true)
            }
        }
    }
}
