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
    private var time = HistoryWorld.start
    private(set) var outcome = HistoryOutcome()

    /// After this time nothing that was written is held any more.
    private static let holdingMilliseconds: UInt64 = 7_200_000
    /// How far ahead a clock is that is wrong.
    private static let fastMilliseconds: UInt64 = 900_000

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
        if let fast = plan.fastPeer { self.replicas[fast].clockOffsetMilliseconds = HistoryRun.fastMilliseconds }
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
            let run = try self.replicas[peer].commit(edits, as: peer, at: self.time, secret: secret)
            self.chains[peer].append(run)
            self.outcome.changeCount += 1
            self.outcome.operationCount += edits.count
        case .deliver(let peer, let chain, let count):
            let have = self.replicas[peer].stored[chain]
            try self.deliver(chain, upTo: min(have + count, self.chains[chain].count), from: chain, to: peer)
        case .synchronise(let peer, let other):
            self.outcome.deliveryCount += 1
            let counts = self.replicas[other].stored
            if self.way == .asBytes {
                for chain in self.chains.indices { try self.carry(chain, upTo: counts[chain], from: other, to: peer) }
            } else {
                try self.replicas[peer].receive(self.chains, upTo: counts, first: other, at: self.time)
            }
        case .repeated(let peer, let chain, let sequence):
            guard sequence <= self.chains[chain].count else { return }
            self.outcome.deliveryCount += 1
            let run = self.chains[chain][sequence - 1]
            if try !self.replicas[peer].receiveAgain(run, from: chain, at: self.time) {
                self.outcome.marks.insert(.deliveryRefused)
            }
        }
    }

    private mutating func deliver(_ chain: Int, upTo count: Int, from sender: Int, to peer: Int) throws(StoreError) {
        let have = self.replicas[peer].stored[chain]
        guard have < count else { return }
        self.outcome.deliveryCount += 1
        if self.way == .asBytes { return try self.carry(chain, upTo: count, from: sender, to: peer) }
        try self.replicas[peer].receive(self.chains[chain][have..<count], from: chain, at: self.time)
    }

    /// Delivers by bytes, as many runs as it takes.
    private mutating func carry(_ chain: Int, upTo count: Int, from sender: Int, to peer: Int) throws(StoreError) {
        while self.replicas[peer].stored[chain] < count {
            let have = self.replicas[peer].stored[chain]
            let replica = self.chains[chain][0].run.replica
            guard let bytes = try self.replicas[sender].sent(replica, after: have, count: count - have) else {
                throw .damaged("a replica has nothing of chain \(chain) after \(have)")
            }
            try self.replicas[peer].receive(bytes: bytes, from: chain, at: self.time)
        }
    }

    /// Brings everything that is missing to a peer.
    private mutating func deliverRest(to peer: Int) throws(StoreError) {
        if self.way == .asBytes {
            for chain in self.chains.indices.reversed() {
                try self.carry(chain, upTo: self.chains[chain].count, from: chain, to: peer)
            }
            return try self.replicas[peer].receive([][...], from: peer, at: self.time)
        }
        let first = (peer + 1) % self.chains.count
        try self.replicas[peer].receive(self.chains, upTo: self.chains.map(\.count), first: first, at: self.time)
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
            if self.replicas[peer].hasWaited { self.outcome.marks.insert(.changeWaited) }
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
                try LogReading(of: &transaction, now: now).history
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
