package import CRDTCore

/// What is open of one chain: the peer holds changes of it that we do not, so it is not known how much of our segments
/// it holds beside them.
struct ChainProgress: Sendable {
    /// The last changes of forks that the peer holds and we do not.
    var unknown: Set<FrontierEntry> = []
    /// The lowest change on the way to the end of a segment that the peer is known to lack.
    var lacked: [SegmentIndex: UInt64] = [:]
    /// What we asked, until it is answered.
    var question: Question?

    struct Question: Sendable {
        var segment: SegmentIndex
        /// The changes we asked for.
        var sequences: [UInt64]
    }
}

/// What the peer holds, by its own word and by our log.
extension SyncSession {
    /// The peer holds a change, and so everything before it in its chain.
    mutating func noteHeld(_ place: SegmentPoint, in transaction: inout some StoreTransaction) {
        transaction.cover(place, in: &self.held)
        transaction.cover(place, in: &self.sent)
    }

    /// The peer has said in another session that it holds changes, and says nothing of their circles in this one.
    package mutating func recall(_ places: [SegmentPoint], in transaction: inout some StoreTransaction) {
        for place in places {
            transaction.cover(place, in: &self.recalled)
            transaction.cover(place, in: &self.sent)
        }
    }

    /// The peer says that it holds a change.
    ///
    /// Returns whether we hold it.
    mutating func note(
        _ entry: FrontierEntry,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        guard entry.sequence > 0 else { return true }
        if let place = try transaction.place(of: entry.replica, sequence: entry.sequence, hash: entry.hash) {
            self.noteHeld(place, in: &transaction)
            return true
        }
        // A peer can name any number. What is forgotten of them costs that we send what the peer holds.
        guard self.unknownEntryCount < TransferLimits.unknownEntryCountMax,
            self.chains[entry.replica, default: ChainProgress()].unknown.insert(entry).inserted
        else { return false }
        self.unknownEntryCount += 1
        if let chain = self.chains[entry.replica], chain.unknown.count > TransferLimits.unknownEntryCountMaxByChain,
            let lowest = chain.unknown.min()
        {
            self.chains[entry.replica]?.unknown.remove(lowest)
            self.unknownEntryCount -= 1
        }
        return false
    }

    /// The log has grown: what the peer said of these chains may mean something by now.
    package mutating func logGrew(
        _ replicas: Set<ReplicaID>,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        for replica in replicas {
            for entry in self.chains[replica]?.unknown ?? [] {
                let place = try transaction.place(of: replica, sequence: entry.sequence, hash: entry.hash)
                guard let place else { continue }
                self.noteHeld(place, in: &transaction)
                self.chains[replica]?.unknown.remove(entry)
                self.unknownEntryCount -= 1
            }
            if self.chains[replica]?.unknown.isEmpty ?? false { self.chains[replica] = nil }
        }
    }

    /// What is known of how far the peer holds a segment.
    enum SegmentStanding {
        /// Enough to send what follows.
        case known
        /// The peer must answer first, or send what it holds.
        case awaited
        /// The peer must be asked.
        case asked(ChainProbe)
    }

    /// Finds out whether the rest of a segment can be sent; a question counts as asked.
    mutating func standing(
        of segment: SegmentIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> SegmentStanding {
        let id = transaction.replicaID(segment)
        guard let chain = self.chains[id] else { return .known }
        let last = transaction.progress(of: segment).storedSequence
        // A peer that is ahead knows whether ours is a part of what it holds. If not, it sends or asks, as long as it
        // has something to send: a fork that names what is not here cannot come before that.
        guard chain.question == nil, self.peerIsCaughtUp || chain.unknown.contains(where: { $0.sequence <= last })
        else { return .awaited }
        let known = transaction.firstMissing(toward: segment, in: self.sent).next.sequence - 1
        let lacked = chain.lacked[segment] ?? last + 1
        guard lacked > known + 1 + TransferLimits.repeatedChangeCountMax else { return .known }
        let way = transaction.way(to: segment)
        let isFirst = chain.lacked[segment] == nil
        let sequences = isFirst ? Self.receding(from: last, to: known) : Self.spread(between: known, lacked)
        var points: [ChainPoint] = []
        for sequence in sequences {
            guard let part = transaction.part(of: way, at: sequence),
                let hash = try transaction.hash(at: SegmentPoint(segment: part.segment, sequence: sequence))
            else { continue }
            points.append(ChainPoint(sequence: sequence, hash: hash))
        }
        self.chains[id]?.question = ChainProgress.Question(segment: segment, sequences: sequences)
        return .asked(ChainProbe(replica: id, points: points))
    }

    /// An entry of a chain that is open may answer what we asked.
    mutating func noteAnswer(
        _ entry: FrontierEntry,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        guard let question = self.chains[entry.replica]?.question,
            entry.sequence == 0 || question.sequences.contains(entry.sequence)
        else { return }
        let known = transaction.firstMissing(toward: question.segment, in: self.sent).next.sequence - 1
        self.chains[entry.replica]?.question = nil
        self.chains[entry.replica]?.lacked[question.segment] = question.sequences.first { $0 > known }
    }

    /// Ascending sequences, ever further from the last one.
    private static func receding(from last: UInt64, to known: UInt64) -> [UInt64] {
        var sequences: [UInt64] = []
        var step: UInt64 = 1
        var next = last
        while next > known, sequences.count < MessageLimits.probePointCountMax {
            sequences.append(next)
            guard next > step else { break }
            next -= step
            step *= 2
        }
        return sequences.reversed()
    }

    /// Ascending sequences between two.
    private static func spread(between known: UInt64, _ lacked: UInt64) -> [UInt64] {
        let step = (lacked - known - 1) / UInt64(MessageLimits.probePointCountMax) + 1
        return Array(stride(from: known + step, to: lacked, by: UInt64.Stride(step)))
    }
}

extension StoreTransaction {
    /// The segments on the way to the end of one, that one first, and how far each is a part of the way.
    func way(to segment: SegmentIndex) -> [SegmentPoint] {
        var way: [SegmentPoint] = []
        var next: SegmentPoint? = SegmentPoint(segment: segment, sequence: self.progress(of: segment).storedSequence)
        while let place = next {
            way.append(place)
            next = self.origin(of: place.segment)?.parent
        }
        return way
    }

    /// The part of a way that a sequence is of.
    func part(of way: [SegmentPoint], at sequence: UInt64) -> SegmentPoint? {
        way.first { self.progress(of: $0.segment).firstSequence <= sequence }
    }

    /// The first change on the way to the end of a segment that a context does not have, and the last one of its
    /// segment that is on the way; one behind that if it has all.
    ///
    /// - Complexity: O(*n*) for *n* segments of the way of which the context has nothing.
    func firstMissing(toward segment: SegmentIndex, in context: SeenSegments) -> (next: SegmentPoint, last: UInt64) {
        var part = SegmentPoint(segment: segment, sequence: self.progress(of: segment).storedSequence)
        var missing = (next: part, last: part.sequence)
        while true {
            let first = self.progress(of: part.segment).firstSequence
            let held = min(context[part.segment], part.sequence)
            if held >= first {
                // All of this one up to where the next part hangs on it, or not.
                guard held < part.sequence || part.segment == segment else { return missing }
                return (SegmentPoint(segment: part.segment, sequence: held + 1), part.sequence)
            }
            missing = (SegmentPoint(segment: part.segment, sequence: first), part.sequence)
            guard let parent = self.origin(of: part.segment)?.parent, parent.sequence > 0 else { return missing }
            part = parent
        }
    }
}
