internal import CRDTCore
internal import Engine

/// What a scenario expects of branches.
extension ScenarioRunner {
    /// Whether every machine has a branch, or none has.
    func contradiction(isThere: Bool, _ branch: Int) -> String? {
        for machine in self.world.machines where machine.isUp && machine.hostile == nil {
            let found = try? machine.read { transaction throws(StoreError) in
                World.branch(branch, in: transaction) != nil
            }
            guard let found else { return "machine \(machine.number) cannot be read" }
            if found != isThere { return "on machine \(machine.number) the branch is \(isThere ? "gone" : "there")" }
        }
        return nil
    }

    func contradiction(to expectation: Expectation, on branch: Int) -> String? {
        for machine in self.world.machines where machine.isUp && machine.hostile == nil {
            let found = try? machine.read { transaction throws(StoreError) -> String? in
                guard let branch = World.branch(branch, in: transaction) else { return "there is no such branch" }
                var state = HistoryState(try transaction.view(of: branch), of: transaction)
                return try Self.contradiction(to: expectation, inState: &state)
            }
            guard let found else { return "machine \(machine.number) cannot be read" }
            if let message = found { return "on machine \(machine.number) \(message)" }
        }
        return nil
    }

    /// What an expectation says of any state that can be read, and that is not so; nil if all is well.
    static func contradiction(
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
}
