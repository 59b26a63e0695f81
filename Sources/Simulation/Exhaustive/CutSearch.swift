internal import CRDTCore
internal import Engine

/// Every byte after which a connection can break: in a handshake of machines that are equal, and in a short sync of two
/// that have both written; in both directions.
///
/// After each cut the machines are left to themselves. They must become equal, hold all that was acknowledged, agree
/// with the naive model, fall silent, and never send again what the other has durably (P25).
package struct CutSearch {
    /// What the connection is for.
    enum Occasion: String, CaseIterable, Sendable {
        case handshake
        case sync
    }

    /// From the dialler to the acceptor, or back.
    enum Direction: String, CaseIterable, Sendable {
        case out
        case back

        var lane: Int { self == .out ? 0 : 1 }
    }

    /// One cut.
    struct Cut: Hashable, Sendable {
        var occasion: Occasion
        var direction: Direction
        /// How many bytes still arrive.
        var byteCount: Int

        var name: String { "\(self.occasion.rawValue):\(self.direction.rawValue):\(self.byteCount)" }
    }

    /// How long two machines that are left alone may take to meet and exchange a little.
    private static let meetingTime = VirtualTime.seconds(3)
    /// How soon a connection that was cut is noticed; no new one stands that early.
    private static let step = VirtualTime.microseconds(200)

    /// Tries every cut, or each `stride`-th.
    package static func run(stride: Int = 1, _ advance: @escaping @Sendable (Int) -> Void) -> Exploration {
        var cuts: [Cut] = []
        var details: [String] = []
        for occasion in Occasion.allCases {
            let lengths = self.cleanLengths(occasion)
            details.append("\(occasion.rawValue) of \(lengths[0]) bytes out and \(lengths[1]) back")
            for direction in Direction.allCases {
                cuts += Swift.stride(from: 0, to: lengths[direction.lane], by: stride).map {
                    Cut(occasion: occasion, direction: direction, byteCount: $0)
                }
            }
        }
        let planned = cuts
        let parts = Workers.map(planned.count) { number -> Exploration in
            let part = self.perform(planned[number])
            advance(1)
            return part
        }
        var result = Exploration(.cuts)
        for part in parts { result.add(part) }
        result.details = details
        return result
    }

    /// Two equal machines without a connection, the first about to dial the second; each has written if need be.
    private static func world(_ occasion: Occasion) -> (world: World, wire: Wire?) {
        let plan = Plan(peerCount: 2, duration: .seconds(10), core: [0, 1])
        let world = World(plan: plan, tape: ChoiceTape(seed: 5))
        world.found()
        world.join(world.machines[0])
        world.run(until: self.meetingTime)
        world.write([.create(0, parent: nil), .set(0, property: 0), .twins], on: world.machines[0])
        world.run(until: world.time + self.meetingTime)
        world.network.partition([[0], [1]])
        for wire in world.wires where wire.isConnected { world.reset(wire) }
        if occasion == .sync {
            world.write([.set(1, property: 0), .set(2, property: 1), .move(1, parent: 0)], on: world.machines[0])
            world.write([.set(0, property: 0), .twins], on: world.machines[0])
            world.write([.set(1, property: 0), .delete(0)], on: world.machines[1])
            world.write([.set(2, property: 2)], on: world.machines[1])
        }
        // The first machine dials; what the second tries is refused, and so are no two connections.
        world.machines[0].refusesDialsUntil = world.time + .seconds(1)
        world.network.healPartition()
        world.handle(world.machines[0], .dialAll)
        return (world, world.wires.last { $0.ends[0].machine == 0 && $0.ends[0].state == .open })
    }

    /// The number of bytes in both directions when nothing is cut, until nothing more is said.
    private static func cleanLengths(_ occasion: Occasion) -> [Int] {
        let (world, wire) = self.world(occasion)
        guard let wire else { return [0, 0] }
        var left = [Int.max >> 1, Int.max >> 1]
        for lane in 0..<2 { wire.lanes[lane].bytesUntilCut = left[lane] }
        world.run(until: world.time + self.meetingTime)
        for lane in 0..<2 { left[lane] -= wire.lanes[lane].bytesUntilCut ?? 0 }
        return left
    }

    private static func perform(_ cut: Cut) -> Exploration {
        var result = Exploration(.cuts)
        result.caseCount = 1
        let (world, wire) = self.world(cut.occasion)
        guard let wire else {
            result.find(.notConverged, in: cut.name, "the first machine does not dial")
            return result
        }
        wire.lanes[cut.direction.lane].bytesUntilCut = cut.byteCount
        let end = world.time + self.meetingTime
        while wire.ends.contains(where: { $0.state == .open }), world.time < end {
            world.run(until: world.time + self.step)
        }
        if world.time >= end { result.find(.notRepeatable, in: cut.name, "nothing was cut") }
        // What later writes and strangers come to does not depend on where the cut was.
        world.disturbsSilence = false
        world.run(until: world.time + self.meetingTime)
        world.inspect()
        if !world.record.hasFatalFinding { world.settle(core: [0, 1]) }
        for finding in world.record.findings { result.find(finding.property, in: cut.name, finding.message) }
        for machine in world.machines {
            let repeated = machine.observedStatus(at: world.time)?.traffic.duplicateChangeCount ?? 0
            guard repeated > 0 else { continue }
            result.find(.repeated, in: cut.name, "machine \(machine.number) was sent \(repeated) changes that it had")
        }
        return result
    }

    /// Makes one cut again, by its name.
    package static func replay(_ name: String) throws -> Exploration {
        let parts = name.split(separator: ":")
        guard parts.count == 3, let occasion = Occasion(rawValue: String(parts[0])),
            let direction = Direction(rawValue: String(parts[1])), let byteCount = Int(parts[2]), byteCount >= 0
        else { throw UnknownCase(name: name) }
        return self.perform(Cut(occasion: occasion, direction: direction, byteCount: byteCount))
    }
}
