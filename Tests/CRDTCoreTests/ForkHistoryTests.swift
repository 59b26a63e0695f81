import CRDTCore
import MergeModel
import Testing

/// Small histories around a chain that forks, in every order of delivery, against the naive model.
struct ForkHistoryTests {
    /// A part of them is tried, unless somebody asks for all: of no common measure with any of the choices.
    private static let step = Seeds.isExhaustive ? 1 : 389

    @Test func `every small history with forks comes to one state in every order`() throws {
        var orderCount = 0
        for number in stride(from: 0, to: ForkHistory.count, by: Self.step) {
            let history = ForkHistory(number: number)
            var first: ForkHistory.Finding?
            orderCount += try history.check { first = first ?? $0 }
            if let first {
                Issue.record("\(number):\(first.order)\n\(history.lines.joined(separator: "\n"))\n\(first.message)")
                return
            }
        }
        #expect(orderCount > 1_000)
    }

    @Test func `a history is compared at every step when it is replayed`() throws {
        let history = ForkHistory(number: 1)
        #expect(try history.replay("0123<4>") == nil)
        #expect(try history.replay("01<2>") == [])
    }
}
