internal import CRDTCore
internal import MergeModel

/// What the naive model makes of every set of moves that may have arrived: computed once, since it knows no order.
struct TreeExpectations: Sendable {
    /// By which authors' moves have arrived, and then by the number of the history; those that have not arrived are 0.
    private let standings: [UInt64]

    private static let maskCount = 16
    private static let weights = [1, 12, 144, 1_728]

    /// Computes all that some moves of the last author need, and delivers each whole history once in one of its
    /// orders, to compare not only the nodes but all there is in a state.
    static func made(lastMoves: [Int]) -> (TreeExpectations, Exploration) {
        let parts = Workers.map(lastMoves.count) { job in
            TreeExpectations.part(lastMove: lastMoves[job], hasOthers: job == 0)
        }
        var standings = [UInt64](repeating: .max, count: TreeExpectations.maskCount * TreeWorld.historyCount)
        var result = Exploration(.trees)
        for part in parts {
            for entry in part.standings { standings[entry.place] = entry.bits }
            result.add(part.result)
        }
        return (TreeExpectations(standings: standings), result)
    }

    func standing(of moves: [Int], arrived mask: Int) -> TreeStanding {
        TreeStanding(bits: self.standings[TreeExpectations.place(moves, mask)])
    }

    private static func place(_ moves: [Int], _ mask: Int) -> Int {
        var place = mask * TreeWorld.historyCount
        for author in 0..<TreeWorld.authorCount { place += moves[author] * self.weights[author] }
        return place
    }

    private struct Part: Sendable {
        var standings: [(place: Int, bits: UInt64)] = []
        var result = Exploration(.trees)
    }

    /// The sets in which the last author makes one move and, once for all, those in which he makes none.
    private static func part(lastMove: Int, hasOthers: Bool) -> Part {
        var part = Part()
        let underWay = CasesUnderWay.all.start(job: lastMove)
        defer { CasesUnderWay.all.end(job: lastMove) }
        do throws(StoreError) {
            let world = try TreeWorld()
            for mask in 1..<TreeExpectations.maskCount where mask & 8 != 0 || hasOthers {
                for number in 0..<1_728 {
                    var moves = TreeWorld.moves(ofHistory: number)
                    moves[3] = mask & 8 != 0 ? lastMove : 0
                    let isCanonical = moves.indices.allSatisfy { moves[$0] == 0 || mask & 1 << $0 != 0 }
                    guard isCanonical else { continue }
                    let arrived = Set(moves.indices.filter { mask & 1 << $0 != 0 })
                    let state = world.model(moves, arrived: arrived)
                    part.standings.append((self.place(moves, mask), TreeStanding(of: state).bits))
                    if mask == TreeExpectations.maskCount - 1 {
                        let test = TreeCase(moves: moves, orderNumber: number % TreeCase.orders.count)
                        underWay.begin(test.moves, test.batches)
                        try test.check(in: world, expected: state, &part.result)
                    }
                }
            }
        } catch {
            part.result.find(.damage, in: "\(lastMove)", "the store failed: \(error)")
        }
        return part
    }
}
