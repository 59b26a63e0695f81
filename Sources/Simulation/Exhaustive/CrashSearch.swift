internal import Engine

/// P28, exhaustively: every store call of a commit is a point at which the machine may end, in each of seven ways.
package struct CrashSearch {
    /// A way to end in the middle of a commit.
    package enum Way: Hashable, Sendable {
        case ending(Ending)
        /// The process is killed, what it wrote is found again, and then the power goes.
        case killThenPowerCut

        package static let all: [Way] =
            [.ending(.kill)] + PowerLoss.allCases.map { .ending(.powerCut($0)) } + [.killThenPowerCut]

        package var name: String {
            switch self {
            case .ending(.kill): "kill"
            case .ending(.powerCut(let loss)): "power-\(loss)"
            case .killThenPowerCut: "kill-power"
            }
        }
    }

    package static func run(_ advance: @escaping @Sendable (Int) -> Void) -> Exploration {
        let parts = Workers.map(Way.all.count) { number -> Exploration in
            let part = self.run(Way.all[number])
            advance(part.caseCount)
            return part
        }
        var result = Exploration(.crashes)
        for part in parts { result.add(part) }
        result.details = ["\(parts.first?.caseCount ?? 0) store calls of a commit, \(Way.all.count) endings at each"]
        return result
    }

    /// Ends at the first store call, at the second (or `stride` calls on), and so on until the commit is over before
    /// the end comes.
    package static func run(_ way: Way, stride: Int = 1) -> Exploration {
        var result = Exploration(.crashes)
        var call = 1
        while self.perform(way, atCall: call, &result) { call += stride }
        return result
    }

    /// A machine that has committed once and is about to do so again.
    private static func world() -> World {
        let plan = Plan(peerCount: 1, checkpointPageCount: 5, duration: .seconds(10), core: [0])
        let world = World(plan: plan, tape: ChoiceTape(seed: 3))
        world.found()
        world.run(until: .seconds(1))
        world.write([.set(0, property: 0), .twins], on: world.machines[0])
        return world
    }

    /// Ends at one call.
    ///
    /// Returns whether the end came before the commit was over.
    private static func perform(_ way: Way, atCall call: Int, _ result: inout Exploration) -> Bool {
        let name = "\(way.name):\(call)"
        let world = self.world()
        let machine = world.machines[0]
        let acknowledged = world.work.acknowledgedCount
        if case .ending(let ending) = way {
            machine.disk.faults.ending = (machine.disk.callCount + call, ending)
        } else {
            machine.disk.faults.ending = (machine.disk.callCount + call, .kill)
        }
        machine.plannedDowntime = .seconds(1)
        world.write([.set(1, property: 1), .twins, .delete(0)], on: machine)
        let hasEnded = machine.condition == .down
        world.run(until: .seconds(5))
        if way == .killThenPowerCut {
            world.end(machine, .powerCut(.losesAll), downtime: .seconds(1))
            world.run(until: .seconds(10))
        }
        world.inspect()
        if !world.record.hasFatalFinding { world.settle(core: [0]) }
        for finding in world.record.findings { result.find(finding.property, in: name, finding.message) }
        if !machine.isUp { result.find(.damage, in: name, "the machine does not start again") }
        if acknowledged != 1 || (!hasEnded && world.work.acknowledgedCount != 2) {
            result.find(.lostWrite, in: name, "a write that nothing disturbed was refused")
        }
        if hasEnded { result.caseCount += 1 }
        return hasEnded
    }

    /// Ends once, in the way and at the call of a name such as `power-tears:12`.
    package static func replay(_ name: String) throws -> Exploration {
        let parts = name.split(separator: ":")
        guard parts.count == 2, let call = Int(parts[1]), call > 0,
            let way = Way.all.first(where: { $0.name == parts[0] })
        else { throw UnknownCase(name: name) }
        var result = Exploration(.crashes)
        _ = self.perform(way, atCall: call, &result)
        return result
    }
}
