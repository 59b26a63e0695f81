internal import CRDTCore
internal import MergeModel

/// Three nodes and four authors, each of whom makes one of twelve moves without having heard of the others'.
///
/// All that can be made beforehand is: a store in which the authors have been introduced and the nodes made, and the
/// runs of all moves, sealed once.
struct TreeWorld {
    /// One of the twelve moves: a node, and its new parent (3 stands for the root; also itself).
    struct Move: Hashable {
        var node: Int
        var parent: Int

        static let all = (0..<3).flatMap { node in (0..<4).map { Move(node: node, parent: $0) } }
    }

    static let authorCount = 4
    /// 12^4: what each author does.
    static let historyCount = 12 * 12 * 12 * 12
    static let objects = (0..<3).map { ObjectID(bytes: Bytes16(high: 9, low: UInt64($0))) }
    static let now = WallTime(milliseconds: 1_000)
    static var merge: Merge { Merge.ofTestNode(0, at: TreeWorld.now) }

    /// What everyone has before anything is moved.
    let store: MemoryStore
    /// By author and then by move.
    let runs: [[VerifiedRun]]
    /// The same without what makes it fit to be stored, for the naive model.
    private let chains: [[[NaiveChange]]]

    init() throws(StoreError) {
        var store = MemoryStore.ofTestWorkspace
        var runs: [[VerifiedRun]] = []
        var chains: [[[NaiveChange]]] = []
        for author in 0..<TreeWorld.authorCount {
            let start = TreeWorld.start(of: author)
            let first = start.changes[0]
            try store.receive([start.sealed([first])], by: TreeWorld.merge)
            let histories = Move.all.map { move in
                var history = start
                history.append(
                    first.replica,
                    after: first.hash,
                    stamp: Stamp(rawValue: 10 + UInt64(author)),
                    [TreeWorld.edit(move, by: author)]
                )
                return history
            }
            runs.append(histories.map { $0.sealed($0.changes[1...]) })
            chains.append(histories.map(\.changes))
        }
        self.store = store
        self.runs = runs
        self.chains = chains
    }

    /// An author's chain before the move; the first author's makes the nodes.
    private static func start(of author: Int) -> GeneratedHistory {
        let device = TestDevice(number: UInt64(author))
        let nonce = Bytes16(high: 1, low: UInt64(author))
        var edits: [Edit] = [.introduce(device.introduction(nonce: nonce))]
        if author == 0 { edits += TreeWorld.objects.map { .create($0, type: "node", kind: "") } }
        var history = GeneratedHistory()
        let replica = device.replica(nonce: nonce)
        history.devices[replica] = device
        history.append(replica, stamp: Stamp(rawValue: 1), edits)
        return history
    }

    private static func edit(_ move: Move, by author: Int) -> Edit {
        let parent = move.parent == 3 ? nil : TreeWorld.objects[move.parent]
        return .move(TreeWorld.objects[move.node], Place(parent: parent, position: TreeWorld.position(author)))
    }

    /// Each author's moves have a position of their own: the later the author, the further to the front.
    static func position(_ author: Int) -> Position { Position(bytes: [UInt8(ascii: "d") - UInt8(author)]) }

    /// The moves of a history by author.
    static func moves(ofHistory number: Int) -> [Int] {
        [number % 12, number / 12 % 12, number / 144 % 12, number / 1728]
    }

    /// What the naive model makes of the moves that have arrived.
    func model(_ moves: [Int], arrived: Set<Int>) -> PlainState {
        var changes: [NaiveChange] = []
        for (author, move) in moves.enumerated() {
            changes += self.chains[author][move].prefix(arrived.contains(author) ? 2 : 1)
        }
        return NaiveModel(NaiveHistory(changes, founder: TestDevice.user, now: TreeWorld.now)).state()
    }
}
