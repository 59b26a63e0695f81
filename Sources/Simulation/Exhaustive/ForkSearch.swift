internal import CRDTCore
internal import MergeModel

/// Every small history around a chain that forks, delivered in every order, also across a clock that is set back,
/// through the production merge, against the naive model.
package enum ForkSearch {
    /// Histories in one job.
    private static let jobSize = 60

    /// Tries every history, or each `stride`-th.
    package static func run(stride: Int = 1, _ advance: @escaping @Sendable (Int) -> Void) -> Exploration {
        let jobs = (ForkHistory.count + self.jobSize - 1) / self.jobSize
        let parts = Workers.map(jobs) { job -> Exploration in
            var part = Exploration(.forks)
            for number in job * self.jobSize..<min((job + 1) * self.jobSize, ForkHistory.count)
            where number % stride == 0 {
                self.check(number, &part)
            }
            advance(part.caseCount)
            return part
        }
        var result = Exploration(.forks)
        for part in parts { result.add(part) }
        result.details = ["\((ForkHistory.count + stride - 1) / stride) histories, in every order of arrival"]
        return result
    }

    private static func check(_ number: Int, _ result: inout Exploration) {
        do throws(StoreError) {
            result.caseCount += try ForkHistory(number: number).check { finding in
                result.find(.modelDisagrees, in: "\(number):\(finding.order)", finding.message)
            }
        } catch {
            result.find(.damage, in: "\(number):", "the store failed: \(error)")
        }
    }

    /// Delivers one history in one order, and compares after every step.
    ///
    /// Written `2063:014<3>`: the number of the history, and which change arrives next; `<` sets the clock back and
    /// `>` puts it right.
    package static func replay(_ name: String) throws -> Exploration {
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int(parts[0]), (0..<ForkHistory.count).contains(number) else {
            throw UnknownCase(name: name)
        }
        let history = ForkHistory(number: number)
        guard let findings = try history.replay(parts[1]) else { throw UnknownCase(name: name) }
        var result = Exploration(.forks)
        result.caseCount = 1
        result.details = history.lines
        for finding in findings {
            result.find(.modelDisagrees, in: name, "after \(finding.order):\n\(finding.message)")
        }
        return result
    }
}
