internal import CRDTCore
internal import MergeModel

/// Every history of four concurrent moves over three nodes, in every order of arrival (12^4 x 24 = 497,664 cases) and
/// in every pair of batches, through the production merge, against the naive model after each arrival.
///
/// Orders that begin alike share their beginning: a store is a value, and what arrives next goes into a copy of it.
package struct TreeSearch {
    private let underWay: CaseUnderWay
    private let world: TreeWorld
    private let nodes: [ObjectIndex]
    private let expected: TreeExpectations
    private var result = Exploration(.trees)
    /// What has arrived, in batches.
    private var arrivals: [[Int]] = []
    /// Each author's move; 0 where it has not arrived.
    private var moves = [0, 0, 0, 0]

    /// The orders in which the authors' moves stand in a first batch and in what comes after it.
    private static let batchOrders = (first: [3, 1, 0, 2], rest: [2, 3, 0, 1])
    private static let everyone = 15

    /// The whole search, or the part of it in which the fourth author makes only some of the moves.
    ///
    /// `advance` is called with the number of cases done since it was last called.
    package static func run(lastMoves: [Int] = Array(0..<12), _ advance: @escaping @Sendable (Int) -> Void)
        -> Exploration
    {
        var result = Exploration(.trees)
        let (expected, agreement) = TreeExpectations.made(lastMoves: lastMoves)
        result.add(agreement)
        let jobs = TreeJob.all
        let parts = Workers.map(jobs.count) { number -> Exploration in
            // Each with a world of its own: counting the references to a shared one would cost more than it saves.
            do throws(StoreError) {
                var search = try TreeSearch(job: number, expected: expected, world: TreeWorld())
                defer { CasesUnderWay.all.end(job: number) }
                try search.perform(jobs[number], lastMoves: lastMoves)
                advance(search.result.caseCount)
                return search.result
            } catch {
                var failed = Exploration(.trees)
                failed.find(.damage, in: "\(jobs[number])", "the store failed: \(error)")
                return failed
            }
        }
        for part in parts { result.add(part) }
        result.details = [
            "\(TreeWorld.historyCount / 12 * lastMoves.count) histories, each also in 15 ways of batching; "
                + "all compared with the naive model after every arrival"
        ]
        return result
    }

    private init(job: Int, expected: TreeExpectations, world: TreeWorld) throws(StoreError) {
        self.underWay = CasesUnderWay.all.start(job: job)
        self.world = world
        self.expected = expected
        var store = world.store
        self.nodes = try store.read { transaction throws(StoreError) in
            TreeWorld.objects.map { transaction.objectIndex(of: $0) }
        }
    }

    // MARK: - One part

    private mutating func perform(_ job: TreeJob, lastMoves: [Int]) throws(StoreError) {
        switch job {
        case .orders(let author, let move):
            guard author != 3 || lastMoves.contains(move) else { return }
            try self.deliver([author], move, to: self.world.store, arrived: 1 << author, lastMoves)
        case .batches(let mask, let move):
            let first = TreeSearch.batchOrders.first.filter { mask & 1 << $0 != 0 }
            try self.choose(first[...], fixed: move, lastMoves) { search throws(StoreError) in
                try search.deliverTwoBatches(first, mask, lastMoves)
            }
        }
    }

    /// Lets the moves that are not there arrive one by one, in every order and every choice of them.
    private mutating func deliverRest(
        from store: MemoryStore,
        arrived: Int,
        _ lastMoves: [Int]
    ) throws(StoreError) {
        if arrived == TreeSearch.everyone {
            self.result.caseCount += 1
            return
        }
        for author in 0..<TreeWorld.authorCount where arrived & 1 << author == 0 {
            let after = arrived | 1 << author
            for move in 0..<12 where author != 3 || lastMoves.contains(move) {
                try self.deliver([author], move, to: store, arrived: after, lastMoves)
            }
        }
    }

    private mutating func deliver(
        _ author: [Int],
        _ move: Int,
        to store: MemoryStore,
        arrived: Int,
        _ lastMoves: [Int]
    ) throws(StoreError) {
        self.moves[author[0]] = move
        self.arrivals.append(author)
        if let next = try self.store(store, arrived: arrived) {
            try self.deliverRest(from: next, arrived: arrived, lastMoves)
        }
        self.arrivals.removeLast()
        self.moves[author[0]] = 0
    }

    private mutating func deliverTwoBatches(_ first: [Int], _ mask: Int, _ lastMoves: [Int]) throws(StoreError) {
        self.arrivals = [first]
        let rest = TreeSearch.batchOrders.rest.filter { mask & 1 << $0 == 0 }
        guard let half = try self.store(self.world.store, arrived: mask), !rest.isEmpty else { return }
        self.arrivals.append(rest)
        try self.choose(rest[...], fixed: nil, lastMoves) { search throws(StoreError) in
            _ = try search.store(half, arrived: TreeSearch.everyone)
        }
    }

    /// Calls `body` with every choice of moves of some authors; `fixed`: the move of the first of them.
    private mutating func choose(
        _ authors: ArraySlice<Int>,
        fixed: Int?,
        _ lastMoves: [Int],
        _ body: (inout TreeSearch) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard let author = authors.first else { return try body(&self) }
        for move in fixed.map({ $0..<$0 + 1 }) ?? 0..<12 where author != 3 || lastMoves.contains(move) {
            self.moves[author] = move
            try self.choose(authors.dropFirst(), fixed: nil, lastMoves, body)
        }
        self.moves[author] = 0
    }

    // MARK: - One arrival

    /// A copy of a store after the last batch has come into it by one transaction.
    ///
    /// Nil if it is not as it should be: into a tree with a cycle nothing more may be delivered, as that might not end.
    private mutating func store(_ store: MemoryStore, arrived: Int) throws(StoreError) -> MemoryStore? {
        self.underWay.begin(self.moves, self.arrivals)
        var next = store
        let authors = self.arrivals[self.arrivals.count - 1]
        let standing = try next.write { transaction throws(StoreError) in
            var merge = TreeWorld.merge
            for author in authors {
                _ = try merge.receive(self.world.runs[author][self.moves[author]], in: &transaction)
            }
            try merge.finish(in: &transaction)
            return TreeStanding(of: &transaction, nodes: self.nodes)
        }
        if standing != self.expected.standing(of: self.moves, arrived: arrived) {
            try self.report(next)
            return nil
        }
        return next
    }

    private mutating func report(_ store: MemoryStore) throws(StoreError) {
        let test = TreeCase(moves: self.moves, batches: self.arrivals)
        guard self.result.wantsMore else { return self.result.find(.modelDisagrees, in: test.name, "") }
        var store = store
        let expected = self.world.model(self.moves, arrived: Set(self.arrivals.joined()))
        let difference = try store.plainState(TreeWorld.objects).differences(from: expected)
        self.result.find(.modelDisagrees, in: test.name, difference)
    }
}

/// A part of the search that one thread does.
enum TreeJob: Hashable {
    /// All orders that begin with a move of an author.
    case orders(author: Int, move: Int)
    /// All pairs of batches of which the first has these authors' moves, and of its first author this one.
    case batches(mask: Int, move: Int)

    static let all =
        (0..<TreeWorld.authorCount).flatMap { author in (0..<12).map { TreeJob.orders(author: author, move: $0) } }
        + (1..<16).flatMap { mask in (0..<12).map { TreeJob.batches(mask: mask, move: $0) } }
}
