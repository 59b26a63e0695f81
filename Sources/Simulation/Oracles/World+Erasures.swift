internal import CRDTCore
internal import Engine
internal import MergeModel
internal import Persistence

/// What was erased, as the machines of the core have it in the end.
extension World {
    /// No machine keeps the content of a write that an erasure covers which counts there.
    func checkErasures(_ core: [Machine]) {
        guard self.record.saw(.pastErased) else { return }
        // Whose disk failed takes up what is left when it tries the disk again.
        let deadline = self.time + World.settlingTime
        while self.time < deadline, self.erasureLeft(on: core) != nil, !self.record.hasFatalFinding {
            self.run(until: self.time + .seconds(1))
        }
        guard !self.record.hasFatalFinding else { return }
        if let left = self.erasureLeft(on: core) { self.record.find(.erasureLeft, left) }
    }

    /// Of which erasure something is left on one of these machines, in words; nil if of none.
    private func erasureLeft(on core: [Machine]) -> String? {
        for machine in core {
            do throws(StoreError) {
                let found = try machine.read { transaction throws(StoreError) in
                    try Self.erasures(countingIn: &transaction)
                }
                guard let found else { continue }
                if found.count > 0 { self.record.mark(.erasuresChecked) }
                if let left = found.left { return "machine \(machine.number) keeps what was erased: \(left)" }
            } catch {
                return "machine \(machine.number): \(error)"
            }
        }
        return nil
    }

    /// How many erasures count in a store, and one of which something is left.
    private static func erasures(
        countingIn transaction: inout some StoreTransaction
    ) throws(StoreError) -> (count: Int, left: String?) {
        var count = 0
        // Erasures of other devices in bulk wait for a day.
        let waiting = Set(try transaction.waitingErasures().map(\.segment))
        for segment in transaction.segmentIndices where !waiting.contains(segment) {
            let progress = transaction.progress(of: segment)
            guard progress.hasApplied else { continue }
            var sequence = progress.firstSequence
            while sequence <= progress.countedSequence {
                let limits = RunLimits()
                guard let run = try transaction.loadRun(of: segment, from: sequence, limits: limits, signed: false)
                else {
                    throw .damaged("a change is missing from the log")
                }
                for (offset, change) in run.changes.enumerated() {
                    let place = SegmentPoint(segment: segment, sequence: sequence + UInt64(offset))
                    guard place.sequence <= progress.countedSequence else { break }
                    for erasure in run.effectiveErasures(of: change) {
                        count += 1
                        if try Self.isLeft(erasure, of: place, in: &transaction) {
                            let author = ModelWords.short(transaction.replicaID(segment))
                            return (count, "\(erasure.name) of \(erasure.object), by \(place.sequence) of \(author)")
                        }
                    }
                }
                sequence += UInt64(run.changes.count)
            }
        }
        return (count, nil)
    }

    /// Whether a write that an erasure covers still has its content, which no open branch needs.
    private static func isLeft(
        _ erasure: Erasure,
        of place: SegmentPoint,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        let object = try transaction.objectIndex(of: erasure.object)
        let key = RegisterKey(object: object, name: try transaction.nameIndex(of: erasure.name))
        let ordinal = ChainOrdinal(sequence: place.sequence, index: 0)
        let seen = try transaction.context(at: place)
        let context = CausalContext(seen: seen, author: place.segment, ordinal: ordinal)
        var left = try transaction.supersededWrites(at: key, upTo: 1) { $0.ordinal < context.end(of: $0.segment) }
        left += try transaction.givenUpWrites(at: key, seenBy: [context])
        guard !left.isEmpty else { return false }
        // What a branch shows stays as long as it does, and is noted.
        if transaction.openBranches.isEmpty { return true }
        var pending = try transaction.erasures(after: nil)
        while let last = pending.last {
            if pending.contains(where: { $0.key == key }) { return false }
            pending = try transaction.erasures(after: last.key)
        }
        return true
    }
}
