internal import CRDTCore
internal import Engine
internal import MergeModel
internal import Persistence

extension Machine {
    /// The circles of which it is sent nothing any more, as it was told.
    var closedCircles: Set<Circle>? {
        self.look { transaction throws(StoreError) -> Set<Circle> in
            let circles = transaction.circles
            return Set(circles.closed.map { circles[$0] })
        }
    }
}

/// Worlds of several people: who reads a circle has all of it, and nobody else has anything of it.
extension World {
    /// P26: nobody holds anything of a circle that nobody has ever let him read.
    func checkCircles(of machine: Machine) {
        // Who reads something may hand it to anybody, against the rules: nobody can hinder him.
        guard self.isShared, machine.node != nil, !self.machines.contains(where: { $0.hostile != nil }) else { return }
        let (founder, user) = (machine.founder, machine.user)
        let found = self.read(machine) { transaction throws(StoreError) -> (revision: Int, [Circle: Set<UserID>])? in
            let revision = transaction.rights.revision &* 1_000 &+ transaction.circles.count
            if revision == machine.rightsRevision { return nil }
            var guests: [Circle: Set<UserID>] = [:]
            for number in 0..<UInt32(transaction.circles.count) {
                let index = CircleIndex(rawValue: number)
                let grants = transaction.rights.rights(in: index)?.allGrants ?? []
                guests[transaction.circles[index]] = Set(grants.map(\.user))
            }
            guests[.home, default: []].formUnion([founder])
            return (revision, guests)
        }
        guard let (revision, guests) = found else { return }
        machine.rightsRevision = revision
        for (circle, users) in guests { self.guests[circle, default: []].formUnion(users) }
        let hasHome = self.holdsHome(machine)
        for circle in guests.keys where circle != .roster && (circle != .home || hasHome) {
            let owner = circle.owner(founder: founder)
            guard owner != user, !(self.guests[circle] ?? []).contains(user) else { continue }
            self.record.find(
                .leaked,
                "machine \(machine.number) holds something of \(Readership.word(circle)) of somebody who has never "
                    + "shared it with its user"
            )
        }
    }

    private func holdsHome(_ machine: Machine) -> Bool {
        machine.look { transaction throws(StoreError) -> Bool in
            transaction.segmentIndices.contains { transaction.progress(of: $0).circle == .home }
        } ?? false
    }

    /// P26: what was written where its author alone reads is on nobody else's disk.
    func checkSecrets() {
        guard self.isShared else { return }
        for machine in self.machines where machine.node != nil && machine.hostile == nil {
            self.note(.leaked, self.oracles.secrets.leak(on: machine), on: machine)
        }
    }

    /// Whether all of a core have what they read, and those of one person show the same.
    func isEqualInCircles(_ core: [Machine]) -> Bool { self.circleGap(of: core) == nil }

    /// What is not yet so, in words; nil if all is.
    func circleGap(of core: [Machine]) -> String? {
        guard core.allSatisfy(\.isUp), let readership = Readership(core) else { return "a machine cannot be read" }
        if let gap = readership.gap { return gap }
        let complete = core.filter { readership.readsAll($0) }
        for (position, machine) in complete.enumerated() {
            for other in complete[..<position] where other.user == machine.user {
                // What was told beside the log to one of them alone shows there alone.
                if other.closedCircles != machine.closedCircles { continue }
                guard let left = other.export, let right = machine.export else { return "a state cannot be read" }
                if left == right { continue }
                return "machines \(other.number) and \(machine.number) of one person show different states: "
                    + ModelWords.firstDifference(left, right)
            }
        }
        return nil
    }

    /// P14, for each circle among those who read it.
    func missingWriteInCircles(of core: [Machine]) -> String? {
        guard let readership = Readership(core) else { return nil }
        for write in self.oracles.acknowledged.required where !self.isHostile(self.machines[write.author]) {
            guard let readers = readership.readers[write.circle],
                !readers.isDisjoint(with: write.holders)
            else { continue }
            for machine in core where readers.contains(machine.number) && !machine.holds(write.change) {
                let change = write.change
                return "\(ModelWords.short(change.replica)):\(change.sequence), held by \(write.holders.sorted()), is "
                    + "gone from the core: machine \(machine.number), which reads it, has no "
                    + "\(change.hash.description.prefix(8))"
            }
        }
        return nil
    }

    /// P8: what a machine puts together from its circles is what the naive model makes of its log.
    func compareCirclesWithModel(_ machine: Machine) {
        guard !self.hasCompacted else { return }
        let (founder, user) = (machine.founder, machine.user)
        let now = machine.clock.wall(at: self.time)
        do throws(StoreError) {
            _ = try machine.read { transaction throws(StoreError) in
                guard try transaction.isComplete(), !StateChecks.hasAppliedHeld(at: now, in: transaction) else {
                    return
                }
                let circles = try self.modelOfCircles(in: &transaction, of: machine, now)
                guard let circles else { return }
                self.record.mark(.circlesComparedWithModel)
                let reader = CircleReader(user: user, founder: founder)
                let ended = Set(transaction.circles.closed.map { transaction.circles[$0] })
                let expected = NaiveCombination(circles, for: reader, ended: ended)
                var state = CombinedState(.present, of: transaction)
                let actual = try NaiveCombination(of: &state)
                guard actual != expected else { return }
                self.note(.modelDisagrees, actual.difference(from: expected), on: machine)
            }
        } catch {
            self.note(.damage, "\(error)", on: machine)
        }
    }

    /// The circles that show a user something, each by the naive model; nil if their logs are too long for that.
    ///
    /// `frontier`: what of them counts; nil for all.
    private func modelOfCircles(
        in transaction: inout some StoreTransaction,
        of machine: Machine,
        _ now: WallTime,
        upTo frontier: Frontier? = nil
    ) throws(StoreError) -> [(Circle, NaiveModel)]? {
        var circles: [(Circle, NaiveModel)] = []
        var count = 0
        for number in 0..<UInt32(transaction.circles.count) {
            let index = CircleIndex(rawValue: number)
            let circle = transaction.circles[index]
            let owner = circle.owner(founder: machine.founder)
            let log = try LogReading(of: &transaction, founder: owner, now: now, in: index)
            count += log.changeCount
            guard count <= World.modelChangeCountMax else { return nil }
            // What the user has left shows him nothing. What lay beside others covers nothing any more once its
            // readers are told that it is over.
            let isOver = circle.isBeside && transaction.circles.closed.contains(index)
            let known = frontier.map { log.history.upTo($0) } ?? log.history
            guard circle != .roster, !isOver, !known.hasLeft(machine.user) else { continue }
            var history = log.history.permitted()
            history = history.madeOffline(on: nil, history.verdicts())
            if let frontier { history = history.upTo(frontier) }
            circles.append((circle, NaiveModel(history)))
        }
        return circles
    }

    /// P20: what a machine had shown reads on each machine of its user as the naive model makes it of the changes of
    /// then, judged by all that is known now.
    func checkPastOfCircles(_ core: [Machine]) {
        guard !self.hasCompacted, let version = self.oracles.versions.all.last else { return }
        let user = self.machines[version.machine].user
        for machine in core where machine.user == user && !self.record.hasFatalFinding {
            let now = machine.clock.wall(at: self.time)
            let found = self.readPast(of: machine) { transaction throws(StoreError) -> String? in
                guard try transaction.isComplete(), !StateChecks.hasAppliedHeld(at: now, in: transaction),
                    let seen = try RecordedVersion.seen(version.frontier, in: &transaction),
                    let circles = try self.modelOfCircles(in: &transaction, of: machine, now, upTo: version.frontier)
                else { return nil }
                let reader = CircleReader(user: machine.user, founder: machine.founder)
                let ended = Set(transaction.circles.closed.map { transaction.circles[$0] })
                let expected = NaiveCombination(circles, for: reader, ended: ended)
                var past = CombinedState(HistoryView(seen: seen), of: transaction)
                let actual = try NaiveCombination(of: &past)
                self.record.mark(.pastRead)
                return actual == expected ? nil : actual.difference(from: expected)
            }
            let message = found.map { "the naive model comes to another state of the past: \($0)" }
            self.note(.pastDiffers, message, on: machine)
        }
    }
}
