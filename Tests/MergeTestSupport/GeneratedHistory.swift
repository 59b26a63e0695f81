package import CRDTCore

/// Chains of changes as several peers might have written them, with all that is needed to hand them to a real store.
package struct GeneratedHistory: Sendable {
    package private(set) var chains: [ReplicaID: [NaiveChange]] = [:]
    package var devices: [ReplicaID: TestDevice] = [:]
    package var nonces: [ReplicaID: Bytes16] = [:]
    /// Every object that any operation might name.
    package var objects: [ObjectID] = []
    /// The wall clock when the last change had been written.
    package var end = WallTime(milliseconds: 0)
    /// Where a replica has another chain: the first sequence that has two changes, and the other changes from there on.
    package var forks: [ReplicaID: (sequence: Int, branch: [NaiveChange])] = [:]
    /// The hash of every change.
    private var hashes: [ReplicaID: [Hash256]] = [:]

    package init() {}

    /// The replicas in the order of their ids.
    package var replicas: [ReplicaID] { self.chains.keys.sorted() }

    /// The changes up to some sequence of each replica, as the naive model takes them.
    package func naive(
        upTo frontier: [ReplicaID: Int],
        forks: [ReplicaID: UInt64] = [:],
        now: WallTime
    ) -> NaiveHistory {
        var chains: [ReplicaID: [NaiveChange]] = [:]
        for (replica, count) in frontier where count > 0 {
            chains[replica] = Array((self.chains[replica] ?? []).prefix(count))
        }
        return NaiveHistory(chains: chains, forks: forks, now: now)
    }

    /// All changes, as the naive model takes them.
    package func naive(now: WallTime) -> NaiveHistory { NaiveHistory(chains: self.chains, now: now) }

    /// The same history as it looks to those who got the other branch of every forked chain.
    package func otherBranch() -> GeneratedHistory {
        var other = self
        for (replica, fork) in self.forks {
            other.chains[replica]?.removeLast((self.chains[replica]?.count ?? 0) - fork.sequence + 1)
            other.hashes[replica]?.removeLast((self.hashes[replica]?.count ?? 0) - fork.sequence + 1)
            for change in fork.branch { other.append(change) }
        }
        return other
    }

    /// Appends a change to its replica's chain.
    package mutating func append(_ change: NaiveChange) {
        self.chains[change.dot.replica, default: []].append(change)
        let run = self.sealed(change.dot.replica, Int(change.dot.sequence) - 1..<Int(change.dot.sequence))
        self.hashes[change.dot.replica, default: []].append(run.hashes[0])
    }

    /// The hash of the change before a place in a chain.
    package func hash(before position: Int, of replica: ReplicaID) -> Hash256 {
        position == 0 ? ChainHash.origin(TestDevice.workspace) : self.hashes[replica]?[position - 1] ?? .zero
    }

    /// The changes at `positions` (from 0) of a replica's chain as one run, signed by its device.
    package func sealed(_ replica: ReplicaID, _ positions: Range<Int>) -> VerifiedRun {
        var builder = RunBuilder(replica: replica, firstSequence: UInt64(positions.lowerBound) + 1)
        for change in (self.chains[replica] ?? [])[positions] {
            let secret = SplitMix64.mixed(replica.bytes.low &+ change.dot.sequence)
            builder.beginChange(
                stamp: change.stamp,
                context: change.contextDifference,
                blinding: Bytes16(high: secret, low: change.dot.sequence).array
            )
            for edit in change.edits { builder.append(edit) }
        }
        return VerifiedRun.seal(
            builder,
            previous: self.hash(before: positions.lowerBound, of: replica),
            TestDevice.cryptography,
            sign: { self.devices[replica]?.sign($0) ?? TestDevice.cryptography.sign($0, with: .zero) }
        )
    }

    /// The same run after a journey: encoded, decoded and verified.
    package func carried(_ replica: ReplicaID, _ positions: Range<Int>) throws -> VerifiedRun {
        let bytes = self.sealed(replica, positions).run.encoded()
        return try self.verified(Run(decoding: bytes))
    }

    /// Verifies a run that came from somewhere else.
    package func verified(_ run: Run) throws -> VerifiedRun {
        let position = Int(run.firstSequence) - 1
        return try VerifiedRun.verify(
            run,
            previous: self.hash(before: position, of: run.replica),
            device: position == 0 ? nil : self.devices[run.replica]?.device,
            membership: TestDevice.membership,
            TestDevice.cryptography
        )
    }
}
