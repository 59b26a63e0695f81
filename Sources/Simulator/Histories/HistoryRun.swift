internal import CRDTCore
internal import MergeTestSupport

/// What came of one history.
struct HistoryOutcome {
    /// The state that all replicas ended with.
    var digest: UInt64 = 0
    var finding: Finding?
    var changeCount = 0
    var operationCount = 0
    var deliveryCount = 0
    var marks = HistoryMarks()
}

/// Performs a plan on stores in memory, through the production merge.
struct HistoryRun {
    /// How what is delivered comes.
    enum Way: Hashable, Sendable {
        /// As its author sealed it.
        case asSealed
        /// Loaded from the sender's log, several changes in one run, encoded, decoded and verified.
        case asBytes
    }

    private let world: HistoryWorld
    private let plan: HistoryPlan
    private let way: Way
    private var replicas: [HistoryReplica]
    /// What each peer has written, a run a change.
    private var chains: [[VerifiedRun]]
    /// The last copy of each peer's database.
    private var copies: [HistoryReplica]
    private var time = HistoryWorld.start
    private(set) var outcome = HistoryOutcome()

    /// After this time nothing that was written is held any more.
    private static let holdingMilliseconds: UInt64 = 7_200_000

    /// Performs a plan, and delivers everything everywhere in the end.
    ///
    /// `isThorough`: whether it is then performed again with deliveries as bytes, and compared with the naive model.
    static func outcome(of plan: HistoryPlan, in world: HistoryWorld, isThorough: Bool) -> HistoryOutcome {
        var run = HistoryRun(plan, in: world, .asSealed)
        run.perform()
        guard isThorough, run.outcome.finding == nil else { return run.outcome }
        run.compareWithModel()
        guard run.outcome.finding == nil else { return run.outcome }
        var second = HistoryRun(plan, in: world, .asBytes)
        second.perform()
        if second.outcome.finding == nil, second.outcome.digest != run.outcome.digest {
            second.find(.replayDisagrees, "delivered as bytes, the same changes make another state")
        }
        if let finding = second.outcome.finding { run.outcome.finding = finding }
        return run.outcome
    }

    private init(_ plan: HistoryPlan, in world: HistoryWorld, _ way: Way) {
        self.plan = plan
        self.world = world
        self.way = way
        self.replicas = world.replicas
        self.chains = world.chains
        self.copies = world.replicas
        if let fast = plan.fastPeer { self.replicas[fast].setClock(.ahead) }
    }

    private mutating func find(_ property: Property, _ message: String) {
        if self.outcome.finding == nil { self.outcome.finding = Finding(property: property, message: message) }
    }

    private mutating func perform() {
        do throws(StoreError) {
            for step in self.plan.steps { try self.perform(step) }
            self.time = self.time.advanced(byMilliseconds: HistoryRun.holdingMilliseconds)
            for peer in self.replicas.indices { try self.deliverRest(to: peer) }
            try self.compare()
        } catch {
            self.find(.damage, "\(error)")
        }
    }

    private mutating func perform(_ step: HistoryStep) throws(StoreError) {
        switch step {
        case .write(let peer, let pause, let edits):
            self.time = self.time.advanced(byMilliseconds: UInt64(pause))
            let secret = self.world.secret(self.outcome.changeCount)
            let place = HistoryHoldings.Place(chain: peer, position: self.chains[peer].count)
            let edits = edits.map { HistoryWorld.edit($0, self.chains) }
            self.chains[peer].append(
                try self.replicas[peer].commit(edits, as: place, at: self.time, secret: secret)
            )
            self.outcome.changeCount += 1
            self.outcome.operationCount += edits.count
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
            let place = HistoryHoldings.Place(chain: chain, position: number - 1)
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
        case .restore(let peer): self.replicas[peer].restore(self.copies[peer])
        case .setClock(let peer, let clock): self.replicas[peer].setClock(clock)
        }
    }

    /// The change that another extends; nil if that is the first of its chain.
    private func previous(of place: HistoryHoldings.Place) -> HistoryHoldings.Place? {
        let own = self.chains[place.chain]
        return own.firstIndex { $0.hashes[0] == own[place.position].previous }
            .map { HistoryHoldings.Place(chain: place.chain, position: $0) }
    }

    private mutating func deliver(
        _ places: [HistoryHoldings.Place],
        from sender: Int,
        to peer: Int
    ) throws(StoreError) {
        guard self.way == .asBytes else {
            return try self.replicas[peer].receive(places, of: self.chains, at: self.time)
        }
        var left = places[...]
        while let first = left.first {
            // As many as follow each other on one branch.
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
        var places: [HistoryHoldings.Place] = []
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
            if let problem = digest.problem { self.find(problem.property, "peer \(peer): \(problem.message)") }
            if peer == 0 { self.outcome.digest = digest.bits }
            if digest.bits != self.outcome.digest {
                self.find(.divergence, "peers 0 and \(peer) differ: \(try self.difference(0, peer))")
            }
            self.outcome.marks.formUnion(digest.marks)
            if self.replicas[peer].hasAppliedTooEarly {
                self.find(.appliedTooEarly, "peer \(peer) applied what it had to hold")
            }
            self.outcome.marks.formUnion(self.replicas[peer].marks)
        }
    }

    private mutating func difference(_ left: Int, _ right: Int) throws(StoreError) -> String {
        let (first, second) = (try self.state(of: left), try self.state(of: right))
        return first.differences(from: second)
    }

    private mutating func state(of peer: Int) throws(StoreError) -> PlainState {
        try self.replicas[peer].read { transaction throws(StoreError) in
            try StateReader.state(of: &transaction, objects: HistoryWorld.objects)
        }
    }

    /// The naive model, computing the state anew, and what is exported must say the same.
    private mutating func compareWithModel() {
        do throws(StoreError) {
            let now = self.time
            let history = try self.replicas[0].read { transaction throws(StoreError) in
                try LogReading(of: &transaction, founder: TestDevice.user, now: now).history
            }
            let expected = NaiveModel(history).state()
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
                self.find(.divergence, "exports differ: \(World.firstDifference(exports[0], export))")
            }
            try self.replicas[0].rebuild(at: now)
            let rebuilt = try self.replicas[0].read { transaction in StateDigest(of: &transaction) }
            if rebuilt.bits != self.outcome.digest {
                self.find(.replayDisagrees, "computed anew from the log, the state is another")
            }
        } catch {
            self.find(.damage, "\(error)")
        }
    }
}
