package import CRDTCore

/// A small circle: its owner has let in a manager and a writer, and then three things happen, none of whose authors has
/// seen another one.
///
/// There are `count` of them. Each is delivered in every order that keeps the chains.
package struct RightsHistory: Sendable {
    private enum Member: Int, CaseIterable {
        case owner
        case manager
        case writer
    }

    private enum Action {
        case removes(Member, keepsFirst: Bool)
        /// The writer again, whatever has been said against it.
        case grants
        case writes
    }

    private enum Place {
        case end
        /// Behind the first change of the chain, beside what follows that.
        case fork
        /// At the beginning of a new chain, under all that is granted by then.
        case newChain
    }

    private static let deeds: [(author: Member, action: Action, place: Place)] = [
        (.owner, .removes(.writer, keepsFirst: false), .end), (.owner, .removes(.writer, keepsFirst: true), .end),
        (.owner, .removes(.manager, keepsFirst: false), .end), (.owner, .removes(.manager, keepsFirst: true), .end),
        (.owner, .grants, .end), (.manager, .removes(.writer, keepsFirst: false), .end),
        (.manager, .removes(.writer, keepsFirst: true), .fork), (.manager, .grants, .end), (.manager, .writes, .fork),
        (.manager, .removes(.owner, keepsFirst: false), .end), (.writer, .writes, .end), (.writer, .writes, .fork),
        (.writer, .writes, .newChain), (.writer, .removes(.writer, keepsFirst: true), .end),
    ]
    private static let deedCount = 3

    /// How many there are.
    package static let count = (0..<RightsHistory.deedCount).reduce(1) { count, _ in count * RightsHistory.deeds.count }

    private static let object = ObjectID(bytes: Bytes16(high: 5, low: 5))
    private static let now = WallTime(milliseconds: 1_000_000_000)

    private var history = GeneratedHistory()
    private var runs: [VerifiedRun] = []
    /// The number of the change that each extends, or -1.
    private var previous: [Int] = []
    /// Of each member the changes of the chain that it writes to last.
    private var chains: [Member: [NaiveChange]] = [:]
    private var chainCount: UInt64 = 0
    private var grants: [Member: [StatementID]] = [:]
    private var removals: [StatementID] = []

    package init(number: Int) {
        let granting: [Edit] = [
            .rights(.grants(.init(to: Self.user(.manager), .manager))),
            .rights(.grants(.init(to: Self.user(.writer), .writer))),
            .create(Self.object, type: "note", kind: ""),
        ]
        self.write(.owner, granting, at: .newChain)
        for member in [Member.manager, .writer] { self.write(member, [self.edit(by: member)], at: .newChain) }
        var rest = number
        for _ in 0..<Self.deedCount {
            let deed = Self.deeds[rest % Self.deeds.count]
            rest /= Self.deeds.count
            self.write(deed.author, [self.edit(deed.action, by: deed.author)], at: deed.place)
        }
        let changes = self.history.changes
        self.runs = changes.map { self.history.sealed([$0]) }
        self.previous = changes.map { change in changes.firstIndex { $0.hash == change.previous } ?? -1 }
    }

    private static func user(_ member: Member) -> UserID {
        member == .owner ? TestDevice.user : UserID(bytes: Bytes32(0x5573_6572, 0, 1, UInt64(member.rawValue)))
    }

    private func edit(by author: Member) -> Edit {
        .set(Self.object, name: author == .writer ? "title" : "body", value: .int(Int64(self.history.changes.count)))
    }

    private func edit(_ action: Action, by author: Member) -> Edit {
        switch action {
        case .removes(let member, let keepsFirst):
            let heads = keepsFirst ? self.chains[member]?.first.map { [Self.named($0)] } ?? [] : []
            return .rights(.removes(.init(of: Self.user(member), from: [.manager, .writer, .reader], heads: heads)))
        case .grants: return .rights(.grants(.init(to: Self.user(.writer), .writer, despite: self.removals)))
        case .writes: return self.edit(by: author)
        }
    }

    private static func named(_ change: NaiveChange) -> NamedChange {
        NamedChange(replica: change.replica, sequence: change.sequence, hash: change.hash)
    }

    private mutating func write(_ author: Member, _ edits: [Edit], at place: Place) {
        let chain = self.chains[author] ?? []
        let before = place == .newChain ? nil : place == .fork ? chain.first : chain.last
        let device = TestDevice(number: UInt64(200 + author.rawValue), user: Self.user(author))
        let nonce = Bytes16(high: 9, low: self.chainCount)
        var introduction: [Edit] = []
        if before == nil {
            introduction = [.introduce(device.introduction(nonce: nonce, under: self.grants[author] ?? []))]
            self.chainCount += 1
        }
        let replica = before?.replica ?? device.replica(nonce: nonce)
        self.history.devices[replica] = device
        let count = UInt64(self.history.changes.count)
        let change = self.history.append(
            replica,
            after: before?.hash,
            stamp: Stamp(milliseconds: 1_000 + count),
            salt: count,
            introduction + edits
        )
        self.chains[author] = (before == nil ? [] : chain) + [change]
        for (index, edit) in change.edits.enumerated() {
            let id = StatementID(change: Self.named(change), index: UInt32(index))
            switch edit {
            case .rights(.grants(let grant)):
                for member in Member.allCases where Self.user(member) == grant.user {
                    self.grants[member, default: []].append(id)
                }
            case .rights(.removes): self.removals.append(id)
            default: break
            }
        }
    }

    // MARK: - Delivering

    /// Delivers the changes to a store in memory in every order, and compares with the naive model in the end.
    ///
    /// Returns the number of orders.
    package func check(_ find: (_ order: String, _ message: String) -> Void) throws(StoreError) -> Int {
        let expected = self.expected
        var orderCount = 0
        try self.deliver(into: .ofTestWorkspace, arrived: 0, order: "", expected, &orderCount, find)
        return orderCount
    }

    /// What the naive model makes of all changes.
    package var expected: PlainState { NaiveModel(self.history.naive(now: Self.now).permitted()).state() }

    /// Delivers the changes to a store in an order of its own, and returns its state.
    package func state<Store: ReplicaStore & ~Copyable>(
        of store: consuming Store,
        _ random: inout SplitMix64
    ) throws -> PlainState {
        let node = TestNode(store: store, objects: [Self.object], now: Self.now)
        while let number = self.ready(node.stored).randomElement(using: &random) {
            try node.receive([self.runs[number]])
        }
        return try node.state()
    }

    private func ready(_ stored: Set<Hash256>) -> [Int] {
        self.runs.indices.filter { number in
            let before = self.previous[number]
            return !stored.contains(self.history.changes[number].hash)
                && (before < 0 || stored.contains(self.history.changes[before].hash))
        }
    }

    private func deliver(
        into store: MemoryStore,
        arrived: Int,
        order: String,
        _ expected: PlainState,
        _ orderCount: inout Int,
        _ find: (_ order: String, _ message: String) -> Void
    ) throws(StoreError) {
        for (number, run) in self.runs.enumerated() where arrived & 1 << number == 0 {
            let before = self.previous[number]
            guard before < 0 || arrived & 1 << before != 0 else { continue }
            var next = store
            try next.receive([run], by: Merge(now: Self.now, founder: TestDevice.user))
            try self.deliver(
                into: next,
                arrived: arrived | 1 << number,
                order: order + "\(number)",
                expected,
                &orderCount,
                find
            )
        }
        guard arrived == 1 << self.runs.count - 1 else { return }
        orderCount += 1
        var last = store
        let state = try last.plainState([Self.object])
        if state != expected { find(order, state.differences(from: expected)) }
    }

    /// The changes in words, one a line.
    package var lines: [String] { self.history.lines }
}
