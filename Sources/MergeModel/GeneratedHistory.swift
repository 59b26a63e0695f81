package import CRDTCore

/// Changes as several peers might have written them, with all that is needed to hand them to a real store.
package struct GeneratedHistory: Sendable {
    /// In the order in which they were written, so that each comes after what it extends.
    package private(set) var changes: [NaiveChange] = []
    package var devices: [ReplicaID: TestDevice] = [:]
    /// Every object that any operation might name.
    package var objects: [ObjectID] = []
    /// The wall clock when the last change had been written.
    package var end = WallTime(milliseconds: 0)
    private var numbers: [Hash256: Int] = [:]
    private var secrets: [[UInt8]] = []

    package init() {}

    /// The circle that all of it is written to; nil for nothing.
    var circle: Circle? {
        for change in self.changes {
            if case .introduce(let introduction)? = change.edits.first { return introduction.circle }
        }
        return nil
    }

    /// The replicas in the order of their ids.
    package var replicas: [ReplicaID] { Set(self.changes.map(\.replica)).sorted() }

    /// Some of the changes, as the naive model takes them.
    package func naive(_ stored: Set<Hash256>, now: WallTime) -> NaiveHistory {
        NaiveHistory(self.changes.filter { stored.contains($0.hash) }, founder: TestDevice.user, now: now)
    }

    /// All changes, as the naive model takes them.
    package func naive(now: WallTime) -> NaiveHistory {
        NaiveHistory(self.changes, founder: TestDevice.user, now: now)
    }

    package subscript(hash: Hash256) -> NaiveChange? { self.numbers[hash].map { self.changes[$0] } }

    /// The changes that extend one, or the first changes of a chain.
    package func successors(of hash: Hash256) -> [NaiveChange] { self.changes.filter { $0.previous == hash } }

    /// The changes from the first of the chain to one, along its fork.
    package func path(to hash: Hash256) -> [NaiveChange] {
        var path: [NaiveChange] = []
        var next = self[hash]
        while let change = next {
            path.append(change)
            next = change.previous.flatMap { self[$0] }
        }
        return path.reversed()
    }

    /// Adds a change that a device writes after another, or as the first of a chain.
    ///
    /// `salt`: what tells it from a change that says the same.
    @discardableResult
    package mutating func append(
        _ replica: ReplicaID,
        after previous: Hash256? = nil,
        stamp: Stamp,
        context: [Point] = [],
        salt: UInt64 = 0,
        _ edits: [Edit]
    ) -> NaiveChange {
        var change = NaiveChange(
            replica: replica,
            sequence: (previous.flatMap { self[$0]?.sequence } ?? 0) + 1,
            hash: .zero,
            previous: previous,
            stamp: stamp,
            context: context,
            edits: edits
        )
        let secret = SplitMix64.mixed(replica.bytes.low &+ change.sequence)
        self.secrets.append(Bytes16(high: secret, low: change.sequence &+ salt << 32).array)
        self.changes.append(change)
        change.hash = self.sealed([change], number: self.changes.count - 1).hashes[0]
        if let known = self[change.hash] {
            self.secrets.removeLast()
            self.changes.removeLast()
            return known
        }
        self.changes[self.changes.count - 1] = change
        self.numbers[change.hash] = self.changes.count - 1
        return change
    }

    /// Changes of one fork that follow each other as one run, signed by their device.
    package func sealed(_ changes: some Collection<NaiveChange>) -> VerifiedRun { self.sealed(changes, number: nil) }

    /// `number`: that of the only change, whose hash is not known yet.
    private func sealed(_ changes: some Collection<NaiveChange>, number: Int?) -> VerifiedRun {
        let first = changes.first ?? self.changes[0]
        var builder = RunBuilder(replica: first.replica, firstSequence: first.sequence)
        for change in changes {
            let secret = (number ?? self.numbers[change.hash]).map { self.secrets[$0] } ?? []
            builder.beginChange(stamp: change.stamp, context: change.context, blinding: secret)
            for edit in change.edits { builder.append(edit) }
        }
        let device = self.devices[first.replica]
        return VerifiedRun.sealUnchecked(
            builder,
            previous: self.hash(before: first),
            TestDevice.cryptography,
            sign: { device?.sign($0) ?? TestDevice.cryptography.sign($0, with: .zero) }
        )
    }

    /// The hash before a change: that of the one that it extends, or the one before every chain.
    package func hash(before change: NaiveChange) -> Hash256 {
        change.previous ?? ChainHash.origin(TestDevice.workspace)
    }

    /// The same run after a journey: encoded, decoded and verified.
    package func carried(_ changes: some Collection<NaiveChange>) throws -> VerifiedRun {
        let run = self.sealed(changes)
        return try self.verified(Run(decoding: run.run.encoded()), previous: run.previous)
    }

    /// Verifies a run that came from somewhere else.
    package func verified(_ run: Run, previous: Hash256) throws -> VerifiedRun {
        guard let device = self.devices[run.replica] else { throw RunRejection.wrongReplica }
        return try VerifiedRun.verify(
            run,
            previous: previous,
            device: run.firstSequence == 1 ? nil : device.device,
            workspace: TestDevice.workspace,
            TestDevice.cryptography
        )
    }
}
