package import CRDTCore

/// Finds out how two frontiers differ without sending all of them: ranges of replica ids whose fingerprints differ
/// are split until they are small enough to list.
///
/// After A. Meyer, "Range-Based Set Reconciliation", 2023.
///
/// One side's view: it keeps the ranges it has not learned yet, and answers what the other side claims.
package struct FrontierComparison: Hashable, Sendable {
    /// A range of replica ids, from `start` up to but not including `end` (nil: the end of all ids).
    package struct Span: Hashable, Sendable {
        package var start: ReplicaID
        package var end: ReplicaID?
    }

    /// What was learned of the other side's frontier in a range: these entries and no others.
    package struct Lesson: Hashable, Sendable {
        package var span: Span
        package var entries: [FrontierEntry]
    }

    /// What claims led to.
    package struct Outcome: Hashable, Sendable {
        /// What to send back; empty for nothing.
        package var reply: [FrontierRange] = []
        package var lessons: [Lesson] = []
    }

    /// The ranges of which the other side's entries are not known.
    package private(set) var unlearned: [Span]
    /// What the fingerprints of our last message were of: our frontier may have gone on since.
    ///
    /// The two sides speak in turns, and the ranges of one message do not overlap: this is never more than a frontier.
    private var claimed: [Span: [FrontierEntry]] = [:]

    /// Up to this many entries are listed rather than split further.
    package static let listedEntryCountMax = 64
    /// Up to this many entries are answered to entries rather than split.
    static let answeredEntryCountMax = 1024
    /// A range that is split is split into this many.
    package static let splitCount = 16

    /// Nothing is known yet.
    package init() {
        self.unlearned = [Span(start: FrontierComparison.firstID, end: nil)]
    }

    private static let firstID = ReplicaID(bytes: Bytes16(high: 0, low: 0))

    /// Whether all of the other side's frontier is known.
    package var isComplete: Bool { self.unlearned.isEmpty }

    /// All is known at once: the other side's whole frontier has our fingerprint.
    package mutating func learnAll() { self.unlearned = [] }

    /// The first claims, made by the side that dialled.
    package mutating func opening(_ mine: Frontier, _ cryptography: some ChangeCryptography) -> [FrontierRange] {
        var room = Room(answering: 1)
        return self.claims(mine, Span(start: FrontierComparison.firstID, end: nil), cryptography, &room)
    }

    /// Answers claims.
    ///
    /// Any claims lead to an end: each answer lists entries or splits a range by what lies in it, the first ranges
    /// first where a message would become too large; and what is known of a range is not claimed again.
    package mutating func answer(
        _ claims: [FrontierRange],
        _ mine: Frontier,
        _ cryptography: some ChangeCryptography
    ) -> Outcome {
        let answered = self.claimed
        self.claimed = [:]
        var room = Room(answering: claims.count)
        var outcome = Outcome()
        var start = FrontierComparison.firstID
        for range in claims {
            let span = Span(start: start, end: range.end)
            let entries = mine.entries(from: span.start, to: span.end)
            switch range.claim {
            case .skip: outcome.reply.append(FrontierRange(end: range.end, claim: .skip))
            case .fingerprint(let theirs):
                if theirs == Frontier.fingerprint(entries, cryptography) {
                    self.learn(span, Array(entries), &outcome)
                    outcome.reply.append(FrontierRange(end: range.end, claim: .equal))
                } else {
                    outcome.reply += self.claims(mine, span, cryptography, &room)
                }
            case .entries(let theirs):
                self.learn(span, theirs, &outcome)
                let isFew = entries.count <= FrontierComparison.answeredEntryCountMax || entries.areOfOneReplica
                if isFew, let listed = room.listing(entries) {
                    outcome.reply.append(FrontierRange(end: range.end, claim: .answer(listed)))
                } else {
                    outcome.reply += self.claims(mine, span, cryptography, &room)
                }
            case .answer(let theirs):
                self.learn(span, theirs, &outcome)
                outcome.reply.append(FrontierRange(end: range.end, claim: .skip))
            case .equal:
                // Nothing is learned from an answer to what we did not say.
                if let said = answered[span] { self.learn(span, said, &outcome) }
                outcome.reply.append(FrontierRange(end: range.end, claim: .skip))
            }
            guard let end = range.end else { break }
            start = end
        }
        if outcome.reply.allSatisfy({ $0.claim == .skip }) { outcome.reply = [] }
        return outcome
    }

    private mutating func claims(
        _ mine: Frontier,
        _ span: Span,
        _ cryptography: some ChangeCryptography,
        _ room: inout Room
    ) -> [FrontierRange] {
        let entries = mine.entries(from: span.start, to: span.end)
        let isFew = entries.count <= FrontierComparison.listedEntryCountMax || entries.areOfOneReplica
        let parts = isFew ? [] : entries.split(into: FrontierComparison.splitCount)
        guard !isFew, room.take(ranges: parts.count - 1) else {
            // The message may be all ranges already: then the first of them are listed.
            if let listed = room.listing(entries) { return [FrontierRange(end: span.end, claim: .entries(listed))] }
            // It does not fit any more: the other side asks for it once it has what fits.
            self.claimed[span] = Array(entries)
            return [FrontierRange(end: span.end, claim: .fingerprint(Frontier.fingerprint(entries, cryptography)))]
        }
        var start = span.start
        return parts.enumerated().map { place, part in
            let end = place + 1 < parts.count ? parts[place + 1].first?.replica : span.end
            self.claimed[Span(start: start, end: end)] = Array(part)
            start = end ?? start
            return FrontierRange(end: end, claim: .fingerprint(Frontier.fingerprint(part, cryptography)))
        }
    }

    /// What a message may still hold.
    private struct Room {
        private var rangeCount: Int
        private var entryCount = MessageLimits.rangeEntryCountMax

        /// Each claim is answered with one range at least.
        init(answering claimCount: Int) { self.rangeCount = MessageLimits.rangeCountMax - claimCount }

        mutating func take(ranges count: Int) -> Bool {
            guard count <= self.rangeCount else { return false }
            self.rangeCount -= count
            return true
        }

        /// Entries to list; nil if there is no room for them any more.
        ///
        /// A range of one replica cannot be split. Of more forks than a message may hold, the first are listed: the
        /// other side takes it that we lack the rest, and sends them.
        mutating func listing(_ entries: ArraySlice<FrontierEntry>) -> [FrontierEntry]? {
            let listed = entries.areOfOneReplica ? entries.prefix(MessageLimits.rangeEntryCountMax) : entries
            guard listed.count <= self.entryCount else { return nil }
            self.entryCount -= listed.count
            return Array(listed)
        }
    }

    private mutating func learn(_ span: Span, _ entries: [FrontierEntry], _ outcome: inout Outcome) {
        outcome.lessons.append(Lesson(span: span, entries: entries))
        var rest: [Span] = []
        for open in self.unlearned {
            let isApart =
                (span.end.map { $0 <= open.start } ?? false) || (open.end.map { $0 <= span.start } ?? false)
            guard !isApart else {
                rest.append(open)
                continue
            }
            if open.start < span.start { rest.append(Span(start: open.start, end: span.start)) }
            if let end = span.end, open.end.map({ end < $0 }) ?? true { rest.append(Span(start: end, end: open.end)) }
        }
        self.unlearned = rest
    }
}

extension ArraySlice<FrontierEntry> {
    fileprivate var areOfOneReplica: Bool { self.first?.replica == self.last?.replica }

    /// About as many parts of about the same size; the forks of one replica stay together.
    fileprivate func split(into count: Int) -> [Self] {
        let size = (self.count + count - 1) / count
        var parts: [Self] = []
        var start = self.startIndex
        while start < self.endIndex {
            var end = Swift.min(start + size, self.endIndex)
            if end < self.endIndex {
                let replica = self[end].replica
                while end > start, self[end - 1].replica == replica { end -= 1 }
                if end == start { end = self[start...].firstIndex { $0.replica != replica } ?? self.endIndex }
            }
            parts.append(self[start..<end])
            start = end
        }
        return parts
    }
}
