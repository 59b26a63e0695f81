internal import CRDTCore

/// Putting right what was stamped by a clock that was ahead: not by writing it again, but by a `restamp`, which orders
/// it directly after what it had seen.
extension ReplicaAuthor {
    /// Restamps changes that are held, in a new replica if our last change is one of them.
    ///
    /// `isAsked`: everything that is held of this user's devices, since the user says so; else what this device wrote,
    /// and what that had seen.
    /// - Returns: What was written; nil if there was nothing to restamp, or the clock has run out.
    mutating func restamp(
        isAsked: Bool,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> WriteReceipt? {
        var merge = self.merge()
        try self.finish(&merge, in: &transaction)
        var ends: [SegmentIndex: UInt64] = [:]
        var starts: [SegmentIndex: UInt64] = [:]
        var open: [SegmentPoint] = []
        let waits = try merge.waits(in: &transaction)
        for segment in waits.keys {
            guard isAsked || transaction.segment(segment).device == self.identity.device,
                self.mayRestamp(segment, transaction), try waits.isHeld(segment, in: &transaction)
            else { continue }
            open.append(SegmentPoint(segment: segment, sequence: transaction.progress(of: segment).storedSequence))
        }
        // What these had seen may be held as well, and they would wait for it.
        while let last = open.popLast() {
            let progress = transaction.progress(of: last.segment)
            let start = max(progress.appliedSequence, ends[last.segment] ?? 0)
            guard last.sequence > start, self.mayRestamp(last.segment, transaction) else { continue }
            ends[last.segment] = last.sequence
            if starts[last.segment] == nil { starts[last.segment] = try self.firstHeld(on: last, in: &transaction) }
            if let parent = transaction.origin(of: last.segment)?.parent { open.append(parent) }
            for point in try transaction.contexts(of: last.segment, after: start, through: last.sequence) {
                if let seen = try transaction.place(of: point) { open.append(seen) }
            }
        }
        var edits: [CircleIndex: [Edit]] = [:]
        for (segment, first) in starts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            guard let sequence = ends[segment], first <= sequence else { continue }
            let hash = try transaction.hash(at: SegmentPoint(segment: segment, sequence: sequence))
            let restamp = Restamp(
                replica: transaction.replicaID(segment),
                firstSequence: first,
                lastSequence: sequence,
                lastHash: hash ?? .zero
            )
            // One that has not helped would not help a second time, unless it is stamped too far ahead itself.
            let known = transaction.restamps.records(of: restamp.replica, endingIn: sequence...sequence)
            // Nor has one ever helped of somebody who may not restamp it.
            let isKnown = known.contains { record in
                record.restamp == restamp && !HybridClock.isHeld(record.stamp, at: self.now)
                    && self.isByRight(record, for: segment, transaction)
            }
            guard !isKnown else { continue }
            edits[transaction.progress(of: segment).circle, default: []].append(.restamp(restamp))
        }
        guard !edits.isEmpty else { return nil }
        if try self.isLastStampHeld(in: &transaction) { try self.leaveReplica(.clockRepaired, in: &transaction) }
        try self.leaveHeldCircles(in: &transaction)
        var receipt = WriteReceipt(dot: nil, created: [], operationCount: 0)
        // What is said of a chain is said to those who read it.
        for (circle, edits) in edits.sorted(by: { $0.key < $1.key }) {
            let timeline = Timeline(circle: transaction.circles[circle])
            // Whoever was let in by somebody who could not is heard by nobody.
            let grants = try self.grants(in: timeline.circle, of: &transaction)
            guard self.owns(timeline.circle) || !grants.isEmpty else { continue }
            guard let dot = try self.commit(edits, on: timeline, in: &transaction) else { break }
            (receipt.dot, receipt.operationCount) = (dot, receipt.operationCount + edits.count)
        }
        return receipt.dot == nil ? nil : receipt
    }

    /// The first change up to a place that is not applied and claims a time that is held, and not only follows from one
    /// that does; nil if there is none.
    private func firstHeld(
        on last: SegmentPoint,
        in transaction: inout some NodeTransaction
    ) throws(StoreError) -> UInt64? {
        var sequence = transaction.progress(of: last.segment).appliedSequence + 1
        while sequence <= last.sequence {
            let place = SegmentPoint(segment: last.segment, sequence: sequence)
            if let header = try transaction.header(at: place), HybridClock.isHeld(header.stamp, at: self.now) {
                return sequence
            }
            sequence += 1
        }
        return nil
    }

    /// Whether a restamp by this device counts for a segment.
    private func mayRestamp(_ segment: SegmentIndex, _ transaction: some NodeTransaction) -> Bool {
        self.mayRestamp(segment, self.identity.user, transaction)
    }

    /// Whether a user's do: he has written it, or owns the circle.
    private func mayRestamp(
        _ segment: SegmentIndex,
        _ user: UserID,
        _ transaction: some NodeTransaction
    ) -> Bool {
        let circle = transaction.circles[transaction.progress(of: segment).circle]
        return circle.owner(founder: self.membership.founder) == user
            || transaction.segment(segment).introduction?.user == user
    }

    /// Whether a restamp of a segment counts, by where it stands and who wrote it.
    private func isByRight(
        _ record: RestampRecord,
        for segment: SegmentIndex,
        _ transaction: some NodeTransaction
    ) -> Bool {
        guard let author = transaction.segment(record.author).introduction?.user,
            transaction.progress(of: record.author).circle == transaction.progress(of: segment).circle
        else { return false }
        return self.mayRestamp(segment, author, transaction)
    }
}

extension [SegmentIndex: Merge.Wait] {
    /// Whether a segment waits for time to pass, if only because what its next change had seen does.
    func isHeld(_ segment: SegmentIndex, in transaction: inout some NodeTransaction) throws(StoreError) -> Bool {
        var segment = segment
        for _ in 0..<self.count {
            guard let wait = self[segment] else { return false }
            guard case .missing(let point) = wait else { return true }
            guard let place = try transaction.place(of: point) else { return false }
            segment = place.segment
        }
        return false
    }
}
