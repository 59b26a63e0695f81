internal import CRDTCore
package import MergeModel

/// The result of one merge trial.
package struct MergeOutcome {
    /// The state that all replicas ended with.
    var digest: UInt64 = 0
    package var finding: Finding?
    var changeCount = 0
    package var operationCount = 0
    var deliveryCount = 0
    package var marks = MergeMarks()
}

/// Performs a plan on stores in memory, through the production merge.
package struct MergeTrial {
    /// How what is delivered comes.
    package enum Way: Hashable, Sendable {
        /// As its author sealed it.
        case asSealed
        /// Loaded from the sender's log, several changes in one run, encoded, decoded and verified.
        case asBytes
    }

    private let world: MergeWorld
    private let plan: MergePlan
    private let way: Way
    /// Whether any change of the plan lies.
    private let hasLies: Bool
    private var replicas: [MergeReplica]
    /// What each peer has written, a run a change.
    private var chains: [[VerifiedRun]]
    /// The last copy of each peer's database.
    private var copies: [MergeReplica]
    private var lies: [MergeLie?]
    private var time = PlanVocabulary.start
    package private(set) var outcome = MergeOutcome()

    /// After this time nothing that was written is held any more.
    private static let holdingMilliseconds: UInt64 = 7_200_000

    /// Performs a plan, and delivers everything everywhere in the end.
    ///
    /// `isThorough`: whether it is then performed again with deliveries as bytes, and compared with the naive model.
    package static func outcome(of plan: MergePlan, in world: MergeWorld, isThorough: Bool) -> MergeOutcome {
        var run = MergeTrial(plan, in: world, .asSealed)
        run.perform()
        guard isThorough, run.outcome.finding == nil else { return run.outcome }
        run.compareWithModel()
        guard run.outcome.finding == nil else { return run.outcome }
        var second = MergeTrial(plan, in: world, .asBytes)
        second.perform()
        if second.outcome.finding == nil, second.outcome.digest != run.outcome.digest {
            second.find(.replayDisagrees, "delivered as bytes, the same changes make another state")
        }
        if let finding = second.outcome.finding { run.outcome.finding = finding }
        return run.outcome
    }

    private init(_ plan: MergePlan, in world: MergeWorld, _ way: Way) {
        self.plan = plan
        self.world = world
        self.way = way
        self.hasLies = plan.hasLies
        self.replicas = world.replicas
        self.chains = world.chains
        self.lies = Array(repeating: nil, count: plan.peerCount)
        if plan.traits.contains(.introducedLate) {
            self.replicas = world.beginners
            self.chains = Array(repeating: [], count: plan.peerCount)
        }
        self.copies = self.replicas
        if let fast = plan.fastPeer { self.replicas[fast].setClock(.ahead) }
    }

    private mutating func find(_ property: CheckedProperty, _ message: String) {
        if self.outcome.finding == nil { self.outcome.finding = Finding(property: property, message: message) }
    }

    private mutating func perform() {
        do throws(StoreError) {
            for step in self.plan.steps { try self.perform(step) }
            self.time = self.time.advanced(byMilliseconds: MergeTrial.holdingMilliseconds)
            // A lie may be stamped so far ahead that clocks which are wrong would hold different changes in the end.
            if self.hasLies {
                for peer in self.replicas.indices { self.replicas[peer].setClock(.right) }
            }
            for peer in self.replicas.indices { try self.deliverRest(to: peer) }
            try self.compare()
        } catch {
            self.find(.damage, "\(error)")
        }
    }

    private mutating func perform(_ step: MergeStep) throws(StoreError) {
        switch step {
        case .write(let peer, let pause, let edits):
            self.time = self.time.advanced(byMilliseconds: UInt64(pause))
            try self.write(edits, by: peer)
        case .deliver(let peer, let chain, let count):
            let total = self.chains[chain].count
            let places = self.replicas[peer].stored.missing(of: chain, count: count, total: total)
            guard !places.isEmpty else { return }
            self.outcome.deliveryCount += 1
            try self.deliver(places, from: chain, to: peer)
        case .synchronise(let peer, let other):
            self.outcome.deliveryCount += 1
            let places = self.replicas[peer].stored.missing(from: self.replicas[other].stored, first: other)
            try self.deliver(places, from: other, to: peer)
        case .repeated(let peer, let chain, let number):
            guard number <= self.chains[chain].count else { return }
            self.outcome.deliveryCount += 1
            let place = ChainHoldings.Place(chain: chain, position: number - 1)
            let hasPrevious = self.previous(of: place).map { self.replicas[peer].stored.has($0) } ?? true
            let run = self.chains[chain][place.position]
            let isTaken = try self.replicas[peer].receiveAgain(
                run,
                as: place,
                hasPrevious: hasPrevious,
                at: self.time
            )
            if !isTaken { self.outcome.marks.insert(.deliveryRefused) }
        case .backUp(let peer): self.copies[peer] = self.replicas[peer]
        case .restore(let peer, let other): self.replicas[peer].restore(self.copies[other])
        case .setClock(let peer, let clock): self.replicas[peer].setClock(clock)
        case .reopen(let peer):
            self.replicas[peer].reopen(asChain: self.chains.count)
            for number in self.replicas.indices {
                self.replicas[number].addChain()
                self.copies[number].addChain()
            }
            self.chains.append([])
        case .lie(let peer, let lie): self.lies[peer] = lie
        case .wait(let seconds): self.time = self.time.advanced(byMilliseconds: UInt64(seconds) * 1_000)
        }
    }

    private mutating func write(_ planned: [PlannedEdit], by peer: Int) throws(StoreError) {
        let secret = self.world.secret(self.outcome.changeCount)
        let chain = self.replicas[peer].chain
        let place = ChainHoldings.Place(chain: chain, position: self.chains[chain].count)
        let edits = planned.map { self.edit($0) }
        let run: VerifiedRun
        if let lie = self.lies[peer] {
            self.lies[peer] = nil
            let (time, written) = (self.time, self.chains.indices.flatMap { self.entries(of: $0) })
            let replicas = written.isEmpty ? [self.replicaID(0)] : written.map(\.replica)
            run = try self.replicas[peer].commit(edits, as: place, at: time, self.plan.traits, secret: secret) {
                lie.distort(stamp: &$0, context: &$1, edits: &$2, now: time, replicas: replicas, written: written)
            }
        } else {
            run = try self.replicas[peer].commit(edits, as: place, at: self.time, self.plan.traits, secret: secret)
        }
        self.chains[chain].append(run)
        self.outcome.changeCount += 1
        self.outcome.operationCount += edits.count
    }

    private func edit(_ planned: PlannedEdit) -> Edit {
        planned.edit(
            self.plan.traits,
            replica: { self.replicaID($0) },
            change: { chain, number in
                let own = self.chains[chain]
                return number <= own.count ? MergeTrial.entry(of: own[number - 1]) : nil
            }
        )
    }

    /// The replica that writes a chain; one that nobody has if nothing is written.
    private func replicaID(_ chain: Int) -> ReplicaID {
        self.chains[chain].first?.run.replica ?? ReplicaID(bytes: Bytes16(high: 0, low: 0))
    }

    private func entries(of chain: Int) -> [FrontierEntry] { self.chains[chain].map { MergeTrial.entry(of: $0) } }

    private static func entry(of change: VerifiedRun) -> FrontierEntry {
        FrontierEntry(
            replica: change.run.replica,
            sequence: change.run.firstSequence,
            hash: change.hashes[0]
        )
    }

    /// The change that another extends; nil if that is the first of its chain.
    private func previous(of place: ChainHoldings.Place) -> ChainHoldings.Place? {
        let own = self.chains[place.chain]
        return own.firstIndex { $0.hashes[0] == own[place.position].previous }
            .map { ChainHoldings.Place(chain: place.chain, position: $0) }
    }

    private mutating func deliver(
        _ places: [ChainHoldings.Place],
        from sender: Int,
        to peer: Int
    ) throws(StoreError) {
        guard self.way == .asBytes else {
            return try self.replicas[peer].receive(places, of: self.chains, at: self.time)
        }
        var left = places[...]
        while let first = left.first {
            // As many as follow each other on one fork.
            var stretch = [self.chains[first.chain][first.position]]
            for place in left.dropFirst() {
                let next = self.chains[place.chain][place.position]
                guard next.previous == stretch[stretch.count - 1].hashes[0] else { break }
                stretch.append(next)
            }
            let bytes = try self.bytes(of: stretch, from: sender)
            let hashes = try self.replicas[peer].receive(bytes: bytes, at: self.time)
            let arrived = left.prefix(hashes.count)
            guard zip(arrived, hashes).allSatisfy({ self.chains[$0.chain][$0.position].hashes[0] == $1 }) else {
                throw .damaged("what is sent of chain \(first.chain) is not what was asked for")
            }
            self.replicas[peer].note(arrived)
            left = left.dropFirst(hashes.count)
        }
    }

    /// Changes as somebody sends them: the sender or, where that has lost them, whoever has them.
    private mutating func bytes(of changes: [VerifiedRun], from sender: Int) throws(StoreError) -> [UInt8] {
        for number in self.replicas.indices {
            let peer = (sender + number) % self.replicas.count
            if let bytes = try self.replicas[peer].sent(changes) { return bytes }
        }
        // All have lost it, or have it with more: one who had it comes back.
        return changes[0].run.encoded()
    }

    /// Brings everything that is missing to a peer.
    private mutating func deliverRest(to peer: Int) throws(StoreError) {
        let chains = self.way == .asBytes ? Array(self.chains.indices.reversed()) : Array(self.chains.indices)
        var places: [ChainHoldings.Place] = []
        for number in chains.indices {
            let chain = chains[(peer + 1 + number) % chains.count]
            let total = self.chains[chain].count
            places += self.replicas[peer].stored.missing(of: chain, count: total, total: total)
        }
        try self.deliver(places, from: (peer + 1) % chains.count, to: peer)
        // What was held is due, whether anything comes or not.
        try self.replicas[peer].receive([], of: self.chains, at: self.time)
    }

    // MARK: - In the end

    /// All replicas must be equal, and each a state that can be.
    private mutating func compare() throws(StoreError) {
        for peer in self.replicas.indices {
            let digest = try self.replicas[peer].read { transaction in StateDigest(of: &transaction) }
            // A change that lies about what it has seen waits forever.
            if let problem = digest.problem, !(self.hasLies && problem.property == .residue) {
                self.find(problem.property, "peer \(peer): \(problem.message)")
            }
            let bits = try self.bits(of: digest, peer)
            if peer == 0 { self.outcome.digest = bits }
            if bits != self.outcome.digest {
                self.find(.divergence, "peers 0 and \(peer) differ: \(try self.difference(0, peer))")
            }
            self.outcome.marks.formUnion(digest.marks)
            if self.replicas[peer].hasAppliedTooEarly {
                self.find(.appliedTooEarly, "peer \(peer) applied what it had to hold")
            }
            self.outcome.marks.formUnion(self.replicas[peer].marks)
        }
    }

    /// The state of a peer in one number.
    ///
    /// Where changes wait in the end, a digest depends on which fork of a chain came first: the plain state does not.
    private mutating func bits(of digest: StateDigest, _ peer: Int) throws(StoreError) -> UInt64 {
        guard self.hasLies else { return digest.bits }
        return try self.state(of: peer).description.utf8.reduce(0) { StateDigest.mixed($0, UInt64($1), 0) }
    }

    private mutating func difference(_ left: Int, _ right: Int) throws(StoreError) -> String {
        let (first, second) = (try self.state(of: left), try self.state(of: right))
        return first.differences(from: second)
    }

    private mutating func state(of peer: Int) throws(StoreError) -> PlainState {
        try self.replicas[peer].read { transaction throws(StoreError) in
            try StateReader.state(of: &transaction, objects: PlanVocabulary.objects)
        }
    }

    /// The naive model, computing the state anew, and what is exported must say the same.
    private mutating func compareWithModel() {
        do throws(StoreError) {
            let now = self.time
            let history = try self.replicas[0].read { transaction throws(StoreError) in
                try LogReading(of: &transaction, founder: TestDevice.user, now: now).history
            }
            let expected = NaiveModel(history.permitted()).state()
            var exports: [[UInt8]] = []
            for peer in self.replicas.indices {
                let state = try self.state(of: peer)
                if state != expected {
                    self.find(.modelDisagrees, "peer \(peer):\n\(state.differences(from: expected))")
                }
                let (tree, export) = try self.replicas[peer].read { transaction throws(StoreError) in
                    (try StateChecks.tree(in: &transaction), try StateExport.json(of: &transaction))
                }
                if let tree { self.find(.brokenTree, "peer \(peer): \(tree)") }
                exports.append(export)
            }
            for export in exports where export != exports[0] {
                self.find(.divergence, "exports differ: \(ModelWords.firstDifference(exports[0], export))")
            }
            try self.replicas[0].rebuild(at: now)
            let rebuilt = try self.replicas[0].read { transaction in StateDigest(of: &transaction) }
            if try self.bits(of: rebuilt, 0) != self.outcome.digest {
                self.find(.replayDisagrees, "the state rebuilt from the log differs")
            }
        } catch {
            self.find(.damage, "\(error)")
        }
    }
}
