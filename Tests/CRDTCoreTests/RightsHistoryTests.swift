import CRDTCore
import MergeModel
import Testing

/// All that an owner, a manager and a writer can do apart, in every order of arrival.
struct RightsHistoryTests {
    /// A part of them is tried, unless somebody asks for all: of no common measure with any of the choices.
    private static let step = Seeds.isExhaustive ? 1 : 23

    @Test func `whatever is said of rights, and in whatever order it comes, the same edits count`() throws {
        var (orderCount, findings): (Int, [String]) = (0, [])
        for number in stride(from: 0, to: RightsHistory.count, by: Self.step) {
            let history = RightsHistory(number: number)
            orderCount += try history.check { order, message in
                if findings.count < 3 {
                    let lines = history.lines.joined(separator: "\n")
                    findings.append("history \(number), order \(order):\n\(message)\n\(lines)")
                }
            }
        }
        #expect(findings.isEmpty, "\(findings.joined(separator: "\n\n"))")
        #expect(orderCount > 1_000)
    }
}
