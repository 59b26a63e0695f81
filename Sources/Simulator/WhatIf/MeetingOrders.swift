internal import CRDTCore
internal import Engine
internal import MergeTestSupport

/// Every sequence of meetings, two devices at a time, until all hold the same; or some such sequences, drawn from a
/// seed.
///
/// A meeting is only held where it brings something. Sequences that begin alike share their beginning. Nothing else is
/// shared: that devices which know the same are the same is what is to be shown.
struct MeetingOrders {
    /// What the orders came to.
    struct Result {
        var orderCount = 0
        var meetingCount = 0
        /// The seed from which the orders were drawn; nil if these are all there are.
        var seed: UInt64?
        /// The first order, which all others are compared with.
        var first: Ending?
        /// Orders that end in another way, and what is wrong with them.
        var deviations: [(order: String, what: String)] = []
        /// What users would be told at one of the meetings.
        var notices: Set<Notice> = []

        var areAllEqual: Bool { self.deviations.isEmpty }
    }

    /// How one order ended.
    struct Ending {
        var order: String
        /// What every device shows in the end.
        var stateHash: Bytes32
        /// A disk that has everything, and whose it is.
        var image: DiskImage
        var owner: Int
    }

    struct Pair: Hashable {
        var left: Int
        var right: Int
    }

    /// What every device has at some point.
    private struct State {
        /// The devices whose initial state is known to each, as bits.
        var known: [Int]
        var images: [DiskImage]
        var meetings: [Pair] = []
        /// What each shows; nil where it was not looked at since it last met anyone.
        var surveys: [DeviceSurvey?]
    }

    private let copies: [DeviceCopy]
    private let link: Link
    private let start: WallTime
    private let everyone: Int
    private var result = Result()

    /// Above so many devices, orders are drawn.
    static let exhaustiveCountMax = 4
    /// How far apart meetings are.
    private static let interval: UInt64 = 60_000

    private init(_ copies: [DeviceCopy], _ link: Link, _ start: WallTime) {
        self.copies = copies
        self.link = link
        self.start = start
        self.everyone = 1 << copies.count - 1
    }

    /// Tries all orders, or `count` of them drawn from a seed.
    ///
    /// `advance` is called with the number of meetings held since it was last called.
    static func run(
        _ copies: [DeviceCopy],
        _ images: [DiskImage],
        _ surveys: [DeviceSurvey],
        link: Link,
        at start: WallTime,
        sampled: (count: Int, seed: UInt64)?,
        _ advance: @escaping @Sendable (Int) -> Void
    ) throws(StoreError) -> Result {
        let orders = MeetingOrders(copies, link, start)
        var known: [Int] = []
        for number in copies.indices {
            let copy = try OpenCopy(images[number], origin: copies[number].origin)
            known.append(
                try copy.read { transaction throws(StoreError) in
                    var held = 0
                    for other in surveys.indices where try transaction.holds(surveys[other].frontier) {
                        held |= 1 << other
                    }
                    return held
                }
            )
        }
        let state = State(known: known, images: images, surveys: surveys)
        let beginnings = sampled == nil ? orders.beginnings(of: state) : []
        let jobCount = sampled?.count ?? beginnings.count
        let parts = Workers.map(jobCount) { job -> Swift.Result<Result, StoreError> in
            do throws(StoreError) {
                var part = orders
                if let sampled {
                    try part.follow(state, drawingFrom: SplitMix64(seed: SplitMix64.mixed(sampled.seed &+ UInt64(job))))
                } else {
                    try part.follow(beginnings[job], from: state)
                }
                advance(part.result.meetingCount)
                return .success(part.result)
            } catch {
                return .failure(error)
            }
        }
        var whole = Result(seed: sampled?.seed)
        for part in parts { whole.add(try part.get()) }
        return whole
    }

    // MARK: - Which meetings there are

    /// Pairs of which one has something that the other lacks.
    private func usefulPairs(_ known: [Int]) -> [Pair] {
        known.indices.flatMap { left in
            (left + 1..<known.count).filter { known[$0] != known[left] }.map { Pair(left: left, right: $0) }
        }
    }

    /// The first meetings of all orders: one, or two where there are many orders.
    private func beginnings(of state: State) -> [[Pair]] {
        let first = self.usefulPairs(state.known)
        guard !first.isEmpty else { return [[]] }
        guard self.copies.count >= MeetingOrders.exhaustiveCountMax else { return first.map { [$0] } }
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

    // MARK: - Holding them

    /// Follows all orders with a beginning.
    private mutating func follow(_ beginning: [Pair], from state: State) throws(StoreError) {
        var state = state
        for pair in beginning {
            guard let next = try self.state(state, after: pair) else { return }
            state = next
        }
        try self.followAll(from: state)
    }

    private mutating func followAll(from state: State) throws(StoreError) {
        let pairs = self.usefulPairs(state.known)
        if pairs.isEmpty { return try self.end(state) }
        for pair in pairs {
            if let next = try self.state(state, after: pair) { try self.followAll(from: next) }
        }
    }

    /// Follows one order.
    private mutating func follow(_ start: State, drawingFrom random: SplitMix64) throws(StoreError) {
        var random = random
        var state = start
        var pairs = self.usefulPairs(state.known)
        while !pairs.isEmpty {
            let pair = pairs.remove(at: Int(random.next() % UInt64(pairs.count)))
            guard let next = try self.state(state, after: pair) else { continue }
            state = next
            pairs = self.usefulPairs(state.known)
        }
        try self.end(state)
    }

    /// What all have after a meeting; nil if it cannot take place because the two are still strangers.
    private mutating func state(_ state: State, after pair: Pair) throws(StoreError) -> State? {
        let outcome = try Meeting.hold(
            [self.copies[pair.left], self.copies[pair.right]],
            [state.images[pair.left], state.images[pair.right]],
            link: self.link,
            at: self.start.advanced(byMilliseconds: UInt64(state.meetings.count) * MeetingOrders.interval),
            seed: UInt64(pair.left * 64 + pair.right)
        )
        var next = state
        next.meetings.append(pair)
        switch outcome.ending {
        case .strangers: return nil
        case .stuck(let reason):
            self.deviate(next.meetings, "\(self.text(pair)): \(reason)")
            return nil
        case .equal: break
        }
        self.result.meetingCount += 1
        self.result.notices.formUnion(outcome.notices.filter(Meeting.isWorthTelling))
        next.known = self.known(state.known, after: pair)
        next.images[pair.left] = outcome.images[0]
        next.images[pair.right] = outcome.images[1]
        next.surveys[pair.left] = nil
        next.surveys[pair.right] = nil
        return next
    }

    /// Looks at what an order has come to.
    private mutating func end(_ state: State) throws(StoreError) {
        self.result.orderCount += 1
        guard state.known.allSatisfy({ $0 == self.everyone }) else {
            return self.deviate(state.meetings, "not everyone can meet everyone")
        }
        var state = state
        try self.look(at: &state)
        // A restamp that was written at a meeting has to get about too.
        for _ in 0..<2 where !self.areEqual(state) {
            for right in 1..<self.copies.count {
                if let next = try self.state(state, after: Pair(left: 0, right: right)) { state = next }
            }
            try self.look(at: &state)
        }
        let hashes = state.surveys.compactMap { $0?.stateHash }
        guard hashes.allSatisfy({ $0 == hashes[0] }) else {
            return self.deviate(state.meetings, "devices that hold the same show different states")
        }
        guard self.areEqual(state) else { return self.deviate(state.meetings, "they do not come to hold the same") }
        let order = self.text(state.meetings)
        self.result.compare(Ending(order: order, stateHash: hashes[0], image: state.images[0], owner: 0))
    }

    private func areEqual(_ state: State) -> Bool {
        state.surveys.allSatisfy { $0?.frontier == state.surveys[0]?.frontier }
    }

    private func look(at state: inout State) throws(StoreError) {
        for number in self.copies.indices where state.surveys[number] == nil {
            let copy = try OpenCopy(state.images[number], origin: self.copies[number].origin)
            state.surveys[number] = try copy.read { transaction throws(StoreError) in
                try DeviceSurvey(of: &transaction)
            }
        }
    }

    private mutating func deviate(_ order: [Pair], _ what: String) {
        self.result.deviate(self.text(order), what)
    }

    private func text(_ pair: Pair) -> String {
        "\(PlainLine.printable(self.copies[pair.left].name))–\(PlainLine.printable(self.copies[pair.right].name))"
    }

    private func text(_ order: [Pair]) -> String { order.map { self.text($0) }.joined(separator: ", ") }
}

extension MeetingOrders.Result {
    fileprivate mutating func deviate(_ order: String, _ what: String) {
        self.deviations.append((order, what))
    }

    /// Takes in another order, which must end as the first did.
    fileprivate mutating func compare(_ ending: MeetingOrders.Ending) {
        guard let first = self.first else {
            self.first = ending
            return
        }
        if first.stateHash != ending.stateHash {
            self.deviate(ending.order, "ends with another state than \(first.order)")
        }
    }

    /// Takes in what another part of the orders came to.
    fileprivate mutating func add(_ part: MeetingOrders.Result) {
        self.orderCount += part.orderCount
        self.meetingCount += part.meetingCount
        self.deviations += part.deviations
        self.notices.formUnion(part.notices)
        if let ending = part.first { self.compare(ending) }
    }
}

extension Meeting {
    /// Whether a user would want to know of it beforehand.
    static func isWorthTelling(_ notice: Notice) -> Bool {
        switch notice {
        case .newReplica, .forked, .protocolViolation, .storeFailed, .clockDiffers, .clockSetBack: true
        case .connected, .disconnected, .paired, .memberMet, .addressFailed, .tooManySessions, .pairingLapsed, .held:
            false
        }
    }
}
