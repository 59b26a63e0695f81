internal import CRDTCore
internal import Engine
internal import MergeModel
internal import PeerCrypto
internal import SyncProtocol

/// The log of a store, merged anew: from nothing, one piece at a time, each in a transaction of its own, and the chains
/// in another order than they came in.
struct LogReplayCheck {
    /// The store that the log is merged into.
    var copy: MemoryStore
    let membership: Membership
    let now: WallTime
    let cryptography: SodiumCryptography

    /// The exported state that comes out.
    ///
    /// `isReversed`: whether the chains are taken from the last that became known to the first.
    mutating func export(
        of transaction: inout some StoreTransaction,
        isReversed: Bool
    ) throws(StoreError) -> [UInt8] {
        let segments = transaction.segmentIndices
        for segment in isReversed ? segments.reversed() : segments { try self.add(segment, of: &transaction) }
        // What is over has been told by the owner's machines: no log says it.
        let circles = transaction.circles
        let closed = Set(circles.closed.map { circles[$0] })
        try self.copy.write { (copy: inout MemoryTransaction) throws(StoreError) in
            copy.setClosedCircles(Set(closed.compactMap { copy.circles.index(of: $0) }))
        }
        return try self.copy.read { (copy: inout MemoryTransaction) throws(StoreError) in
            var state = CombinedState(.present, of: copy)
            return try StateExport.json(of: &state)
        }
    }

    private mutating func add(
        _ index: SegmentIndex,
        of transaction: inout some StoreTransaction
    ) throws(StoreError) {
        let record = transaction.segment(index)
        var previous = ChainHash.origin(self.membership.workspace)
        if let parent = record.origin?.parent, parent.sequence > 0 {
            // A segment comes after what it hangs on, whatever the order.
            try self.add(parent.segment, of: &transaction)
            previous = try transaction.hash(at: parent) ?? .zero
        }
        var next = record.firstSequence
        while let run = try transaction.loadRun(of: index, from: next, limits: RunLimits(), signed: true) {
            let verified: VerifiedRun
            do throws(RunRejection) {
                verified = try VerifiedRun.verify(
                    run,
                    previous: previous,
                    device: next == 1 ? nil : record.device,
                    workspace: self.membership.workspace,
                    self.cryptography
                )
            } catch {
                throw .damaged("changes of \(record.id) from \(next) on do not hold: \(error)")
            }
            previous = verified.hashes[verified.hashes.count - 1]
            next = run.lastSequence + 1
            try self.receive(verified)
        }
    }

    private mutating func receive(_ run: VerifiedRun) throws(StoreError) {
        let (now, founder) = (self.now, self.membership.founder)
        try self.copy.write { (copy: inout MemoryTransaction) throws(StoreError) in
            var merge = Merge(now: now, founder: founder)
            guard try merge.receive(run, in: &copy) != .doesNotFit else {
                throw .damaged("changes of \(run.run.replica) do not follow each other")
            }
            try merge.finish(in: &copy)
        }
    }
}

extension World {
    /// Of how many runs in a hundred the log is merged anew: every signature in it is checked once more.
    private static let replayPercent = 15

    /// P5, P6, P19: what a machine came to piece by piece, as others passed it on, is what its log makes in any order.
    func compareWithReplay(_ core: [Machine]) {
        let isDrawn = self.tape.chance(World.replayPercent, .oracles)
        guard self.comparesAll || isDrawn, !self.record.hasFatalFinding else { return }
        let machine = core[self.tape.below(core.count, .oracles)]
        self.compareWithReplay(machine, isReversed: self.tape.chance(50, .oracles))
        self.compareWithRebuilt(machine)
    }

    func compareWithReplay(_ machine: Machine, isReversed: Bool) {
        let (membership, user) = (machine.identity.membership, machine.user)
        let now = machine.clock.wall(at: self.time)
        do throws(StoreError) {
            let found = try machine.read { transaction throws(StoreError) -> (stored: [UInt8], anew: [UInt8])? in
                let log = try LogReading(of: &transaction, founder: membership.founder, now: now)
                let isSmall = log.changeCount <= World.modelChangeCountMax
                // The clock may have been set back by less than nodes take note of.
                guard isSmall, !StateChecks.hasAppliedHeld(at: now, in: transaction) else { return nil }
                // Nor need all that is restamped have been settled.
                let merge = Merge(now: now, founder: membership.founder)
                guard try merge.dueRestamps(in: &transaction).isEmpty else { return nil }
                var replay = LogReplayCheck(
                    copy: MemoryStore(origin: machine.origin),
                    membership: membership,
                    now: now,
                    cryptography: SodiumCryptography(memo: machine.memo)
                )
                let reader = CircleReader(user: user, founder: membership.founder)
                try replay.copy.write { (copy: inout MemoryTransaction) throws(StoreError) in copy.setReader(reader) }
                let anew = try replay.export(of: &transaction, isReversed: isReversed)
                var state = CombinedState(.present, of: transaction)
                return (try StateExport.json(of: &state), anew)
            }
            guard let found, let exports = found else { return }
            self.record.mark(.comparedWithReplay)
            guard exports.stored != exports.anew else { return }
            let difference = ModelWords.firstDifference(exports.stored, exports.anew)
            self.note(.replayDisagrees, "its log, merged again, makes another state: \(difference)", on: machine)
        } catch {
            self.note(.replayDisagrees, "its log cannot be merged again: \(error)", on: machine)
        }
    }
}
