package import CRDTCore

/// A small history around a chain that forks: what its forks do to an object or two, what a second device does that
/// has seen some of that, and what a third one restamps.
///
/// There are `count` of them. Each can be delivered in every order that keeps the chains, on either side of a clock
/// that is set back.
package struct ForkHistory: Sendable {
    /// How the first device's chain forks.
    private enum Shape: Int, CaseIterable {
        case line
        case fork
        case twoForks
        case forkInFork
        case forkOfBeginning
    }

    private enum Deed: Int, CaseIterable {
        case write
        case delete
        case move
    }

    /// What the second device has seen.
    private enum View: Int, CaseIterable {
        case beginning
        case firstLeaf
        case secondLeaf
        case everything
    }

    private enum Clocks: Int, CaseIterable {
        /// All leaves and the second device's change have one stamp.
        case coarse
        /// The second device's clock is behind.
        case secondBehind
        /// The first leaf is stamped ahead.
        case leafAhead
        /// All of the first device's changes are.
        case chainAhead
    }

    private enum Repair: Int, CaseIterable {
        case none
        /// All of the first leaf's fork.
        case fork
        case leaf
        /// By a device of another user.
        case withoutRight
    }

    private static let radixes = [
        Shape.allCases.count, Deed.allCases.count, Deed.allCases.count, View.allCases.count, Deed.allCases.count,
        Clocks.allCases.count, Repair.allCases.count,
    ]
    /// How many there are.
    package static let count = ForkHistory.radixes.reduce(1, *)

    private static let objects = (0..<2).map { ObjectID(bytes: Bytes16(high: 3, low: $0)) }
    /// When nothing is held, and when what is stamped ahead is.
    private static let late = WallTime(milliseconds: 1_000_000_000)
    private static let early = WallTime(milliseconds: 10_000)
    private static let ahead = Stamp(milliseconds: 900_000_000)

    package let number: Int
    private var history = GeneratedHistory()
    private var runs: [VerifiedRun] = []
    /// The number of the change that each extends, or -1.
    private var previous: [Int] = []
    private let hasHeld: Bool

    package init(number: Int) {
        self.number = number
        var rest = number
        let digits = ForkHistory.radixes.map { radix in
            defer { rest /= radix }
            return rest % radix
        }
        let clocks = Clocks.allCases[digits[5]]
        self.hasHeld = clocks == .leafAhead || clocks == .chainAhead
        let leaves = self.writeChain(
            Shape.allCases[digits[0]],
            [Deed.allCases[digits[1]], Deed.allCases[digits[2]]],
            clocks
        )
        self.writeSecond(Deed.allCases[digits[4]], View.allCases[digits[3]], leaves, clocks)
        self.restamp(leaves[0], Repair.allCases[digits[6]])
        let changes = self.history.changes
        self.runs = changes.map { self.history.sealed([$0]) }
        self.previous = changes.map { change in changes.firstIndex { $0.hash == change.previous } ?? -1 }
    }

    private mutating func replica(_ number: UInt64, _ user: UserID) -> (ReplicaID, Edit) {
        let device = TestDevice(number: number, user: user)
        let nonce = Bytes16(high: 4, low: number)
        let replica = device.replica(nonce: nonce)
        self.history.devices[replica] = device
        return (replica, .introduce(device.introduction(nonce: nonce)))
    }

    /// Returns the leaves.
    private mutating func writeChain(_ shape: Shape, _ deeds: [Deed], _ clocks: Clocks) -> [NaiveChange] {
        let (replica, introduction) = self.replica(1, TestDevice.otherUser)
        let isAhead = clocks == .chainAhead
        let created: [Edit] = [introduction] + ForkHistory.objects.map { .create($0, type: "note", kind: "") }
        let root = self.history.append(
            replica,
            stamp: isAhead ? ForkHistory.ahead : Stamp(milliseconds: 1_000),
            created
        )
        var leaves: [NaiveChange] = []
        func stamp(_ change: NaiveChange?) -> Stamp {
            let isFirst = leaves.isEmpty && clocks == .leafAhead
            let base = isAhead || isFirst ? ForkHistory.ahead : Stamp(milliseconds: 1_000)
            return Stamp(rawValue: base.rawValue + (change?.sequence ?? 0))
        }
        func leaf(after change: NaiveChange?, _ number: Int) {
            let deed = number < deeds.count ? deeds[number] : .write
            var edits = [ForkHistory.edit(deed, by: number)]
            if change == nil { edits = created + edits }
            let leaf = self.history.append(
                replica,
                after: change?.hash,
                stamp: stamp(change),
                salt: UInt64(number) + 1,
                edits
            )
            leaves.append(leaf)
        }
        leaf(after: root, 0)
        switch shape {
        case .line: break
        case .fork: leaf(after: root, 1)
        case .twoForks:
            leaf(after: root, 1)
            leaf(after: root, 2)
        case .forkInFork:
            let inner = self.history.append(
                replica,
                after: root.hash,
                stamp: stamp(root),
                salt: 9,
                [ForkHistory.edit(.write, by: 4)]
            )
            leaf(after: inner, 1)
            leaf(after: inner, 2)
        case .forkOfBeginning: leaf(after: nil, 1)
        }
        return leaves
    }

    private mutating func writeSecond(_ deed: Deed, _ view: View, _ leaves: [NaiveChange], _ clocks: Clocks) {
        let (replica, introduction) = self.replica(2, TestDevice.otherUser)
        let seen: [NaiveChange] =
            switch view {
            case .beginning: Array(self.history.changes.prefix(1))
            case .firstLeaf: [leaves[0]]
            case .secondLeaf: [leaves[leaves.count > 1 ? 1 : 0]]
            case .everything: leaves
            }
        let stamp = clocks == .secondBehind ? Stamp(milliseconds: 500) : leaves[leaves.count - 1].stamp
        self.history.append(
            replica,
            stamp: stamp,
            context: seen.map(\.point).sorted(),
            [introduction, ForkHistory.edit(deed, by: 3)]
        )
    }

    private mutating func restamp(_ leaf: NaiveChange, _ repair: Repair) {
        guard repair != .none else { return }
        // The first device is not the founder's: the founder's may restamp it, a third user's may not.
        let stranger = UserID(bytes: Bytes32(0x5573_6572, 0, 0, 3))
        let (replica, introduction) = self.replica(3, repair == .withoutRight ? stranger : TestDevice.user)
        let restamp = Restamp(
            replica: leaf.replica,
            firstSequence: repair == .leaf ? leaf.sequence : 1,
            lastSequence: leaf.sequence,
            lastHash: leaf.hash
        )
        self.history.append(replica, stamp: Stamp(milliseconds: 2_000), [introduction, .restamp(restamp)])
    }

    private static func edit(_ deed: Deed, by author: Int) -> Edit {
        let other = author % 2
        let position = Position(bytes: [UInt8(ascii: "a") + UInt8(author)])
        switch deed {
        case .write: return .set(self.objects[0], name: "title", value: .int(Int64(author)))
        case .delete: return .delete(self.objects[0])
        case .move:
            // Of two that move at the same time each puts one object under the other.
            return .move(self.objects[other], Place(parent: self.objects[1 - other], position: position))
        }
    }

    // MARK: - Delivering

    /// What was found in one order of deliveries.
    package struct Finding: Hashable, Sendable {
        /// The numbers of the changes, `<` where the clock is set back and `>` where it is put right.
        package var order: String
        package var message: String
    }

    /// Delivers the changes in every order, and compares with the naive model in the end.
    ///
    /// Returns the number of orders.
    package func check(_ find: (Finding) -> Void) throws(StoreError) -> Int {
        let models = (late: self.model(ForkHistory.late), early: self.model(ForkHistory.early))
        let empty = try MemoryStore.ofChartedWorkspace
        var orderCount = 0
        try self.deliver(into: empty, arrived: 0, isEarly: false, order: "", models, &orderCount, find)
        return orderCount
    }

    private func model(_ now: WallTime) -> PlainState { self.model(self.history.naive(now: now)) }

    /// Every store has the charter.
    private func model(_ history: NaiveHistory) -> PlainState {
        var history = history
        history.add(Charter.home.change)
        return NaiveModel(history.permitted()).state()
    }

    // `arrived`: a bit for each change. `isEarly`: whether the clock has been set back.
    private func deliver(
        into store: MemoryStore,
        arrived: Int,
        isEarly: Bool,
        order: String,
        _ models: (late: PlainState, early: PlainState),
        _ orderCount: inout Int,
        _ find: (Finding) -> Void
    ) throws(StoreError) {
        for (number, run) in self.runs.enumerated() where arrived & 1 << number == 0 {
            let previous = self.previous[number]
            guard previous < 0 || arrived & 1 << previous != 0 else { continue }
            var next = store
            try next.receive([run], by: ForkHistory.merge(at: isEarly ? ForkHistory.early : ForkHistory.late))
            try self.deliver(
                into: next,
                arrived: arrived | 1 << number,
                isEarly: isEarly,
                order: order + "\(number)",
                models,
                &orderCount,
                find
            )
        }
        if self.hasHeld, !isEarly, arrived != 0 {
            var next = store
            try next.receive([], by: ForkHistory.merge(at: ForkHistory.early))
            try self.deliver(
                into: next,
                arrived: arrived,
                isEarly: true,
                order: order + "<",
                models,
                &orderCount,
                find
            )
        }
        guard arrived == 1 << self.runs.count - 1 else { return }
        orderCount += 1
        var last = store
        try self.compare(&last, order, isEarly ? models.early : models.late, find)
        guard isEarly else { return }
        try last.receive([], by: ForkHistory.merge(at: ForkHistory.late))
        try self.compare(&last, order + ">", models.late, find)
    }

    private func compare(
        _ store: inout MemoryStore,
        _ order: String,
        _ expected: PlainState,
        _ find: (Finding) -> Void
    ) throws(StoreError) {
        let state = try store.plainState(ForkHistory.objects)
        if state != expected { find(Finding(order: order, message: state.differences(from: expected))) }
    }

    private static func merge(at now: WallTime) -> Merge { Merge(now: now, founder: TestDevice.user) }

    /// Delivers in one order, and compares after every step with what the model makes of what has arrived.
    ///
    /// Returns nil if the order is none.
    package func replay(_ order: some StringProtocol) throws(StoreError) -> [Finding]? {
        var store = try MemoryStore.ofChartedWorkspace
        var findings: [Finding] = []
        var now = ForkHistory.late
        var stored: Set<Hash256> = []
        var done = ""
        for letter in order {
            var runs: [VerifiedRun] = []
            done.append(letter)
            switch letter {
            case "<": now = ForkHistory.early
            case ">": now = ForkHistory.late
            default:
                guard let number = letter.wholeNumberValue, self.runs.indices.contains(number) else { return nil }
                runs = [self.runs[number]]
                stored.formUnion(self.runs[number].hashes)
            }
            try store.receive(runs, by: ForkHistory.merge(at: now))
            let expected = self.model(self.history.naive(stored, now: now))
            try self.compare(&store, done, expected) { findings.append($0) }
        }
        return findings
    }

    /// The changes in words, one a line.
    package var lines: [String] { self.history.lines }
}
