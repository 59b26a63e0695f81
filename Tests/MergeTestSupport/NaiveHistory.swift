package import CRDTCore

/// One change as the model sees it.
package struct NaiveChange: Hashable, Sendable {
    package var dot: Dot
    package var stamp: Stamp
    /// What the header names: how the context differs from that of the change before.
    package var contextDifference: [Dot]
    package var edits: [Edit]

    package init(dot: Dot, stamp: Stamp, contextDifference: [Dot], edits: [Edit]) {
        self.dot = dot
        self.stamp = stamp
        self.contextDifference = contextDifference
        self.edits = edits
    }
}

/// A set of changes, and the verdicts on them, by the words of the design and without regard to speed.
///
/// Nothing here is shared with the production merge.
package struct NaiveHistory: Sendable {
    /// Each replica's chain, from sequence 1 without gaps.
    package var chains: [ReplicaID: [NaiveChange]]
    /// The last sequence that counts of each replica that is proved to have forked.
    package var forks: [ReplicaID: UInt64]
    package var now: WallTime

    package init(chains: [ReplicaID: [NaiveChange]], forks: [ReplicaID: UInt64] = [:], now: WallTime) {
        self.chains = chains
        self.forks = forks
        self.now = now
    }

    /// How far ahead of the clock a change may be stamped and still be applied.
    private static let toleranceMilliseconds: UInt64 = 10 * 60 * 1000

    /// Which changes count.
    package struct Verdicts: Sendable {
        /// The last applied and counting change of each replica; 0 if there is none.
        package var counted: [ReplicaID: UInt64] = [:]
        /// The last sequence that may count of each excluded replica.
        package var exclusions: [ReplicaID: UInt64] = [:]
    }

    /// The verdicts: takes note of every retirement, then applies whatever can be applied.
    ///
    /// A retirement counts wherever it stands, be its change held, waiting or itself taken back; only a proved fork of
    /// its author takes it out, as not every peer has the same branch.
    package func verdicts() -> Verdicts {
        var verdicts = Verdicts(exclusions: self.forks)
        for (replica, chain) in self.chains {
            for change in chain where change.dot.sequence <= self.forks[replica] ?? .max {
                for case .retire(let retirement) in change.edits {
                    let earlier = verdicts.exclusions[retirement.replica] ?? .max
                    verdicts.exclusions[retirement.replica] = min(earlier, retirement.lastSequence)
                }
            }
        }
        var progress = true
        while progress {
            progress = false
            for replica in self.chains.keys.sorted() {
                while self.applyNext(of: replica, to: &verdicts) { progress = true }
            }
        }
        return verdicts
    }

    private func applyNext(of replica: ReplicaID, to verdicts: inout Verdicts) -> Bool {
        let chain = self.chains[replica] ?? []
        let position = Int(verdicts.counted[replica] ?? 0)
        guard position < chain.count else { return false }
        let change = chain[position]
        if let last = verdicts.exclusions[replica], change.dot.sequence > last { return false }
        if change.stamp.milliseconds > self.now.milliseconds + NaiveHistory.toleranceMilliseconds { return false }
        for seen in change.contextDifference {
            // Of an excluded replica there is nothing to wait for beyond what counts.
            let needed = min(seen.sequence, verdicts.exclusions[seen.replica] ?? .max)
            guard needed <= verdicts.counted[seen.replica] ?? 0 else { return false }
        }
        if self.isBackdated(change, position: position, verdicts) {
            verdicts.exclusions[replica] = UInt64(position)
            return true
        }
        verdicts.counted[replica] = UInt64(position) + 1
        return true
    }

    private func isBackdated(_ change: NaiveChange, position: Int, _ verdicts: Verdicts) -> Bool {
        let chain = self.chains[change.dot.replica] ?? []
        if change.stamp <= (position > 0 ? chain[position - 1].stamp : .zero) { return true }
        return change.contextDifference.contains { seen in
            // Of an excluded replica the author counts as having seen what there is that counts.
            let last = Int(min(seen.sequence, verdicts.exclusions[seen.replica] ?? .max))
            guard last > 0, let other = self.chains[seen.replica], last <= other.count else { return false }
            return change.stamp <= other[last - 1].stamp
        }
    }

    /// The whole context of a change: the differences along its chain, added up.
    package func context(of dot: Dot) -> [ReplicaID: UInt64] {
        var context: [ReplicaID: UInt64] = [:]
        for change in (self.chains[dot.replica] ?? []).prefix(Int(dot.sequence)) {
            for seen in change.contextDifference {
                context[seen.replica] = max(context[seen.replica] ?? 0, seen.sequence)
            }
        }
        return context
    }
}
