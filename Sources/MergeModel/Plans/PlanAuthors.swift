internal import CRDTCore

/// Performs a plan with authors that know no merge but the naive model.
///
/// An author writes after its own last change, whatever has come back to it of a chain that it had lost.
struct PlanAuthors {
    /// One machine.
    private struct Author {
        /// The number of the chain that it writes to.
        var chain: Int
        /// The changes that have arrived.
        var stored: ChainHoldings
        /// The last change that it wrote to the chain.
        var tip: Hash256?
        /// The changes that its last change had seen, and that change.
        var covered: Set<Hash256> = []
    }

    private let plan: MergePlan
    /// Of the circle that they write to.
    private let charter: Charter
    private var authors: [Author]
    /// The authors as they were when their databases were last copied.
    private var copies: [Author]
    private var clocks: [PlannedClock]
    private var lies: [MergeLie?]
    private var chains: [Chain] = []
    private var places: [Hash256: ChainHoldings.Place] = [:]
    private var changes = GeneratedHistory()
    private var time = PlanVocabulary.start
    /// What has been said of rights.
    private var said = PlannedRights()

    private struct Chain {
        var device: TestDevice
        var nonce: Bytes16
        var replica: ReplicaID
        /// The changes in the order in which they were written.
        var hashes: [Hash256] = []
    }

    /// Returns the changes that the authors of a plan write to the circle of a charter.
    static func changes(of plan: MergePlan, under charter: Charter) -> GeneratedHistory {
        var authors = PlanAuthors(plan, charter)
        if !plan.traits.contains(.introducedLate) { authors.introduceAll() }
        for step in plan.steps { authors.perform(step) }
        authors.changes.end = authors.time
        return authors.changes
    }

    private init(_ plan: MergePlan, _ charter: Charter) {
        (self.plan, self.charter) = (plan, charter)
        self.authors = (0..<plan.peerCount).map {
            Author(chain: $0, stored: ChainHoldings(chainCount: plan.peerCount))
        }
        self.copies = self.authors
        self.clocks = Array(repeating: .right, count: plan.peerCount)
        self.lies = Array(repeating: nil, count: plan.peerCount)
        if let fast = plan.fastPeer { self.clocks[fast] = .ahead }
        self.changes.objects = PlanVocabulary.objects
        self.changes.add(charter)
        for peer in 0..<plan.peerCount { self.openChain(PlanVocabulary.device(of: peer)) }
    }

    private mutating func openChain(_ device: TestDevice) {
        let nonce = PlanVocabulary.nonce(ofChain: self.chains.count, seed: self.plan.seed)
        let replica = device.replica(nonce: nonce, in: self.charter.circle)
        self.chains.append(Chain(device: device, nonce: nonce, replica: replica))
        self.changes.devices[replica] = device
    }

    private mutating func introduceAll() {
        for peer in self.authors.indices {
            self.append([], stamp: Stamp(rawValue: 1), context: [], seen: [], by: peer)
        }
        self.copies = self.authors
    }

    private mutating func perform(_ step: MergeStep) {
        switch step {
        case .write(let peer, let pause, let edits):
            self.time = self.time.advanced(byMilliseconds: UInt64(pause))
            self.write(edits, by: peer)
        case .deliver(let peer, let chain, let count):
            let total = self.chains[chain].hashes.count
            for place in self.authors[peer].stored.missing(of: chain, count: count, total: total) {
                self.authors[peer].stored.add(place)
            }
        case .synchronise(let peer, let other):
            for place in self.authors[peer].stored.missing(from: self.authors[other].stored, first: other) {
                self.authors[peer].stored.add(place)
            }
        case .repeated(let peer, let chain, let number):
            guard number <= self.chains[chain].hashes.count else { return }
            let previous = self.changes[self.chains[chain].hashes[number - 1]]?.previous
            guard previous.flatMap({ self.places[$0] }).map({ self.authors[peer].stored.has($0) }) ?? true else {
                return
            }
            self.authors[peer].stored.add(ChainHoldings.Place(chain: chain, position: number - 1))
        case .backUp(let peer): self.copies[peer] = self.authors[peer]
        case .restore(let peer, let other): self.authors[peer] = self.copies[other]
        case .setClock(let peer, let clock): self.clocks[peer] = clock
        case .reopen(let peer):
            for number in self.authors.indices {
                self.authors[number].stored.addChain()
                self.copies[number].stored.addChain()
            }
            let device = self.chains[self.authors[peer].chain].device
            self.authors[peer].chain = self.chains.count
            self.authors[peer].tip = nil
            self.authors[peer].covered = []
            self.openChain(device)
        case .lie(let peer, let lie): self.lies[peer] = lie
        case .wait(let seconds): self.time = self.time.advanced(byMilliseconds: UInt64(seconds) * 1_000)
        }
    }

    private mutating func write(_ planned: [PlannedEdit], by peer: Int) {
        let author = self.authors[peer]
        let wall = self.clocks[peer].wall(at: self.time)
        let known = self.chains.enumerated().flatMap { number, chain in
            chain.hashes.enumerated().filter {
                author.stored.has(ChainHoldings.Place(chain: number, position: $0.offset))
            }.map(\.element)
        }
        let history = self.changes.naive(Set(known), now: wall)
        let verdicts = history.verdicts()
        var highest = verdicts.stamps.values.max() ?? .zero
        if let tip = author.tip.flatMap({ self.changes[$0] }) { highest = max(highest, tip.stamp) }
        let coarse = Stamp(milliseconds: wall.shown(self.plan.traits).milliseconds)
        var stamp = max(coarse, highest.successor ?? highest)
        let applied = verdicts.stamps.keys.map { history.changes[$0] }
        var edits = planned.map { self.edit($0) }
        if self.plan.traits.contains(.branches) {
            edits += PlanVocabulary.statements(ofChange: self.changes.changes.count)
        }
        // What is said of branches is about what the change names, be it for the first time or not.
        let isAboutAll = edits.contains { $0.kind == .branch }
        let own = author.tip.flatMap { history.number(of: $0) }.map { history.path(to: $0) } ?? []
        let named = isAboutAll ? Set(own.map { history.changes[$0].hash }) : author.covered
        let news = applied.filter { !named.contains($0.hash) }
        let extended = Set(news.compactMap(\.previous))
        var context = Set(news.filter { !extended.contains($0.hash) }.map(\.point)).sorted()
        if self.plan.traits.contains(.erasures) { edits = self.erasing(edits) }
        if self.plan.traits.contains(.rights) {
            let tips = self.chains.map { chain in chain.hashes.compactMap { self.entry($0) } }
            edits += self.said.statements(
                by: self.chains[author.chain].device,
                number: self.changes.changes.count,
                tips,
                others: self.chains.map(\.device).filter { $0.user != TestDevice.user }
            )
        }
        if let lie = self.lies[peer] {
            lie.distort(
                stamp: &stamp,
                context: &context,
                edits: &edits,
                now: self.time,
                replicas: self.chains.map(\.replica),
                written: self.chains.flatMap(\.hashes).compactMap { self.entry($0) }
            )
            self.lies[peer] = nil
        }
        self.append(edits, stamp: stamp, context: context, seen: applied.map(\.hash), by: peer)
    }

    /// Erases the past of the properties that every third change writes to.
    ///
    /// Every fifth change asks for an erasure that has no effect, since no write comes behind it.
    private func erasing(_ edits: [Edit]) -> [Edit] {
        let number = self.changes.changes.count
        var result: [Edit] = []
        var last: Erasure?
        for edit in edits {
            switch edit {
            case .set(let object, let name, _), .unset(let object, let name):
                last = Erasure(object: object, name: name)
                if number % 3 == 0, let last { result.append(.erase(last)) }
            default: break
            }
            result.append(edit)
        }
        if number % 5 == 0, let last { result.append(.erase(last)) }
        return result
    }

    private func edit(_ planned: PlannedEdit) -> Edit {
        planned.edit(
            self.plan.traits,
            replica: { self.chains[$0].replica },
            change: { chain, number in
                let hashes = self.chains[chain].hashes
                return number <= hashes.count ? self.entry(hashes[number - 1]) : nil
            }
        )
    }

    private func entry(_ hash: Hash256) -> FrontierEntry? {
        self.changes[hash].map { FrontierEntry(replica: $0.replica, sequence: $0.sequence, hash: hash) }
    }

    private mutating func append(_ edits: [Edit], stamp: Stamp, context: [Point], seen: [Hash256], by peer: Int) {
        let author = self.authors[peer]
        let chain = self.chains[author.chain]
        var introduction: [Edit] = []
        if author.tip == nil {
            let branch = self.plan.traits.contains(.branches) ? PlanVocabulary.branch(ofChain: author.chain) : nil
            let grants = chain.device.user == TestDevice.user ? [] : self.said.grants
            introduction.append(
                .introduce(
                    chain.device.introduction(nonce: chain.nonce, branch: branch, in: self.charter, under: grants)
                )
            )
        }
        let change = self.changes.append(
            chain.replica,
            after: author.tip,
            stamp: stamp,
            context: context,
            salt: UInt64(self.changes.changes.count),
            introduction + edits
        )
        self.said.note(change)
        let place = ChainHoldings.Place(chain: author.chain, position: chain.hashes.count)
        self.chains[author.chain].hashes.append(change.hash)
        self.places[change.hash] = place
        self.authors[peer].stored.add(place)
        self.authors[peer].tip = change.hash
        self.authors[peer].covered.formUnion(seen + [change.hash])
    }
}

extension GeneratedHistory {
    /// Creates the changes that the authors of a plan write to the circle of a charter.
    package init(_ plan: MergePlan, under charter: Charter = .home) {
        self = PlanAuthors.changes(of: plan, under: charter)
    }
}
