internal import CRDTCore
internal import Engine
internal import MergeModel
internal import Persistence

/// What the log of one machine says in the end, beside what its store shows.
extension World {
    /// P8: the naive model, given the same log, comes to the same state.
    ///
    /// The model must have all of the log: so no compaction, and nothing missing.
    func compareWithModel(_ machine: Machine) {
        guard !self.hasCompacted else { return }
        let liars = Set(self.machines.compactMap { $0.hostile?.identity.device })
        let now = machine.clock.wall(at: self.time)
        do throws(StoreError) {
            _ = try machine.read { transaction throws(StoreError) in
                let log = try LogReading(of: &transaction, founder: machine.founder, now: now)
                let isComparable = !StateChecks.hasAppliedHeld(at: now, in: transaction)
                let isComplete = try transaction.isComplete()
                guard isComparable, isComplete, log.changeCount <= World.modelChangeCountMax else { return }
                let actual = try StateReader.state(of: &transaction, objects: log.objects.sorted())
                self.record.mark(.comparedWithModel)
                if World.hasTies(log.history) { self.record.mark(.stampsTied) }
                self.note(.overruled, World.overruledWrite(in: actual, by: log.history), on: machine)
                self.note(.stampFell, World.fallenStamp(in: log.history, but: liars, transaction), on: machine)
                let expected = NaiveModel(log.history).state()
                if expected != actual {
                    let difference = actual.differences(from: expected)
                    self.record.find(.modelDisagrees, "machine \(machine.number):\n\(difference)")
                }
            }
        } catch {
            self.note(.damage, "\(error)", on: machine)
        }
    }

    /// P14: a write that is in force although a later one had seen it, in words; nil if there is none.
    ///
    /// By what the authors had seen alone: neither stamps nor the order of writes come into it.
    private static func overruledWrite(in state: PlainState, by history: NaiveHistory) -> String? {
        // What was written on a branch overrules only where it is merged.
        let verdicts = history.verdicts()
        let counted = history.counted(verdicts)
        let contexts = verdicts.contexts.filter { counted.contains($0.key) }
        for object in state.objects {
            for property in object.properties {
                guard let winner = history.number(of: property.winner.hash) else { continue }
                for (number, context) in contexts where number != winner && context.contains(winner) {
                    let writes = history.changes[number].edits.contains { edit in
                        switch edit {
                        case .set(object.id, let name, _), .unset(object.id, let name):
                            ModelText(name) == property.name
                        default: false
                        }
                    }
                    guard writes else { continue }
                    return "\(ModelWords.short(property.winner)) is in force, and "
                        + "\(ModelWords.short(history.changes[number].replica)) had seen it and wrote again"
                }
            }
        }
        return nil
    }

    /// A change that its author stamped no later than the one before it, in words; nil if there is none.
    private static func fallenStamp(
        in history: NaiveHistory,
        but liars: Set<DeviceID>,
        _ transaction: borrowing some StoreTransaction
    ) -> String? {
        for change in history.changes {
            guard let number = change.previous.flatMap({ history.number(of: $0) }),
                history.changes[number].stamp >= change.stamp,
                let line = transaction.firstSegment(of: change.replica), let device = transaction.segment(line).device,
                !liars.contains(device)
            else { continue }
            return
                "\(ModelWords.short(change.replica)):\(change.sequence) is stamped \(ModelWords.short(change.stamp)), "
                + "after \(ModelWords.short(history.changes[number].stamp))"
        }
        return nil
    }

    /// Whether two applied changes of different chains have one stamp.
    private static func hasTies(_ history: NaiveHistory) -> Bool {
        let stamps = history.changes.map(\.stamp)
        return Set(stamps).count < stamps.count
    }
}
