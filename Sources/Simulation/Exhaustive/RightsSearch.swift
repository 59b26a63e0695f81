internal import CRDTCore
internal import MergeModel
internal import Persistence

/// Every small circle of three users, delivered in every order to stores in memory and on disk: what counts in it, by
/// the production merge, against the naive model.
package enum RightsSearch {
    /// Circles in one job.
    private static let jobSize = 200
    /// Of the circles that are tried, each so many-th is also delivered to a database, and in orders of all changes.
    private static let thoroughStride = 40

    /// Tries every circle, or each `stride`-th.
    package static func run(stride: Int = 1, _ advance: @escaping @Sendable (Int) -> Void) -> Exploration {
        let count = (SmallCircle.count + stride - 1) / stride
        let jobs = (count + self.jobSize - 1) / self.jobSize
        let parts = Workers.map(jobs) { job -> Exploration in
            var part = Exploration(.rights)
            for place in job * self.jobSize..<min((job + 1) * self.jobSize, count) {
                guard let circle = SmallCircle(number: place * stride) else { continue }
                self.check(circle, place * stride, isThorough: place % self.thoroughStride == 0, &part)
            }
            advance(part.caseCount)
            return part
        }
        var result = Exploration(.rights)
        for part in parts { result.add(part) }
        result.details = ["\(count) circles, some of them in every order of arrival and in a database"]
        return result
    }

    /// Delivers one circle in every order, and names what differs.
    package static func replay(_ name: String) throws -> Exploration {
        guard let number = Int(name), (0..<SmallCircle.count).contains(number),
            let circle = SmallCircle(number: number)
        else { throw UnknownCase(name: name) }
        var result = Exploration(.rights)
        self.check(circle, number, isThorough: true, &result)
        result.details = circle.lines
        return result
    }

    private static func check(_ circle: SmallCircle, _ number: Int, isThorough: Bool, _ result: inout Exploration) {
        do {
            let log = try CircleLog(circle.circle)
            let naive = circle.circle.rights
            let expected = log.questions.map { question in
                switch question.need {
                case .role(let role): naive.counts(question.change, as: .init(rawValue: Int(role.rawValue)) ?? .owner)
                case .write(let name): naive.counts(question.change, writing: name)
                case .owner: naive.counts(question.change, as: .owner)
                }
            }
            let all = Array(log.runs.indices)
            let orders = isThorough ? Self.orders(of: all) : [all, all.reversed()]
            for (place, order) in orders.enumerated() {
                result.caseCount += 1
                var memory = MemoryStore(origin: .zero)
                try Self.compare(expected, try log.settledVerdicts(in: order, by: &memory), number, order, &result)
                // A database takes much longer, and the orders differ in the merge alone.
                guard isThorough, place % 97 == 0 else { continue }
                let fileSystem = VirtualFileSystem(disk: SimulatedDisk(seed: 1), seed: 1)
                var store = try SQLiteStore(virtual: fileSystem.database(), origin: .zero)
                try Self.compare(expected, try log.settledVerdicts(in: order, by: &store), number, order, &result)
                store.close()
            }
        } catch {
            result.find(.damage, in: "\(number)", "the store failed: \(error)")
        }
    }

    private static func compare(
        _ expected: [Bool],
        _ found: [Bool],
        _ number: Int,
        _ order: [Int],
        _ result: inout Exploration
    ) throws {
        guard let place = expected.indices.first(where: { expected[$0] != found[$0] }) else { return }
        result.find(
            .modelDisagrees,
            in: "\(number)",
            "in the order \(order), question \(place): \(found[place]), by the naive model \(expected[place])"
        )
    }

    private static func orders(of changes: [Int]) -> [[Int]] {
        guard changes.count > 1 else { return [changes] }
        return changes.indices.flatMap { place -> [[Int]] in
            var rest = changes
            let first = rest.remove(at: place)
            return self.orders(of: rest).map { [first] + $0 }
        }
    }
}
