internal import CRDTCore
internal import Engine

/// Makes a scenario happen.
package struct ScenarioRunner {
    /// What it came to.
    package struct Outcome: Sendable {
        package var record: RunRecord
        /// The first expectation that was not met.
        package var failure: ScenarioError?
        package var hash: String
        package var eventCount: Int
        package var simulated: VirtualTime
        /// What happened, if it was recorded.
        package var trace: Trace?

        package var isPassed: Bool { self.failure == nil && self.record.findings.isEmpty }
    }

    /// The time from one statement to the next.
    private static let pace = VirtualTime.milliseconds(20)

    let world: World
    private let hasExpectations: Bool

    /// `watchesSilence`: whether equal machines are watched for saying nothing more, which takes the longest.
    package static func run(_ scenario: Scenario, watchesSilence: Bool = true, isTraced: Bool = false) -> Outcome {
        let runner = ScenarioRunner(scenario)
        runner.world.watchesSilence = watchesSilence
        if isTraced { runner.world.trace = Trace() }
        let failure = runner.perform(scenario)
        for finding in runner.world.record.findings { runner.world.trace?.add(finding, at: runner.world.time) }
        return Outcome(
            record: runner.world.record,
            failure: failure,
            hash: runner.world.hash.text,
            eventCount: runner.world.hash.eventCount,
            simulated: runner.world.time,
            trace: runner.world.trace
        )
    }

    private init(_ scenario: Scenario) {
        let plan = Plan(
            peerCount: scenario.peers.count,
            topology: scenario.topology,
            links: scenario.links,
            faults: scenario.faults,
            checkpointPageCount: scenario.checkpointPageCount,
            hasShippedLimits: scenario.hasShippedLimits,
            duration: .zero,
            endsWhenEqual: scenario.endsWhenEqual,
            actions: scenario.timedActions,
            core: Array(scenario.peers.indices)
        )
        let tape = ChoiceTape(seed: scenario.seed, plain: scenario.isNetworkPlain ? [.network] : [])
        self.world = World(plan: plan, tape: tape)
        self.world.comparesAll = true
        self.hasExpectations = scenario.statements.contains { if case .expect = $0.content { true } else { false } }
    }

    private func perform(_ scenario: Scenario) -> ScenarioError? {
        self.world.begin()
        for statement in scenario.statements {
            if let time = statement.time { self.world.run(until: Simulation.preparation + time) }
            if let failure = self.perform(statement) ?? self.finding(statement) { return failure }
            // What has a time of its own leaves none behind it.
            if statement.time == nil { self.world.run(until: self.world.time + ScenarioRunner.pace) }
        }
        return nil
    }

    private func perform(_ statement: Scenario.Statement) -> ScenarioError? {
        switch statement.content {
        case .action(let action):
            // Those with a time are performed by the queue.
            guard statement.time == nil else { return nil }
            self.world.trace?.add(action, at: self.world.time)
            self.world.perform(action)
            self.world.updateTrace()
        case .wait(let length): self.world.run(until: self.world.time + length)
        case .settle(let core):
            if self.world.record.hasFatalFinding { return nil }
            self.world.settle(core: core)
            self.world.isFaulty = true
            self.world.schedule(.inspection, after: World.inspectionInterval)
            if self.hasExpectations, self.world.record.marks.contains(.strangersLeft) {
                let message = "some of these peers have never heard of another"
                return ScenarioError(line: statement.line, message: message)
            }
        case .expect(let expectation):
            if let message = self.contradiction(to: expectation) {
                return ScenarioError(line: statement.line, message: message)
            }
        }
        return nil
    }

    private func finding(_ statement: Scenario.Statement) -> ScenarioError? {
        self.world.record.findings.first.map { ScenarioError(line: statement.line, message: "\($0)") }
    }

    // MARK: - Expectations

    private func contradiction(to expectation: Expectation) -> String? {
        switch expectation {
        case .onBranch(let branch, let expectation): return self.contradiction(to: expectation, on: branch)
        case .branch(let branch), .noBranch(let branch):
            return self.contradiction(isThere: expectation == .branch(branch), branch)
        case .seen(let mark): return self.world.record.marks.contains(mark) ? nil : "\(mark.rawValue) was not seen"
        case .neverSeen(let mark): return self.world.record.marks.contains(mark) ? "\(mark.rawValue) was seen" : nil
        case .waiting, .forked, .members, .replicas: return self.statusContradiction(to: expectation)
        case .deliveredAtMost(let limit):
            let count = self.world.record.deliveredByteCount
            return count <= limit ? nil : "\(count) bytes were delivered"
        case .exists, .isGone, .stands, .value, .conflict, .noConflict, .moveConflict, .noMoveConflict,
            .version:
            break
        }
        for machine in self.world.machines where machine.isUp && machine.hostile == nil {
            let found = try? machine.read { transaction throws(StoreError) -> String? in
                try ScenarioRunner.contradiction(to: expectation, in: &transaction)
            }
            guard let found else { return "machine \(machine.number) cannot be read" }
            if let message = found { return "on machine \(machine.number) \(message)" }
        }
        return nil
    }

    /// What nodes say of themselves.
    private func statusContradiction(to expectation: Expectation) -> String? {
        for machine in self.world.machines where machine.isUp && machine.hostile == nil {
            guard let status = machine.observedStatus(at: self.world.time) else {
                return "machine \(machine.number) cannot be read"
            }
            let wanted: Int
            let found: Int
            var isMost = false
            switch expectation {
            case .waiting(let count):
                wanted = count
                found = Int(clamping: status.waits.reduce(0) { $0 + $1.changeCount })
            case .forked(let count):
                wanted = count
                found = status.forks.count
            case .members(let count):
                wanted = count
                found = status.peers.count
            case .replicas(let count):
                wanted = count
                found = status.frontier.count
                isMost = true
            case .exists, .isGone, .stands, .value, .conflict, .noConflict, .moveConflict, .noMoveConflict,
                .version, .deliveredAtMost, .seen, .neverSeen, .branch, .noBranch, .onBranch:
                return nil
            }
            if found != wanted, !(isMost && found < wanted) {
                return "machine \(machine.number) says \(found)"
            }
        }
        return nil
    }

    private static func contradiction(
        to expectation: Expectation,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> String? {
        switch expectation {
        case .exists, .isGone, .stands, .value: return try self.contradiction(to: expectation, inState: &transaction)
        case .conflict(let object, let property, let text):
            let values = try self.conflicts(object, property, in: &transaction)
            return values.contains(.string(text)) ? nil : "the conflicts are \(values)"
        case .noConflict(let object, let property):
            let values = try self.conflicts(object, property, in: &transaction)
            return values.isEmpty ? nil : "the conflicts are \(values)"
        case .version(let object, let property, let number):
            let found = try self.version(object, property, in: &transaction)
            return found == Int64(number) ? nil : "it is version \(found)"
        case .moveConflict(let object, let parent):
            let places = try self.losingMoves(of: object, in: &transaction)
            let wanted = parent.map { Workload.object($0) }
            return places.contains { $0.parent == wanted } ? nil : "the moves in conflict are \(places)"
        case .noMoveConflict(let object):
            let places = try self.losingMoves(of: object, in: &transaction)
            return places.isEmpty ? nil : "the moves in conflict are \(places)"
        case .seen, .neverSeen, .waiting, .forked, .members, .replicas, .deliveredAtMost, .branch, .noBranch, .onBranch:
            return nil
        }
    }

    /// How often a property was written.
    private static func version(
        _ object: Int,
        _ property: String,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Int64 {
        guard let index = try transaction.existingObjectIndex(of: Workload.object(object)) else { return 0 }
        let key = RegisterKey(object: index, name: try transaction.nameIndex(of: property))
        return try transaction.register(key)?.writeCount ?? 0
    }

    /// Where an object would stand by the moves of it that lost.
    private static func losingMoves(
        of object: Int,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [Place] {
        guard let index = try transaction.existingObjectIndex(of: Workload.object(object)) else { return [] }
        var places: [Place] = []
        for write in try transaction.openMoves(of: index).dropLast() {
            if case .move(_, let place) = try transaction.edit(write) { places.append(place) }
        }
        return places
    }

    private static func conflicts(
        _ object: Int,
        _ property: String,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [Value] {
        guard let index = try transaction.existingObjectIndex(of: Workload.object(object)) else { return [] }
        let key = RegisterKey(object: index, name: try transaction.nameIndex(of: property))
        var values: [Value] = []
        for write in try transaction.conflicts(at: key) {
            if case .set(_, _, let value) = try transaction.edit(write) { values.append(value) }
        }
        return values
    }
}
