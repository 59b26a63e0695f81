package import CRDTCore

/// A store and the naive model came to different states, or two stores did.
package struct Disagreement: Error, CustomStringConvertible {
    package var description: String
}

/// Delivers one generated history to several nodes, each in an order, batching and by relays of its own, and compares
/// what each makes of it with the naive model.
package struct MergeAgreement<Store: ReplicaStore & ~Copyable> {
    private let seed: UInt64
    private let traits: HistoryTraits
    private let makeStore: () throws -> Store

    /// Stores for the test workspace are made empty by `makeStore`, one a node.
    package init(seed: UInt64, traits: HistoryTraits, makeStore: @escaping () throws -> Store) {
        self.seed = seed
        self.traits = traits
        self.makeStore = makeStore
    }

    /// What a run ended with, to compare two kinds of stores by.
    package struct Outcome: Hashable {
        /// The first node's state.
        package var state: PlainState
        package var export: [UInt8]
        package var frontier: Frontier
    }

    /// Checks a history of so many changes.
    ///
    /// A failure is repeated with fewer changes and reported at its smallest.
    @discardableResult
    package func check(changes: Int) throws -> Outcome {
        do {
            return try self.run(changes: changes)
        } catch {
            for fewer in 1..<changes {
                do {
                    _ = try self.run(changes: fewer)
                } catch {
                    throw Disagreement(description: self.report(error, changes: fewer))
                }
            }
            throw Disagreement(description: self.report(error, changes: changes))
        }
    }

    private func report(_ error: any Error, changes: Int) -> String {
        var lines = ["PEERD_SEED=\(self.seed) traits=\(self.traits.rawValue) smallest at \(changes) changes: \(error)"]
        let history = HistoryGenerator.history(seed: self.seed, changes: changes, traits: self.traits)
        for replica in history.replicas {
            for change in (history.chains[replica] ?? []) + (history.forks[replica]?.branch ?? []) {
                let seen = change.contextDifference.map { "\(PlainText.short($0.replica)):\($0.sequence)" }
                lines.append(
                    "  \(PlainText.short(replica)):\(change.dot.sequence) "
                        + "@\(PlainText.short(change.stamp)) saw \(seen): "
                        + change.edits.map { PlainText.short($0) }.joined(separator: "; ")
                )
            }
        }
        return lines.joined(separator: "\n")
    }

    private func run(changes: Int) throws -> Outcome {
        let first = HistoryGenerator.history(seed: self.seed, changes: changes, traits: self.traits)
        // The second node gets the other branch of what is forked.
        let histories = [first, first.otherBranch(), first]
        var random = SplitMix64(seed: self.seed ^ 0x5eed)
        let start = WallTime(milliseconds: first.end.milliseconds - 1_000)
        let nodes = try histories.map { history in
            TestNode(store: try self.makeStore(), objects: history.objects, now: start)
        }
        while let number = self.unfinished(nodes, histories, &random) {
            try self.deliver(to: number, of: nodes, histories[number], &random)
            if random.chance(3) { try self.tellOfForks(nodes[number], first) }
            if random.chance(25) { try self.compare(nodes[number], histories[number], "on the way") }
        }
        for later in [0, 7_200_000] as [UInt64] {
            for (node, history) in zip(nodes, histories) {
                node.now = history.end.advanced(byMilliseconds: later)
                try node.receive([])
                try self.tellOfForks(node, first)
                try self.compare(node, history, "at the end + \(later) ms")
            }
            let exports = try nodes.map { try $0.export() }
            for export in exports where export != exports[0] {
                let difference = self.firstDifference(exports[0], export)
                throw Disagreement(description: "exports differ at the end + \(later) ms: \(difference)")
            }
        }
        try self.readBack(nodes[1], first, &random)
        try nodes[0].rebuild()
        try self.compare(nodes[0], first, "after rebuilding")
        return Outcome(
            state: try nodes[0].state(),
            export: try nodes[0].export(),
            frontier: try nodes[0].frontier()
        )
    }

    private func firstDifference(_ left: [UInt8], _ right: [UInt8]) -> String {
        let lines = zip(left.split(separator: 10), right.split(separator: 10)).first { !$0.elementsEqual($1) }
        guard let lines else { return "one is longer" }
        return [lines.0, lines.1].map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n  ")
    }

    private func tellOfForks(_ node: TestNode<Store>, _ history: GeneratedHistory) throws {
        for (replica, fork) in history.forks { try node.exclude(replica, fromFork: UInt64(fork.sequence)) }
    }

    /// Loads every chain in pieces of random size: each piece must verify, so it is what was stored to the last bit.
    private func readBack(
        _ node: TestNode<Store>,
        _ history: GeneratedHistory,
        _ random: inout SplitMix64
    ) throws {
        for replica in history.replicas where history.forks[replica] == nil {
            var next: UInt64 = 1
            let limits = RunLimits(changeCountMax: 1 + random.below(6), operationCountMax: 1 + random.below(40))
            while let run = try node.load(replica, from: next, limits: limits) {
                guard run.firstSequence == next, !run.changes.isEmpty else {
                    throw Disagreement(description: "asked for \(replica) from \(next), got \(run.firstSequence)")
                }
                _ = try history.verified(run)
                next = run.lastSequence + 1
            }
            guard next == UInt64(history.chains[replica]?.count ?? 0) + 1 else {
                throw Disagreement(description: "the chain of \(replica) ends before \(next)")
            }
        }
    }

    /// A node, drawn at random, that has not got everything yet.
    private func unfinished(
        _ nodes: [TestNode<Store>],
        _ histories: [GeneratedHistory],
        _ random: inout SplitMix64
    ) -> Int? {
        let unfinished = nodes.indices.filter { number in
            histories[number].chains.contains { nodes[number].stored[$0.key] ?? 0 < $0.value.count }
        }
        return unfinished.isEmpty ? nil : random.pick(unfinished)
    }

    private func deliver(
        to number: Int,
        of nodes: [TestNode<Store>],
        _ history: GeneratedHistory,
        _ random: inout SplitMix64
    ) throws {
        let node = nodes[number]
        var runs: [VerifiedRun] = []
        var expected: [Merge.Reception] = []
        var stored = node.stored
        for _ in 0..<1 + random.below(4) {
            let replica = random.pick(history.replicas)
            let have = stored[replica] ?? 0
            let total = history.chains[replica]?.count ?? 0
            if have > 0, random.chance(10) {
                // Again what it has, or with a gap before it.
                let from = have + 1 < total && random.chance(50) ? have + 1 : random.below(have)
                runs.append(try history.carried(replica, from..<from + 1))
                expected.append(.doesNotFit)
                continue
            }
            guard have < total else { continue }
            let run = try self.relayed(replica, have, from: random.pick(nodes), history, &random)
            let upTo = have + 1 + random.below(min(total - have, 8))
            runs.append(try run ?? history.carried(replica, have..<upTo))
            expected.append(.stored)
            stored[replica] = Int(runs[runs.count - 1].run.lastSequence)
        }
        if random.chance(30) { node.now = node.now.advanced(byMilliseconds: UInt64(random.below(100))) }
        let receptions = try node.receive(runs)
        guard receptions == expected else {
            throw Disagreement(description: "receptions \(receptions), expected \(expected)")
        }
    }

    /// What another node would send on, if it has more of the chain.
    private func relayed(
        _ replica: ReplicaID,
        _ have: Int,
        from other: TestNode<Store>,
        _ history: GeneratedHistory,
        _ random: inout SplitMix64
    ) throws -> VerifiedRun? {
        guard random.chance(40), history.forks[replica] == nil, other.stored[replica] ?? 0 > have else { return nil }
        let limits = RunLimits(
            changeCountMax: 1 + random.below(5),
            operationCountMax: 1 + random.below(30),
            byteCountMax: 1 + random.below(2000)
        )
        guard let run = try other.load(replica, from: UInt64(have) + 1, limits: limits) else {
            throw Disagreement(description: "nothing to relay of \(replica) after \(have)")
        }
        return try history.verified(run)
    }

    private func compare(_ node: TestNode<Store>, _ history: GeneratedHistory, _ moment: String) throws {
        let expected = NaiveModel(history.naive(upTo: node.stored, forks: node.forks, now: node.now)).state()
        let state = try node.state()
        guard state == expected else {
            throw Disagreement(description: "\(moment), having \(node.stored):\n\(state.differences(from: expected))")
        }
    }
}
