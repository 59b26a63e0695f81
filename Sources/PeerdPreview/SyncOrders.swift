internal import CRDTCore
internal import PeerCrypto
internal import PeerdKit

/// Every order of syncs, two devices at a time, until all hold the same; or some orders, drawn from a seed.
///
/// Two devices only sync where one has something that the other lacks. Orders that begin alike share their beginning.
/// Nothing else is shared: the search is to show that devices with the same changes are the same.
struct SyncOrders {
    /// The result of the search.
    struct Result {
        var orders = Preview.Orders()
        /// The end of the first order, which every other end is compared with.
        var first: Ending?
    }

    /// The end of one order.
    struct Ending {
        var order: [Preview.Pair]
        /// A hash of everything that every device shows.
        var stateHash: Bytes32
        /// A database that has everything.
        var database: DatabaseCopy
    }

    private struct Pair: Hashable {
        var left: Int
        var right: Int
    }

    /// The state of all devices between two syncs.
    private struct State {
        /// The devices whose initial changes each device has, as bits.
        var known: [Int]
        var databases: [DatabaseCopy]
        var order: [Pair] = []
        /// The summary of each database at the end of all orders; nil before the first look, and after a sync.
        var summaries: [StateSummary?]
    }

    private let devices: [PreviewedDevice]
    private let options: PreviewOptions
    private let progress: PreviewProgress
    private var result = Result()

    /// The number of devices above which orders are drawn.
    static let exhaustiveCountMax = 4
    /// The number of orders that are drawn where nobody says how many.
    static let usualOrderCount = 100

    /// Tries all orders, or as many as the options say.
    static func search(
        _ devices: [PreviewedDevice],
        _ summaries: [StateSummary],
        _ options: PreviewOptions,
        _ progress: PreviewProgress
    ) throws -> Result {
        let search = SyncOrders(devices: devices, options: options, progress: progress)
        let state = State(
            known: try search.initiallyKnown(summaries),
            databases: devices.map(\.database),
            summaries: summaries.map { _ in nil }
        )
        let usualCount = devices.count > Self.exhaustiveCountMax ? Self.usualOrderCount : nil
        let orderCount = options.orderCount.map { max(1, $0) } ?? usualCount
        let beginnings = orderCount == nil ? search.beginnings(of: state) : []
        let parts = try PreviewJobs.run(orderCount ?? beginnings.count) { job in
            var part = search
            if orderCount == nil {
                try part.follow(beginnings[job], from: state)
            } else {
                try part.drawOrder(job, from: state)
            }
            return part.result
        }
        var whole = Result()
        whole.orders.seed = orderCount.map { _ in options.seed }
        for part in parts { whole.add(part) }
        return whole
    }

    // MARK: - The syncs that are possible

    private func initiallyKnown(_ summaries: [StateSummary]) throws -> [Int] {
        try self.devices.map { device in
            try device.database.read(origin: device.origin) { transaction throws(StoreError) in
                var held = 0
                for other in summaries.indices where try transaction.holds(summaries[other].frontier) {
                    held |= 1 << other
                }
                return held
            }
        }
    }

    /// Returns the pairs of which one device has something that the other lacks.
    private func usefulPairs(_ known: [Int]) -> [Pair] {
        known.indices.flatMap { left in
            (left + 1..<known.count).filter { known[$0] != known[left] }.map { Pair(left: left, right: $0) }
        }
    }

    /// Returns the first syncs of all orders: one, or two where there are many orders.
    private func beginnings(of state: State) -> [[Pair]] {
        let first = self.usefulPairs(state.known)
        guard !first.isEmpty else { return [[]] }
        guard self.devices.count >= Self.exhaustiveCountMax else { return first.map { [$0] } }
        return first.flatMap { pair -> [[Pair]] in
            let second = self.usefulPairs(self.known(state.known, after: pair))
            return second.isEmpty ? [[pair]] : second.map { [pair, $0] }
        }
    }

    private func known(_ known: [Int], after pair: Pair) -> [Int] {
        var known = known
        let union = known[pair.left] | known[pair.right]
        known[pair.left] = union
        known[pair.right] = union
        return known
    }

    // MARK: - Following orders

    /// Follows all orders with a beginning.
    private mutating func follow(_ beginning: [Pair], from state: State) throws {
        var state = state
        for pair in beginning {
            guard let next = try self.state(state, after: pair) else { return }
            state = next
        }
        try self.followAll(from: state)
    }

    private mutating func followAll(from state: State) throws {
        let pairs = self.usefulPairs(state.known)
        if pairs.isEmpty { return try self.end(state) }
        for pair in pairs {
            if let next = try self.state(state, after: pair) { try self.followAll(from: next) }
        }
    }

    /// Draws one order and follows it.
    private mutating func drawOrder(_ number: Int, from start: State) throws {
        var entropy = EntropyStream(numbers: [self.options.seed, UInt64(number)])
        var state = start
        var pairs = self.usefulPairs(state.known)
        while !pairs.isEmpty {
            let pair = pairs.remove(at: Int(entropy.nextUInt64() % UInt64(pairs.count)))
            guard let next = try self.state(state, after: pair) else { continue }
            state = next
            pairs = self.usefulPairs(state.known)
        }
        try self.end(state)
    }

    /// Returns the state after a sync; nil if the two devices cannot sync.
    private mutating func state(_ state: State, after pair: Pair) throws -> State? {
        try self.progress.checkCancellation()
        let outcome = try PairSync.run(
            [self.devices[pair.left], self.devices[pair.right]],
            [state.databases[pair.left], state.databases[pair.right]],
            self.options,
            at: self.options.time(ofSync: state.order.count),
            seed: UInt64(pair.left * 64 + pair.right),
            self.progress
        )
        var next = state
        next.order.append(pair)
        switch outcome.ending {
        case .strangers: return nil
        case .unequal(let reason):
            let names = [pair.left, pair.right].map { self.devices[$0].name }
            self.deviate(next.order, "\(names[0]) and \(names[1]): \(reason)")
            return nil
        case .equal: break
        }
        self.result.orders.syncCount += 1
        next.known = self.known(state.known, after: pair)
        for (number, device) in [pair.left, pair.right].enumerated() {
            next.databases[device] = outcome.databases[number]
            next.summaries[device] = nil
        }
        return next
    }

    /// Looks at the end of an order.
    private mutating func end(_ state: State) throws {
        self.result.orders.count += 1
        let everyone = 1 << self.devices.count - 1
        guard state.known.allSatisfy({ $0 == everyone }) else {
            return self.deviate(state.order, "not every device can reach every other one")
        }
        var state = state
        try self.look(at: &state)
        // A restamp that a sync has brought about spreads, too, and so does content that some of them miss.
        for _ in 0..<2 where !self.areEqual(state) || self.mayComplete(state) {
            for right in 1..<self.devices.count {
                if let next = try self.state(state, after: Pair(left: 0, right: right)) { state = next }
            }
            try self.look(at: &state)
        }
        let hashes = state.summaries.compactMap { $0?.stateHash }
        guard hashes.allSatisfy({ $0 == hashes[0] }) else {
            return self.deviate(state.order, "devices that hold the same changes show different states")
        }
        guard self.areEqual(state) else {
            return self.deviate(state.order, "the devices do not come to hold the same changes")
        }
        self.result.compare(
            Ending(order: self.named(state.order), stateHash: hashes[0], database: state.databases[0])
        )
    }

    private func areEqual(_ state: State) -> Bool {
        state.summaries.allSatisfy { $0?.frontier == state.summaries[0]?.frontier }
    }

    /// Whether some devices miss content, and do not all show the same.
    private func mayComplete(_ state: State) -> Bool {
        guard state.summaries.contains(where: { $0?.missesContent == true }) else { return false }
        return Set(state.summaries.map { $0?.stateHash }).count > 1
    }

    /// Summarises the states of all devices, each at the same time.
    ///
    /// A node defers restamps and late moves that are much work, so that this settles them first.
    private func look(at state: inout State) throws {
        for (number, device) in self.devices.enumerated() where state.summaries[number] == nil {
            // Another order may begin with the same database.
            state.databases[number] = try state.databases[number].duplicate()
            state.summaries[number] = try device.settle(
                state.databases[number],
                at: self.options.endTime(deviceCount: self.devices.count)
            )
        }
    }

    private func named(_ order: [Pair]) -> [Preview.Pair] {
        order.map { Preview.Pair(first: self.devices[$0.left].id, second: self.devices[$0.right].id) }
    }

    private mutating func deviate(_ order: [Pair], _ detail: String) {
        self.result.orders.deviations.append(Preview.Orders.Deviation(order: self.named(order), detail: detail))
    }
}

extension SyncOrders.Result {
    /// Takes in another order, which must end as the first one did.
    fileprivate mutating func compare(_ ending: SyncOrders.Ending) {
        guard let first = self.first else {
            self.first = ending
            return
        }
        guard first.stateHash != ending.stateHash else { return }
        self.orders.deviations.append(
            Preview.Orders.Deviation(order: ending.order, detail: "the devices end in another state than before")
        )
    }

    /// Takes in the result of another part of the search.
    fileprivate mutating func add(_ part: SyncOrders.Result) {
        self.orders.count += part.orders.count
        self.orders.syncCount += part.orders.syncCount
        self.orders.deviations += part.orders.deviations
        if let ending = part.first { self.compare(ending) }
    }
}
