internal import CRDTCore
internal import Engine
internal import MergeModel
internal import Persistence

/// The past as machines read it when all is settled.
extension World {
    /// Of how many runs in a hundred states are kept to be read again.
    static let pastPercent = 50
    /// In how many of these in a hundred the naive model reads them too.
    private static let modelPercent = 50

    /// Keeps the present state of a machine for the end.
    func recordVersion(of machine: Machine) {
        guard self.readsPast, machine.isUp, !machine.isTainted, machine.hostile == nil, !World.hasShortNames else {
            return
        }
        let wall = machine.clock.wall(at: self.time)
        let found = machine.look { transaction throws(StoreError) -> (RecordedVersion, StateFingerprint)? in
            let version = try RecordedVersion(of: &transaction, on: machine, at: wall)
            guard let version else { return nil }
            return (version, try StateFingerprint(of: VisibleObjects(of: &transaction), in: &transaction))
        }
        guard let (version, fingerprint) = found else { return }
        self.oracles.versions.add(version)
        // What goes over into another circle begins anew there.
        if !self.isShared { self.checkWriteCounts(fingerprint, of: machine) }
    }

    /// Where names of changes collide, a context comes to mean less when another change with the name arrives.
    static var hasShortNames: Bool {
        false
    }

    /// P20: each kept state reads the same on every machine, and is what it was unless something in it was restamped.
    func checkVersions(_ core: [Machine]) {
        for version in self.oracles.versions.all {
            var first: (machine: Int, export: [UInt8])?
            for machine in core where !self.record.hasFatalFinding {
                let read = self.readPast(of: machine) { transaction throws(StoreError) in
                    try version.read(in: &transaction)
                }
                guard let reading = read else { continue }
                let export = reading.export
                let whose = "the state of machine \(version.machine) at \(version.wall.milliseconds)"
                if reading.isReordered {
                    self.record.mark(.pastReordered)
                } else if export != version.export {
                    let difference = ModelWords.firstDifference(version.export, export)
                    self.record.find(.pastDiffers, "\(whose), read by machine \(machine.number): \(difference)")
                } else {
                    self.record.mark(.pastRead)
                }
                if let first, first.export != export {
                    let difference = ModelWords.firstDifference(first.export, export)
                    let message = "\(whose) reads differently on \(first.machine) and \(machine.number): \(difference)"
                    self.record.find(.pastDiffers, message)
                }
                first = first ?? (machine.number, export)
            }
        }
        if let version = self.oracles.versions.all.last { self.checkTime(version, core) }
    }

    /// Reads the store of a machine that nothing is done to any more.
    func readPast<Result>(
        of machine: Machine,
        _ body: (inout SQLiteTransaction) throws(StoreError) -> Result?
    ) -> Result? {
        do throws(StoreError) {
            return try machine.read(body) ?? nil
        } catch {
            if error == .compacted, self.hasCompacted || self.hasWithheld {
                self.record.mark(.pastDropped)
                return nil
            }
            self.record.find(.pastDiffers, "machine \(machine.number) cannot read the past: \(error)")
            return nil
        }
    }

    /// Everything up to a time reads the same on every machine, and as the changes up to then do.
    private func checkTime(_ version: RecordedVersion, _ core: [Machine]) {
        let view = HistoryView(at: version.wall)
        var first: [UInt8]?
        for machine in core where !self.record.hasFatalFinding {
            let found = self.readPast(of: machine) {
                transaction throws(StoreError) -> (byTime: [UInt8], byChanges: [UInt8]) in
                let seen = try transaction.seen(through: view.lastStamp)
                var byChanges = HistoryState(HistoryView(seen: seen), of: transaction)
                // What was merged counts from then on, whatever its own time is: such a time is read by changes.
                let isMerged = StateChecks.hasMerged(in: transaction)
                var byTime = HistoryState(isMerged ? HistoryView(seen: seen) : view, of: transaction)
                return (try StateExport.json(of: &byTime), try StateExport.json(of: &byChanges))
            }
            guard let read = found else { continue }
            let whose = "machine \(machine.number) at \(version.wall.milliseconds)"
            if read.byTime != read.byChanges {
                let difference = ModelWords.firstDifference(read.byTime, read.byChanges)
                self.record.find(.pastDiffers, "\(whose) reads another state by time: \(difference)")
            }
            if let first, first != read.byTime {
                let difference = ModelWords.firstDifference(first, read.byTime)
                self.record.find(.pastDiffers, "\(whose) reads another state than others by time: \(difference)")
            }
            first = read.byTime
            self.record.mark(.pastReadByTime)
        }
    }

    /// P20, P21: by the naive model, over the log of one machine.
    ///
    /// A kept state is that of its changes in the order that is known now. And what is taken back in good order, with
    /// nothing kept, is as if it had never been.
    func compareHistory(_ core: [Machine]) {
        let isDrawn = self.tape.chance(World.modelPercent, .oracles)
        guard self.comparesAll || isDrawn, !self.record.hasFatalFinding, !self.hasCompacted else { return }
        let machine = core[self.tape.below(core.count, .oracles)]
        let now = machine.clock.wall(at: self.time)
        let founder = machine.founder
        let version = self.oracles.versions.all.last
        let isWhole = self.oracles.undos.areWhole(in: self)
        guard version != nil || isWhole else { return }
        let found = self.readPast(of: machine) { transaction throws(StoreError) -> (past: String?, undone: String?)? in
            let log = try LogReading(of: &transaction, founder: founder, now: now)
            guard log.changeCount <= World.modelChangeCountMax,
                !StateChecks.hasAppliedHeld(at: now, in: transaction)
            else { return nil }
            var past: String?
            if let version, let seen = try RecordedVersion.seen(version.frontier, in: &transaction) {
                var state = HistoryState(HistoryView(seen: seen), of: transaction)
                let actual = try VisibleObject.all(of: &state)
                let expected = VisibleObject.all(of: NaiveModel(log.history.upTo(version.frontier)))
                past = World.difference(actual, expected)
            }
            guard isWhole, try transaction.movesWithoutEffect().isEmpty else { return (past, nil) }
            let undone = UndoneChanges(log.history.madeOffline(on: nil, log.history.verdicts()))
            let hasRestamps = transaction.restamps.count > 0
            guard !undone.marks.isEmpty, !undone.hasMerges, !hasRestamps, undone.isInOrder else { return (past, nil) }
            let expected = VisibleObject.all(of: NaiveModel(undone.history()))
            return (past, World.difference(try VisibleObject.all(of: &transaction), expected) ?? "")
        }
        guard let differences = found else { return }
        let past = differences.past.map { "the naive model comes to another state of the past: \($0)" }
        self.note(.pastDiffers, past, on: machine)
        guard let undone = differences.undone else { return }
        self.record.mark(.undoneInOrder)
        if !undone.isEmpty { self.note(.undo, "what is taken back shows: \(undone)", on: machine) }
    }

    static func difference(
        _ actual: [ObjectID: VisibleObject],
        _ expected: [ObjectID: VisibleObject]
    ) -> String? {
        let ids = Set(actual.keys).union(expected.keys).sorted()
        guard let id = ids.first(where: { actual[$0] != expected[$0] }) else { return nil }
        guard let found = actual[id] else { return "\(id) is not there" }
        guard let wanted = expected[id] else { return "\(id) is there" }
        let names = Set(found.properties.keys).union(wanted.properties.keys).sorted()
        if let name = names.first(where: { found.properties[$0] != wanted.properties[$0] }) {
            let values = [found.properties[name], wanted.properties[name]].map { $0.map { "\($0)" } ?? "nothing" }
            return "properties of \(id) differ: \(name) is \(values[0]), and should be \(values[1])"
        }
        return found.parent == wanted.parent ? "children or position of \(id) differ" : "\(id) stands elsewhere"
    }
}
