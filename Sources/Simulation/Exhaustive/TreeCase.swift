internal import CRDTCore
internal import MergeModel

/// One history of moves and the batches in which it arrives.
///
/// Written `11.3.4.5:0+1,2,3`: each author's move by its number, and the authors in the order in which their moves
/// arrive; a `+` joins those that arrive together.
package struct TreeCase: Hashable {
    package var moves: [Int]
    var batches: [[Int]]

    /// Every order of four authors.
    static let orders: [[Int]] = {
        var orders: [[Int]] = [[]]
        for _ in 0..<TreeWorld.authorCount {
            orders = orders.flatMap { order in
                (0..<TreeWorld.authorCount).filter { !order.contains($0) }.map { order + [$0] }
            }
        }
        return orders
    }()

    init(moves: [Int], batches: [[Int]]) {
        self.moves = moves
        self.batches = batches
    }

    init(moves: [Int], orderNumber: Int) {
        self.init(moves: moves, batches: TreeCase.orders[orderNumber].map { [$0] })
    }

    init(named name: String) throws(UnknownCase) {
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw UnknownCase(name: name) }
        let moves = parts[0].split(separator: ".").compactMap { Int($0) }
        let batches = parts[1].split(separator: ",").map { $0.split(separator: "+").compactMap { Int($0) } }
        let authors = batches.joined().sorted()
        guard moves.count == TreeWorld.authorCount, moves.allSatisfy({ TreeWorld.Move.all.indices.contains($0) }),
            authors.allSatisfy({ moves.indices.contains($0) }), Set(authors).count == authors.count
        else { throw UnknownCase(name: name) }
        self.init(moves: moves, batches: batches)
    }

    package var name: String {
        let batches = self.batches.map { $0.map(String.init).joined(separator: "+") }
        return self.moves.map(String.init).joined(separator: ".") + ":" + batches.joined(separator: ",")
    }

    /// Delivers it, and compares the whole state with the model's in the end.
    func check(in world: TreeWorld, expected: PlainState, _ result: inout Exploration) throws(StoreError) {
        var store = world.store
        for batch in self.batches {
            try store.receive(batch.map { world.runs[$0][self.moves[$0]] }, by: TreeWorld.merge)
        }
        let state = try store.plainState(TreeWorld.objects)
        if state != expected { result.find(.modelDisagrees, in: self.name, state.differences(from: expected)) }
    }

    /// Delivers it alone, and compares after every batch.
    package static func replay(_ name: String) throws -> Exploration {
        let test = try TreeCase(named: name)
        var result = Exploration(.trees)
        result.caseCount = 1
        CasesUnderWay.all.start(job: 0).begin(test.moves, test.batches)
        defer { CasesUnderWay.all.end(job: 0) }
        let world = try TreeWorld()
        for count in test.batches.indices where result.findingCount == 0 {
            let part = TreeCase(moves: test.moves, batches: Array(test.batches[...count]))
            let expected = world.model(test.moves, arrived: Set(part.batches.joined()))
            try part.check(in: world, expected: expected, &result)
        }
        return result
    }
}
