internal import CRDTCore
internal import MergeModel

/// Every short history of an object's life on two replicas, delivered in every order that keeps the chains, through the
/// production merge, against the naive model.
package struct ExistenceSearch {
    private var result = Exploration(.existence)
    private var historyCount = 0
    /// Whose changes have arrived, in order.
    private var order: [Int] = []
    private let lengthMax: Int

    /// So many steps have the longest histories unless another number is asked for.
    static let usualLength = 6
    private static var merge: Merge { Merge(now: ExistenceHistory.now, founder: TestDevice.user) }

    package static func run(
        length: Int = ExistenceSearch.usualLength,
        _ advance: @escaping @Sendable (Int) -> Void
    ) -> Exploration {
        let steps = ExistenceHistory.Step.allCases
        let jobs = steps.flatMap { first in steps.map { [first, $0] } }
        let parts = Workers.map(jobs.count) { number -> ExistenceSearch in
            var search = ExistenceSearch(lengthMax: length)
            search.perform(jobs[number], isFirst: jobs[number][1] == steps[0])
            advance(search.result.caseCount)
            return search
        }
        var result = Exploration(.existence)
        for part in parts { result.add(part.result) }
        result.details = [
            "\(parts.reduce(0) { $0 + $1.historyCount }) histories of up to \(length) steps, in every order of arrival"
        ]
        return result
    }

    private init(lengthMax: Int) { self.lengthMax = lengthMax }

    /// Tries all histories that begin with some steps; `isFirst`: also the one of the first step alone.
    private mutating func perform(_ beginning: [ExistenceHistory.Step], isFirst: Bool) {
        guard let first = ExistenceHistory().appending(beginning[0]) else { return }
        do throws(StoreError) {
            if isFirst { try self.check(first) }
            guard let second = first.appending(beginning[1]) else { return }
            try self.tryAll(from: second)
        } catch {
            self.result.find(.damage, in: first.name, "the store failed: \(error)")
        }
    }

    private mutating func tryAll(from history: ExistenceHistory) throws(StoreError) {
        if history.endsWithWrite { try self.check(history) }
        guard history.steps.count < self.lengthMax else { return }
        for step in ExistenceHistory.Step.allCases {
            if let next = history.appending(step) { try self.tryAll(from: next) }
        }
    }

    private mutating func check(_ history: ExistenceHistory) throws(StoreError) {
        self.historyCount += 1
        let empty = MemoryStore.ofTestWorkspace
        try self.deliver(history, arrived: [0, 0], into: empty, expected: history.model())
    }

    /// Delivers the rest in every order that keeps the chains; those that begin alike share their beginning.
    private mutating func deliver(
        _ history: ExistenceHistory,
        arrived: [Int],
        into store: MemoryStore,
        expected: PlainState
    ) throws(StoreError) {
        var isComplete = true
        for chain in 0..<2 where arrived[chain] < history.runs[chain].count {
            isComplete = false
            var next = store
            var count = arrived
            try next.receive([history.runs[chain][count[chain]]], by: ExistenceSearch.merge)
            count[chain] += 1
            self.order.append(chain)
            try self.deliver(history, arrived: count, into: next, expected: expected)
            self.order.removeLast()
        }
        guard isComplete else { return }
        self.result.caseCount += 1
        var last = store
        let state = try last.plainState([ExistenceHistory.object])
        if state != expected {
            let name = "\(history.name):\(self.order.map(String.init).joined())"
            let message = self.result.wantsMore ? state.differences(from: expected) : ""
            self.result.find(.modelDisagrees, in: name, message)
        }
    }

    /// Delivers one history in one order, and compares after every arrival.
    ///
    /// Written `cdE:010`: the steps, and whose change arrives next.
    package static func replay(_ name: String) throws -> Exploration {
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let history = ExistenceHistory(named: parts[0]) else { throw UnknownCase(name: name) }
        var result = Exploration(.existence)
        result.caseCount = 1
        var store = MemoryStore.ofTestWorkspace
        var arrived = [0, 0]
        for letter in parts[1] {
            guard let chain = letter.wholeNumberValue, chain < 2, arrived[chain] < history.runs[chain].count else {
                throw UnknownCase(name: name)
            }
            try store.receive([history.runs[chain][arrived[chain]]], by: self.merge)
            arrived[chain] += 1
            let state = try store.plainState([ExistenceHistory.object])
            let expected = history.model(upTo: arrived)
            if state != expected {
                let message = "after \(arrived[0]) and \(arrived[1]):\n\(state.differences(from: expected))"
                result.find(.modelDisagrees, in: name, message)
            }
        }
        return result
    }
}
