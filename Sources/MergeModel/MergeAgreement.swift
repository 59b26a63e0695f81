package import CRDTCore

/// A store and the naive model came to different states, or two stores did.
package struct Disagreement: Error, CustomStringConvertible {
    /// What must be equal for two plans to fail in the same way.
    package enum Kind: Hashable, Sendable {
        case state
        case frontier
        case exports
        /// A store took a run for another kind of run than it is.
        case reception
        /// What is loaded is not what was stored.
        case log
    }

    package var kind: Kind
    package var description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}

/// Hands the changes of a plan to several nodes, to each in an order, batching and by relays of its own, and compares
/// what each makes of them with the naive model.
package struct MergeAgreement<Store: ReplicaStore & ~Copyable> {
    private let makeStore: () throws -> Store
    private let compacts: Bool
    private let redacts: Bool
    /// Of the circle that is looked at.
    private let charter: Charter
    /// Changes of another circle.
    private let others: GeneratedHistory?

    /// Stores for the test workspace are made empty by `makeStore`, one a node.
    ///
    /// `compacts`: whether nodes drop writes now and then, some of them only just received. `redacts`: whether runs
    /// come with any writes redacted, as they do from a relay that lies. `charter`: of the circle that plans are for.
    /// `others`: what is written meanwhile in another circle, about the same objects by the same devices. It comes to
    /// all nodes, and must change nothing.
    package init(
        compacts: Bool = false,
        redacts: Bool = false,
        in charter: Charter = .home,
        beside others: GeneratedHistory? = nil,
        makeStore: @escaping () throws -> Store
    ) {
        (self.compacts, self.redacts, self.charter, self.others) = (compacts, redacts, charter, others)
        self.makeStore = makeStore
    }

    /// The result of a plan, to compare two kinds of stores by.
    package struct Outcome: Hashable {
        /// The first node's state.
        package var state: PlainState
        package var export: [UInt8]
        package var frontier: Frontier
        /// How many writes the nodes dropped.
        package var droppedWriteCount: Int
        /// How many writes they erased.
        package var erasedWriteCount: Int
        /// How many changes they repaired, since writes were needed that had been dropped.
        package var repairedChangeCount: Int
    }

    /// The ways in which a plan can fail.
    private enum Failure: Equatable {
        case disagreement(Disagreement.Kind)
        /// A store or a decoder throws.
        case error

        init(_ error: any Error) {
            self = (error as? Disagreement).map { .disagreement($0.kind) } ?? .error
        }
    }

    /// A plan is tried this often until it is small enough: each time takes some milliseconds.
    private static var shrinkingRunCountMax: Int { 1_500 }

    /// Performs a plan.
    ///
    /// One that fails is shrunk, and reported with its text, which runs it again.
    @discardableResult
    package func check(_ plan: MergePlan) throws -> Outcome {
        do {
            return try self.outcome(of: plan)
        } catch {
            throw self.shrunk(plan, error)
        }
    }

    private func shrunk(_ plan: MergePlan, _ error: any Error) -> Disagreement {
        var last = error
        let shrinker = MergePlanShrinker(plan, runCountMax: Self.shrinkingRunCountMax) { plan -> Failure? in
            do {
                _ = try self.outcome(of: plan)
                return nil
            } catch {
                return Failure(error)
            }
        }
        let kind = (error as? Disagreement)?.kind ?? .log
        guard var shrinker else {
            return Disagreement(kind, "fails only now and then: \(plan.text): \(error)")
        }
        shrinker.shrink()
        do { _ = try self.outcome(of: shrinker.plan) } catch { last = error }
        let text = shrinker.plan.text
        let lines = ["\(last)", "PEERD_PLAN='\(text)'", "Simulator histories --case '\(text)'"]
        let changes = GeneratedHistory(shrinker.plan, under: self.charter).lines
        return Disagreement(
            kind,
            (lines + shrinker.plan.sentences.map { "  \($0)" } + changes).joined(separator: "\n")
        )
    }

    /// Performs a plan, and returns the result; throws what does not agree.
    package func outcome(of plan: MergePlan) throws -> Outcome {
        let history = GeneratedHistory(plan, under: self.charter)
        var random = SplitMix64(seed: plan.seed ^ 0x5eed)
        let start = WallTime(milliseconds: history.end.milliseconds - 1_000)
        let nodes = try (0..<3).map { number in
            TestNode(
                store: try self.makeStore(),
                objects: history.objects,
                in: self.charter.circle,
                now: start,
                number: number
            )
        }
        var (droppedWriteCount, erasedWriteCount, repairedChangeCount) = (0, 0, 0)
        while let node = nodes.filter({ $0.stored.count < history.changes.count }).randomElement(using: &random) {
            if let others { try node.receiveBeside(others, count: random.below(8)) }
            let setsBack = plan.traits.contains(.clocksSetBack)
            try self.deliver(to: node, of: nodes, history, setsBack: setsBack, &random)
            if self.compacts, random.chance(30) {
                // Of clocks that are ahead, too.
                let ahead: UInt64 = random.chance(50) ? 8_000_000 : 0
                let milliseconds = history.end.milliseconds + ahead - UInt64(random.below(2_000))
                droppedWriteCount += try node.compact(through: Stamp(milliseconds: milliseconds)).droppedWriteCount
            }
            if plan.traits.contains(.erasures), random.chance(30) {
                erasedWriteCount += try node.erase().erasedWriteCount
            }
            let isComplete = try node.isComplete()
            if !isComplete, random.chance(50) {
                repairedChangeCount += try self.repair(node, history, &random)
                guard try node.isComplete() else {
                    throw Disagreement(.state, "a property is incomplete that had everything filled in")
                }
                try self.compare(node, history, "filled in on the way")
            } else if isComplete, random.chance(25) {
                try self.compare(node, history, "on the way")
            }
        }
        for node in nodes { try self.others.map { try node.receiveBeside($0, count: .max) } }
        // What is not held any more is held again when the clock is set back.
        for later in [0, 7_200_000, 0, 7_200_000] as [UInt64] {
            for node in nodes {
                node.now = history.end.advanced(byMilliseconds: later)
                try node.receive([])
                if try !node.isComplete() { repairedChangeCount += try self.repair(node, history, &random) }
                try self.compare(node, history, "at the end + \(later) ms")
            }
            try self.compare(nodes, "at the end + \(later) ms")
        }
        for node in nodes where try !node.isComplete() {
            throw Disagreement(.state, "something is missing that was handed to all")
        }
        if self.compacts || self.redacts {
            repairedChangeCount += try self.checkNewcomer(among: nodes, history, &random)
        }
        for node in nodes { try self.readBack(node, history, &random) }
        try nodes[0].rebuild()
        try self.compare(nodes[0], history, "after rebuilding")
        return Outcome(
            state: try nodes[0].state(),
            export: try nodes[0].export(),
            frontier: try nodes[0].frontier(),
            droppedWriteCount: droppedWriteCount,
            erasedWriteCount: erasedWriteCount,
            repairedChangeCount: repairedChangeCount
        )
    }

    /// A newcomer gets a part of what others have left, and then what it needs from somebody who has dropped nothing.
    private func checkNewcomer(
        among nodes: [TestNode<Store>],
        _ history: GeneratedHistory,
        _ random: inout SplitMix64
    ) throws -> Int {
        let newcomer = TestNode(
            store: try self.makeStore(),
            objects: history.objects,
            in: self.charter.circle,
            now: nodes[0].now
        )
        for _ in 0..<random.below(4 * history.changes.count) {
            guard let run = try self.relayed(by: random.pick(nodes), history, &random) else { continue }
            try newcomer.receive([self.withLies(run, &random)])
        }
        let repairedChangeCount = try self.repair(newcomer, history, &random)
        guard try newcomer.isComplete() else {
            throw Disagreement(.state, "a property of a newcomer is incomplete that had everything filled in")
        }
        try self.compare(newcomer, history, "of a newcomer")
        try newcomer.rebuild()
        try self.compare(newcomer, history, "of a newcomer after rebuilding")
        return repairedChangeCount
    }

    /// Hands a node everything once more that it has, in an order of its own.
    private func repair(
        _ node: TestNode<Store>,
        _ history: GeneratedHistory,
        _ random: inout SplitMix64
    ) throws -> Int {
        let changes = history.changes.filter { node.stored.contains($0.hash) }.shuffled(using: &random)
        let others = try self.others.map { others in try others.changes.map { try others.carried([$0]) } }
        return try node.repair(from: try changes.map { try history.carried([$0]) } + (others ?? []))
    }

    /// Loads every segment in pieces of random size: each piece must verify, so it is what was stored to the last bit.
    private func readBack(
        _ node: TestNode<Store>,
        _ history: GeneratedHistory,
        _ random: inout SplitMix64
    ) throws {
        var hashes: Set<Hash256> = []
        for (segment, sequences) in try node.segments() {
            var next = sequences.lowerBound
            let limits = RunLimits(changeCountMax: 1 + random.below(6), operationCountMax: 1 + random.below(40))
            while let loaded = try node.load(segment, from: next, limits: limits) {
                guard loaded.run.firstSequence == next, !loaded.run.changes.isEmpty else {
                    throw Disagreement(.log, "asked for \(segment) from \(next), got \(loaded.run.firstSequence)")
                }
                let verified = try history.verified(loaded.run, previous: loaded.previous)
                guard hashes.isDisjoint(with: verified.hashes) else {
                    throw Disagreement(.log, "a change is stored twice")
                }
                hashes.formUnion(verified.hashes)
                next = loaded.run.lastSequence + 1
            }
            guard next == sequences.upperBound + 1 else {
                throw Disagreement(.log, "\(segment) ends before \(next)")
            }
        }
        guard hashes == node.stored else { throw Disagreement(.log, "the log is not what was stored") }
    }

    private func deliver(
        to node: TestNode<Store>,
        of nodes: [TestNode<Store>],
        _ history: GeneratedHistory,
        setsBack: Bool,
        _ random: inout SplitMix64
    ) throws {
        var runs: [VerifiedRun] = []
        for _ in 0..<1 + random.below(4) {
            if random.chance(40), let run = try self.relayed(by: random.pick(nodes), history, &random) {
                runs.append(run)
            } else {
                runs.append(try history.carried(self.stretch(for: node, history, &random)))
            }
        }
        runs = runs.map { self.withLies($0, &random) }
        if random.chance(30) { node.now = node.now.advanced(byMilliseconds: UInt64(random.below(100))) }
        if setsBack, random.chance(15) {
            node.now = WallTime(milliseconds: history.end.milliseconds - 4_000_000 + UInt64(random.below(8_000_000)))
        }
        let expected = node.expected(runs)
        let receptions = try node.receive(runs)
        guard receptions == expected else {
            throw Disagreement(.reception, "receptions \(receptions), expected \(expected)")
        }
    }

    /// A run as a relay may hand it on that lies about what is needed.
    private func withLies(_ run: VerifiedRun, _ random: inout SplitMix64) -> VerifiedRun {
        guard self.redacts, random.chance(60) else { return run }
        let share = random.chance(30) ? 100 : 40
        let places = Set(run.run.operations.indices.filter { _ in random.chance(share) })
        return run.run.erasing(places, TestDevice.cryptography).map { run.replacingRun(with: $0.run) } ?? run
    }

    /// Some changes that follow each other on one fork: most often the next ones of those that a node has.
    private func stretch(
        for node: TestNode<Store>,
        _ history: GeneratedHistory,
        _ random: inout SplitMix64
    ) -> [NaiveChange] {
        let fits = history.changes.filter { change in
            !node.stored.contains(change.hash) && change.previous.map { node.stored.contains($0) } ?? true
        }
        // What it has, or what is too early, or a piece that begins before what it has not.
        var first = random.pick(random.chance(10) ? history.changes : fits)
        if random.chance(15) { first = random.pick(history.path(to: first.hash)) }
        var stretch = [first]
        for _ in 0..<random.below(8) {
            let successors = history.successors(of: stretch[stretch.count - 1].hash)
            if successors.isEmpty { break }
            stretch.append(random.pick(successors))
        }
        return stretch
    }

    /// What another node would send on of one of its segments, from anywhere on.
    private func relayed(
        by other: TestNode<Store>,
        _ history: GeneratedHistory,
        _ random: inout SplitMix64
    ) throws -> VerifiedRun? {
        guard let (segment, sequences) = try other.segments().randomElement(using: &random) else { return nil }
        let limits = RunLimits(
            changeCountMax: 1 + random.below(5),
            operationCountMax: 1 + random.below(30),
            byteCountMax: 1 + random.below(2000)
        )
        let sequence = sequences.lowerBound + UInt64(random.below(sequences.count))
        guard let loaded = try other.load(segment, from: sequence, limits: limits) else {
            throw Disagreement(.log, "nothing to relay of \(segment) from \(sequence)")
        }
        return try history.verified(loaded.run, previous: loaded.previous)
    }

    private func compare(_ node: TestNode<Store>, _ history: GeneratedHistory, _ moment: String) throws {
        let naive = history.naive(node.stored, now: node.now)
        let expected = NaiveModel(naive.permitted()).state()
        let state = try node.state()
        guard state == expected else {
            let hashes = node.stored.map { ModelWords.short($0) }.sorted()
            throw Disagreement(
                .state,
                "\(moment), having \(hashes) at \(node.now.milliseconds):\n"
                    + state.differences(from: expected)
            )
        }
        let verdicts = naive.verdicts()
        if let others { try self.compareCombination(node, naive, others, moment) }
        // A branch that is given up in one circle may go on in another: it is one to its user.
        let chains = self.others == nil ? [1, 2] : []
        for branch in chains.compactMap({ PlanVocabulary.branch(ofChain: $0) }) {
            let isOpen = naive.isOpen(branch, verdicts)
            guard try node.isOpen(branch) == isOpen else {
                throw Disagreement(.state, "\(moment), \(branch) is \(isOpen ? "not open" : "open")")
            }
        }
        let extended = Set(naive.changes.compactMap(\.previous))
        let heads = naive.changes.filter { !extended.contains($0.hash) }
            .map { FrontierEntry(replica: $0.replica, sequence: $0.sequence, hash: $0.hash) }
        guard try node.frontier() == Frontier(heads) else {
            throw Disagreement(.frontier, "\(moment), the frontier is not that of what is stored")
        }
    }

    /// What is put together from both circles is what their states by themselves make.
    private func compareCombination(
        _ node: TestNode<Store>,
        _ history: NaiveHistory,
        _ others: GeneratedHistory,
        _ moment: String
    ) throws {
        guard let circle = others.circle else { return }
        let (seen, stored) = try node.combination(beside: others)
        let expected = NaiveCombination([
            (self.charter.circle, NaiveModel(history.permitted())),
            (circle, NaiveModel(others.naive(stored, now: node.now).permitted())),
        ])
        guard seen == expected else {
            throw Disagreement(.state, "\(moment), of both circles: \(seen.difference(from: expected))")
        }
        guard !self.compacts, try node.isComplete() else { return }
        let byChanges = try node.combinationByChanges()
        guard byChanges == expected else {
            throw Disagreement(.state, "\(moment), by changes: \(byChanges.difference(from: expected))")
        }
    }

    /// What all nodes have is the same, whatever they call its parts.
    private func compare(_ nodes: [TestNode<Store>], _ moment: String) throws {
        let exports = try nodes.map { try $0.export() }
        for export in exports where export != exports[0] {
            let difference = ModelWords.firstDifference(exports[0], export, separator: "\n  ")
            throw Disagreement(.exports, "exports differ \(moment): \(difference)")
        }
    }
}

extension GeneratedHistory {
    /// The changes in words, one a line.
    package var lines: [String] {
        self.changes.map { change in
            let seen = change.context.map {
                "\(ModelWords.short($0.replica)):\($0.sequence)/\(ModelWords.short($0.name))"
            }
            let user = self.devices[change.replica]?.user == TestDevice.user ? "" : "'"
            return "  \(ModelWords.short(change.replica))\(user):\(change.sequence)/\(ModelWords.short(change.hash)) "
                + "after \(change.previous.map { ModelWords.short($0) } ?? "nothing") "
                + "@\(ModelWords.short(change.stamp)) saw \(seen): "
                + change.edits.map { ModelWords.short($0) }.joined(separator: "; ")
        }
    }
}
