package import CRDTCore

/// One way in which a change may lie about its time, about the changes that its author had seen, or about others.
package struct MergeLie: Hashable, Sendable {
    package enum Kind: Int, CaseIterable, Sendable {
        /// Its stamp is lower than that of a change before it.
        case stampLowered
        case stampAnHourAhead
        case stampAnHourOld
        /// Its stamp is the last or the first of all.
        case stampExtreme
        /// Its stamp is the last that a right clock does not hold, so that the change after it is held.
        case stampLastTolerated
        /// It names a change that nobody has written.
        case claimsUnwritten
        /// It names any changes, seen or not.
        case claimsAnything
        /// It restamps a change that does not exist.
        case restampsNothing
        /// It leaves out some of the changes that its author had seen.
        case hidesSeen
    }

    package var kind: Kind
    /// The number that the details are drawn from.
    package var salt: UInt16

    package init(_ kind: Kind, salt: UInt16) {
        self.kind = kind
        self.salt = salt
    }

    /// Makes a lie of a change.
    ///
    /// `replicas`: the writers of all chains. `written`: all changes that anybody has written, chain by chain.
    package func distort(
        stamp: inout Stamp,
        context: inout [Point],
        edits: inout [Edit],
        now: WallTime,
        replicas: [ReplicaID],
        written: [FrontierEntry]
    ) {
        var random = SplitMix64(seed: UInt64(self.salt))
        let anHour: UInt64 = 3_600_000
        switch self.kind {
        case .stampLowered:
            let back = UInt64(random.below(1 << 18))
            stamp = Stamp(rawValue: stamp.rawValue - min(back, stamp.rawValue))
        case .stampAnHourAhead:
            stamp = Stamp(rawValue: min(stamp.rawValue, .max - anHour << 16) + anHour << 16)
        case .stampAnHourOld: stamp = Stamp(milliseconds: now.milliseconds - anHour)
        case .stampExtreme: stamp = Stamp(rawValue: random.chance(50) ? .max : 0)
        case .stampLastTolerated:
            let last = now.advanced(byMilliseconds: HybridClock.skewMaxMilliseconds).milliseconds
            stamp = Stamp(rawValue: last << 16 | 0xffff)
        case .claimsUnwritten:
            let sequence = UInt64(1 + random.below(5))
            let name = ChangeName(rawValue: random.next())
            context.append(Point(replica: random.pick(replicas), sequence: sequence, name: name))
            context.sort()
        case .claimsAnything:
            guard !written.isEmpty else { return }
            let claims = (0..<3).map { _ in random.pick(written) }
            let points = claims.map {
                Point(replica: $0.replica, sequence: $0.sequence, name: ChangeName($0.hash))
            }
            context = Set(points).sorted()
        case .restampsNothing:
            let restamp = Restamp(
                replica: random.pick(replicas),
                firstSequence: 1,
                lastSequence: UInt64(1 + random.below(5)),
                lastHash: written.isEmpty ? .zero : random.pick(written).hash
            )
            edits.append(.restamp(restamp))
        case .hidesSeen: context = context.filter { _ in random.chance(50) }
        }
    }
}
