import CRDTCore
import MergeTestSupport
import Testing

/// Every history of four concurrent moves over three nodes, in every order of arrival: 12^4 x 24 = 497,664 cases.
///
/// A debug build takes a part of the histories; `PEERD_EXHAUSTIVE=1` (best with `-c release`) takes all of them.
@Suite struct HierarchyWorldTests {
    /// One of the twelve moves: a node, and its new parent (3 stands for the root; also itself).
    private struct Move {
        var node: Int
        var parent: Int

        static let all = (0..<3).flatMap { node in (0..<4).map { Move(node: node, parent: $0) } }
    }

    /// Where each node ends, by the words of the rule: in order, and none under itself.
    private static func parents(after moves: [Move]) -> [Int] {
        var parents = [3, 3, 3]
        for move in moves {
            var ancestor = move.parent
            while ancestor != 3, ancestor != move.node { ancestor = parents[ancestor] }
            if ancestor == 3 { parents[move.node] = move.parent }
        }
        return parents
    }

    /// A store in which four replicas have been introduced and three nodes made, and the runs of all moves.
    private struct World: Sendable {
        let objects = (0..<3).map { ObjectID(bytes: Bytes16(high: 9, low: UInt64($0))) }
        private(set) var store = MemoryStore(origin: ChainHash.origin(TestDevice.workspace))
        /// By author and then by move.
        private(set) var runs: [[VerifiedRun]] = []
        let now = WallTime(milliseconds: 1_000)

        init() throws {
            for author in 0..<4 {
                let device = TestDevice(number: UInt64(author))
                let nonce = Bytes16(high: 1, low: UInt64(author))
                var edits: [Edit] = [.introduce(device.introduction(nonce: nonce))]
                if author == 0 { edits += self.objects.map { .create($0, type: "node", kind: "") } }
                var start = GeneratedHistory()
                let replica = device.replica(nonce: nonce)
                start.devices[replica] = device
                start.append(
                    NaiveChange(
                        dot: Dot(replica: replica, sequence: 1),
                        stamp: Stamp(rawValue: 1),
                        contextDifference: [],
                        edits: edits
                    )
                )
                try World.receive([start.sealed(replica, 0..<1)], into: &self.store, now: self.now)
                let prepared = start
                self.runs.append(
                    Move.all.map { move in
                        var history = prepared
                        let parent = move.parent == 3 ? nil : self.objects[move.parent]
                        history.append(
                            NaiveChange(
                                dot: Dot(replica: replica, sequence: 2),
                                stamp: Stamp(rawValue: 10 + UInt64(author)),
                                contextDifference: [],
                                edits: [.move(self.objects[move.node], Place(parent: parent, position: .initial))]
                            )
                        )
                        return history.sealed(replica, 1..<2)
                    }
                )
            }
        }

        /// Takes runs in by one transaction.
        static func receive(_ runs: [VerifiedRun], into store: inout MemoryStore, now: WallTime) throws {
            try store.write { transaction throws(StoreError) in
                var merge = Merge(now: now)
                for run in runs { _ = try merge.receive(run, in: &transaction) }
                try merge.finish(in: &transaction)
            }
        }

        func parents(in store: inout MemoryStore) throws -> [Int] {
            let objects = self.objects
            return try store.read { transaction throws(StoreError) in
                var parents: [Int] = []
                for object in objects {
                    let index = transaction.objectIndex(of: object)
                    let parent = transaction.object(index).parent
                    let id = parent.map { transaction.object($0).id }
                    parents.append(id.flatMap { objects.firstIndex(of: $0) } ?? 3)
                }
                return parents
            }
        }
    }

    /// Lets the rest of the moves arrive in every order, and checks after each arrival.
    ///
    /// Returns the number of orders.
    private func deliver(
        _ moves: [Int],
        arrived: [Int],
        into store: MemoryStore,
        of world: World
    ) throws -> Int {
        guard arrived.count < moves.count else { return 1 }
        var orders = 0
        for author in moves.indices where !arrived.contains(author) {
            let next = try self.store(store, afterArrivalOf: [author], of: moves, arrived: arrived, in: world)
            orders += try self.deliver(moves, arrived: arrived + [author], into: next, of: world)
        }
        return orders
    }

    /// The store after some moves have come in by one transaction; records an issue if it is not as the rule says.
    private func store(
        _ store: MemoryStore,
        afterArrivalOf authors: [Int],
        of moves: [Int],
        arrived: [Int],
        in world: World
    ) throws -> MemoryStore {
        var next = store
        try World.receive(authors.map { world.runs[$0][moves[$0]] }, into: &next, now: world.now)
        let present = (arrived + authors).sorted()
        let expected = Self.parents(after: present.map { Move.all[moves[$0]] })
        let parents = try world.parents(in: &next)
        if parents != expected {
            Issue.record("moves \(moves), \(authors) after \(arrived): got \(parents), expected \(expected)")
        }
        return next
    }

    /// Delivers the moves in two batches in every way there is, and in one.
    private func deliverInBatches(_ moves: [Int], of world: World) throws {
        for split in 1..<16 {
            let first = [3, 1, 0, 2].filter { split & 1 << $0 != 0 }
            let rest = [2, 3, 0, 1].filter { !first.contains($0) }
            let half = try self.store(world.store, afterArrivalOf: first, of: moves, arrived: [], in: world)
            guard !rest.isEmpty else { continue }
            _ = try self.store(half, afterArrivalOf: rest, of: moves, arrived: first, in: world)
        }
    }

    @Test(arguments: 0..<4)
    func `four concurrent moves end in one tree in every order of arrival`(quarter: Int) throws {
        let world = try World()
        let total = 12 * 12 * 12 * 12
        let stride = Seeds.isExhaustive ? 4 : 4 * 11
        var cases = 0
        for number in Swift.stride(from: quarter, to: total, by: stride) {
            let moves = [number % 12, number / 12 % 12, number / 144 % 12, number / 1728]
            cases += try self.deliver(moves, arrived: [], into: world.store, of: world)
            try self.deliverInBatches(moves, of: world)
        }
        if Seeds.isExhaustive { #expect(cases == total / 4 * 24) }
    }
}
