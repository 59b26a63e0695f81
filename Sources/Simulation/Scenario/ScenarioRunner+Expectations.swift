internal import CRDTCore
internal import Engine
internal import Persistence

/// What a scenario expects, held against what the machines have.
extension ScenarioRunner {
    /// How an expectation is not met, in words; nil if it is.
    func contradiction(to expectation: Expectation) -> String? {
        switch expectation {
        case .seen(let mark): return self.world.record.marks.contains(mark) ? nil : "\(mark.rawValue) was not seen"
        case .neverSeen(let mark): return self.world.record.marks.contains(mark) ? "\(mark.rawValue) was seen" : nil
        case .deliveredAtMost(let limit):
            let count = self.world.record.deliveredByteCount
            return count <= limit ? nil : "\(count) bytes were delivered"
        case .waiting(let count):
            return self.miscount(wanted: count...count) { Int(clamping: $0.waits.reduce(0) { $0 + $1.changeCount }) }
        case .forked(let count): return self.miscount(wanted: count...count) { $0.forks.count }
        case .members(let count): return self.miscount(wanted: count...count) { $0.peers.count }
        case .replicas(let limit): return self.miscount(wanted: 0...limit) { $0.frontier.count }
        case .on(let peers, let expectation):
            var runner = self
            runner.only = peers
            return runner.contradiction(to: expectation)
        case .untold(let peers, let text):
            let told = peers.first { self.world.machines[$0].hasText(text) }
            return told.map { "machine \($0) has it" }
        case .apart(let peers): return self.meeting(ofFirst: peers)
        case .left(let object, let isLeft): return self.contradiction(of: object, isLeft: isLeft)
        case .branch(let branch):
            return self.contradiction { World.branch(branch, in: $0) == nil ? "the branch is gone" : nil }
        case .noBranch(let branch):
            return self.contradiction { World.branch(branch, in: $0) == nil ? nil : "the branch is there" }
        case .onBranch(let branch, let expectation):
            return self.contradiction { transaction throws(StoreError) in
                guard let branch = World.branch(branch, in: transaction) else { return "there is no such branch" }
                var state = HistoryState(try transaction.view(of: branch), of: transaction)
                return try Self.contradiction(to: expectation, inState: &state)
            }
        case .exists, .isGone, .stands, .value:
            return self.contradiction { transaction throws(StoreError) in
                guard transaction.circles.count > 1 else {
                    return try Self.contradiction(to: expectation, inState: &transaction)
                }
                var state = CombinedState(.present, of: transaction)
                return try Self.contradiction(to: expectation, inState: &state)
            }
        case .conflict(let object, let property, let text):
            return self.contradiction { transaction throws(StoreError) in
                let values = try Self.conflicts(object, property, in: &transaction)
                return values.contains(.string(text)) ? nil : "the conflicts are \(values)"
            }
        case .noConflict(let object, let property):
            return self.contradiction { transaction throws(StoreError) in
                let values = try Self.conflicts(object, property, in: &transaction)
                return values.isEmpty ? nil : "the conflicts are \(values)"
            }
        case .version(let object, let property, let number):
            return self.contradiction { transaction throws(StoreError) in
                let key = try Self.register(object, property, in: &transaction)
                let found = try key.flatMap { key throws(StoreError) in try transaction.register(key) }?.writeCount ?? 0
                return found == Int64(number) ? nil : "it is version \(found)"
            }
        case .kept(let peer, let object, let property, let count):
            let found = self.keptCount(of: object, property, on: peer)
            return found == Int64(count) ? nil : "\(found ?? 0) writes are kept"
        case .moveConflict(let object, let parent):
            return self.contradiction { transaction throws(StoreError) in
                let places = try Self.losingMoves(of: object, in: &transaction)
                let wanted = parent.map { Workload.object($0) }
                return places.contains { $0.parent == wanted } ? nil : "the moves in conflict are \(places)"
            }
        case .noMoveConflict(let object):
            return self.contradiction { transaction throws(StoreError) in
                let places = try Self.losingMoves(of: object, in: &transaction)
                return places.isEmpty ? nil : "the moves in conflict are \(places)"
            }
        }
    }

    /// How many writes of a property a machine still has.
    private func keptCount(of object: Int, _ property: String, on peer: Int) -> Int64? {
        self.world.machines[peer].look { transaction throws(StoreError) -> Int64 in
            guard let key = try Self.register(object, property, in: &transaction),
                let register = try transaction.register(key)
            else { return 0 }
            return try transaction.redactedWrites(at: key).reduce(register.writeCount) { $0 - $1.count }
        }
    }

    /// With whom of the others the first of some peers is in a session.
    private func meeting(ofFirst peers: [Int]) -> String? {
        let machines = peers.map { self.world.machines[$0] }
        for other in machines.dropFirst() {
            let status = other.observedStatus(at: self.world.time)
            let isMet = status?.peers.contains { $0.isConnected && $0.device == machines[0].device } ?? false
            if isMet { return "machine \(other.number) is in a session with machine \(machines[0].number)" }
        }
        return nil
    }

    private func contradiction(of object: Int, isLeft: Bool) -> String? {
        self.contradiction { transaction throws(StoreError) in
            guard let index = try transaction.existingObjectIndex(of: Workload.object(object)) else {
                return "the object is not there"
            }
            let isFound = try !transaction.leftWrites(behind: index).isEmpty
            return isFound == isLeft ? nil : isFound ? "something is left behind" : "nothing is left behind"
        }
    }

    private var machines: [Machine] {
        self.world.machines.filter { machine in
            machine.isUp && machine.hostile == nil && self.only?.contains(machine.number) ?? true
        }
    }

    /// What is not so in the store of a machine.
    private func contradiction(_ body: (inout SQLiteStore.Transaction) throws(StoreError) -> String?) -> String? {
        for machine in self.machines {
            guard let found = try? machine.read(body) else { return "machine \(machine.number) cannot be read" }
            if let found { return "on machine \(machine.number) \(found)" }
        }
        return nil
    }

    /// What the node of a machine counts otherwise.
    private func miscount(wanted: ClosedRange<Int>, _ count: (NodeStatus) -> Int) -> String? {
        for machine in self.machines {
            guard let status = machine.observedStatus(at: self.world.time) else {
                return "machine \(machine.number) cannot be read"
            }
            let found = count(status)
            if !wanted.contains(found) { return "machine \(machine.number) says \(found)" }
        }
        return nil
    }

    /// What an expectation says of any state that can be read, and that is not so; nil if all is well.
    private static func contradiction(
        to expectation: Expectation,
        inState state: inout some StateReading
    ) throws(StoreError) -> String? {
        switch expectation {
        case .exists(let object):
            return try self.record(of: object, in: &state) == nil ? "the object is gone" : nil
        case .isGone(let object):
            return try self.record(of: object, in: &state) == nil ? nil : "the object is there"
        case .stands(let object, let parent):
            guard let record = try self.record(of: object, in: &state) else { return "the object is gone" }
            let id = try record.parent.map { index throws(StoreError) in try state.object(index).id }
            if id == parent.map({ Workload.object($0) }) { return nil }
            return "the object is \(id.map { "under \($0)" } ?? "at the root")"
        case .value(let object, let property, let texts):
            var found: Value?
            if let index = try state.existingObjectIndex(of: Workload.object(object)) {
                found = try state.properties(of: index).first { $0.name == property }?.value
            }
            guard let found else { return texts.isEmpty ? nil : "there is no value" }
            return texts.contains { found == .string($0) } ? nil : "the value is \(found)"
        default: return nil
        }
    }

    private static func record(
        of object: Int,
        in state: inout some StateReading
    ) throws(StoreError) -> ObjectRecord? {
        guard let index = try state.existingObjectIndex(of: Workload.object(object)) else { return nil }
        let record = try state.object(index)
        return record.isVisible ? record : nil
    }
    /// One of an object's registers; nil if nobody has heard of the object.
    private static func register(
        _ object: Int,
        _ property: String,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> RegisterKey? {
        guard let index = try transaction.existingObjectIndex(of: Workload.object(object)) else { return nil }
        return RegisterKey(object: index, name: try transaction.nameIndex(of: property))
    }

    private static func conflicts(
        _ object: Int,
        _ property: String,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [Value] {
        guard let key = try self.register(object, property, in: &transaction) else { return [] }
        var values: [Value] = []
        for write in try transaction.conflicts(at: key) {
            if case .set(_, _, let value) = try transaction.edit(write) { values.append(value) }
        }
        return values
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
}
