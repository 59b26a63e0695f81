package import CRDTCore

/// Sending what the peer lacks: runs are loaded when there is room for them, never before.
extension SyncSession {
    /// What is sent next.
    package enum Outgoing: Sendable {
        case run(EncodedRun)
        case message(Message)
    }

    /// What to send next, as far as the peer's credit allows; it counts as sent.
    ///
    /// Nil if there is nothing now.
    ///
    /// `last`: a run that was sent last, perhaps to another peer; nothing may have been stored since. `own`: the device
    /// whose changes go to a peer that does not want others'.
    /// - Complexity: O(*n*) for *n* segments: a segment hangs on one with a lower number, so that those of its way that
    ///   are not sent are candidates themselves.
    package mutating func next(
        after last: EncodedRun?,
        own device: DeviceID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Outgoing? {
        guard self.phase == .streaming, self.window.free > 0 else { return nil }
        if let given = try self.nextGiven(in: &transaction) { return given }
        if let entries = try self.nextAnnounced(own: device, in: &transaction) { return .message(.stored(entries)) }
        var candidates: [(next: SegmentPoint, last: UInt64)] = []
        var isAsking = false
        var known: [UserID: Bool] = [:]
        for position in 0..<transaction.segmentCount where candidates.count < TransferLimits.candidateCountMax {
            let segment = SegmentIndex(rawValue: UInt32(position))
            guard self.sent[segment] < transaction.progress(of: segment).storedSequence,
                self.isWanted(segment, own: device, &transaction)
            else { continue }
            switch try self.standing(of: segment, in: &transaction) {
            case .known:
                // What the segment hangs on comes first, whatever is known of the segment that this is of.
                let missing = transaction.firstMissing(toward: segment, in: self.sent)
                guard missing.next.sequence <= missing.last,
                    try self.isAdmissible(missing.next, &known, in: &transaction)
                else { continue }
                candidates.append(missing)
            case .awaited: isAsking = true
            case .asked(let probe): return .message(.probe(probe))
            }
        }
        guard var best = candidates.first else {
            guard !self.saidCaughtUp, !isAsking else { return nil }
            self.saidCaughtUp = true
            return .message(.caughtUp)
        }
        if candidates.count > 1 {
            // The one whose next change is stamped first, so that causes mostly come before effects.
            var bestStamp: Stamp?
            for candidate in self.first(of: candidates, in: transaction) {
                let stamp = try transaction.header(at: candidate.next)?.stamp
                if let stamp, bestStamp.map({ stamp < $0 }) ?? true { (best, bestStamp) = (candidate, stamp) }
            }
        }
        let first = best.next
        var limits = TransferLimits.streamed(self.window)
        limits.changeCountMax = Int(min(UInt64(limits.changeCountMax), best.last - first.sequence + 1))
        var run = last
        // What was just written goes to every peer: it is loaded and compressed once.
        // Whoever holds forks that we do not know of must not have to try which one it continues.
        let isNamed = !(self.chains[transaction.replicaID(first.segment)]?.unknown.isEmpty ?? true)
        if run?.first != first || run?.bytes.count ?? 0 > limits.byteCountMax || isNamed && run?.isNamed != true {
            var loaded = try transaction.loadRun(of: first.segment, from: first.sequence, limits: limits, signed: true)
            if isNamed, loaded?.previous == nil, let before = transaction.place(before: first) {
                loaded?.previous = try transaction.hash(at: before).map { ChangeName($0) }
            }
            run = loaded.map { EncodedRun($0, at: first) }
        }
        guard let run else { return nil }
        self.window.sent(run.bytes.count)
        transaction.cover(SegmentPoint(segment: first.segment, sequence: run.lastSequence), in: &self.sent)
        return .run(run)
    }

    /// Those of some segments that come first: whoever was let in comes after that, in the roster and in each circle,
    /// although his clock may have been behind.
    private func first(
        of candidates: [(next: SegmentPoint, last: UInt64)],
        in transaction: some StoreTransaction
    ) -> [(next: SegmentPoint, last: UInt64)] {
        guard let roster = transaction.circles.index(of: .roster) else { return candidates }
        let first = candidates.filter { transaction.progress(of: $0.next.segment).circle == roster }
        return first.isEmpty ? candidates : first
    }

    /// Whether the peer takes in a change that comes next: it has, or was sent, all that the chain is written under
    /// which begins with it, and that the chain's user is in the workspace.
    ///
    /// What it does not take in ends the session, and with it all that could be sent behind that.
    ///
    /// `known`: the users about whom this was asked before, while nothing was sent.
    private mutating func isAdmissible(
        _ change: SegmentPoint,
        _ known: inout [UserID: Bool],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard change.sequence == 1, let introduction = transaction.segment(change.segment).introduction else {
            return true
        }
        // Anybody can write many that are never admissible, and they are looked at each time.
        if let lacked = self.withheld[change.segment], self.sent[lacked.segment] < lacked.sequence { return false }
        for grant in introduction.grants {
            let named = grant.change
            let place = try transaction.place(of: named.replica, sequence: named.sequence, hash: named.hash)
            if let place, self.sent[place.segment] < place.sequence {
                self.withheld[change.segment] = place
                return false
            }
        }
        self.withheld[change.segment] = nil
        guard introduction.grants.isEmpty, let roster = transaction.circles.index(of: .roster) else { return true }
        if let isKnown = known[introduction.user] { return isKnown }
        let named = transaction.rights.rights(in: roster)?.places(naming: introduction.user) ?? []
        let isKnown = named.isEmpty || named.contains { self.sent[$0.change.segment] >= $0.change.sequence }
        known[introduction.user] = isKnown
        return isKnown
    }

    /// What a peer that wants announcements has not heard of yet; nil if it has heard of all.
    private mutating func nextAnnounced(
        own device: DeviceID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [FrontierEntry]? {
        guard self.isPeerLazy, let first = self.unannounced?.rawValue else { return nil }
        self.unannounced = nil
        var entries: [FrontierEntry] = []
        for number in first..<max(first, UInt32(transaction.segmentCount)) {
            let segment = SegmentIndex(rawValue: number)
            if entries.count == MessageLimits.storedEntryCountMax {
                self.unannounced = segment
                break
            }
            let last = transaction.progress(of: segment).storedSequence
            guard self.sent[segment] < last, self.isShared(segment, transaction),
                transaction.segment(segment).device != device,
                let hash = try transaction.hash(at: SegmentPoint(segment: segment, sequence: last))
            else { continue }
            entries.append(FrontierEntry(replica: transaction.replicaID(segment), sequence: last, hash: hash))
        }
        return entries.isEmpty ? nil : entries.sorted()
    }

    /// What the peer has asked for, once more, or that this was all.
    private mutating func nextGiven(in transaction: inout some StoreTransaction) throws(StoreError) -> Outgoing? {
        while let content = self.given.first {
            self.given.removeFirst()
            let place = content.change
            // What the peer does not hold comes in its turn. Of what it holds the hash tells that it is that, so the
            // change need not be signed.
            guard self.held[place.segment] >= place.sequence, self.isShared(place.segment, transaction) else {
                continue
            }
            let limits = RunLimits(changeCountMax: 1, operationCountMax: 0, byteCountMax: 0)
            let loaded = try transaction.loadRun(of: place.segment, from: place.sequence, limits: limits, signed: false)
            guard let run = loaded, run.changes.count == 1 else { throw .damaged("a change is missing from the log") }
            let (first, found) = (Int(run.changes[0].operationStart), run.changes[0].operationRange)
            let isWanted = { (position: Int) in content.places.contains(position - first) }
            if found.contains(where: { run.operations[$0].kind == .redacted && isWanted($0) }) {
                self.hasAskedInVain = true
            }
            guard var given = run.revealing(isWanted, self.cryptography) else { continue }
            if let before = transaction.place(before: place) {
                given.previous = try transaction.hash(at: before).map { ChangeName($0) }
            }
            let encoded = EncodedRun(given, at: place)
            self.window.sent(encoded.bytes.count)
            return .run(encoded)
        }
        guard self.owesGiven else { return nil }
        self.owesGiven = false
        return .message(.given)
    }

    /// Whether the peer reads and wants what is written on a segment.
    private func isWanted(
        _ segment: SegmentIndex,
        own device: DeviceID,
        _ transaction: inout some StoreTransaction
    ) -> Bool {
        self.isShared(segment, transaction) && (!self.isPeerLazy || transaction.segment(segment).device == device)
    }
}

/// A run as it goes to a peer.
package struct EncodedRun: Sendable {
    let first: SegmentPoint
    let lastSequence: UInt64
    /// Whether it says which change it continues, or begins its chain.
    let isNamed: Bool
    package let changeCount: Int
    package let operationCount: Int
    package let bytes: [UInt8]

    /// `first`: the first change of the run.
    package init(_ run: Run, at first: SegmentPoint) {
        self.first = first
        self.lastSequence = run.lastSequence
        self.isNamed = run.previous != nil || run.firstSequence == 1
        self.changeCount = run.changes.count
        self.operationCount = run.operations.count
        self.bytes = Message.run(run).encoded()
    }
}
