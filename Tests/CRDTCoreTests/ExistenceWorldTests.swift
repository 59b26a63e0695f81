import CRDTCore
import MergeTestSupport
import Testing

/// Every way in which two replicas can make, edit and delete one object and hear of each other in between, delivered in
/// every order that keeps the chains, against the naive model.
@Suite struct ExistenceWorldTests {
    private enum Step: CaseIterable {
        case firstCreates
        case firstEdits
        case firstDeletes
        case firstListens
        case secondEdits
        case secondDeletes
        case secondListens
    }

    private static let object = ObjectID(bytes: Bytes16(high: 1, low: 1))
    private static let now = WallTime(milliseconds: 1_000)

    /// The history that some steps make; nil if a step of it changes nothing.
    private func history(of steps: [Step]) -> GeneratedHistory? {
        var history = GeneratedHistory()
        history.objects = [Self.object]
        var replicas: [ReplicaID] = []
        var written = [0, 0]
        var heard = [0, 0]
        var named = [0, 0]
        for number in 0..<2 {
            let device = TestDevice(number: UInt64(number))
            let nonce = Bytes16(high: 2, low: UInt64(number))
            replicas.append(device.replica(nonce: nonce))
            history.devices[replicas[number]] = device
            history.nonces[replicas[number]] = nonce
        }
        func write(_ author: Int, _ stamp: Int, _ edit: Edit) {
            let nonce = Bytes16(high: 2, low: UInt64(author))
            let introduction = TestDevice(number: UInt64(author)).introduction(nonce: nonce)
            let isNew = heard[author] > named[author]
            written[author] += 1
            history.append(
                NaiveChange(
                    dot: Dot(replica: replicas[author], sequence: UInt64(written[author])),
                    stamp: Stamp(rawValue: UInt64(stamp) + 1),
                    contextDifference: isNew
                        ? [Dot(replica: replicas[1 - author], sequence: UInt64(heard[author]))] : [],
                    edits: (written[author] == 1 ? [.introduce(introduction)] : []) + [edit]
                )
            )
            named[author] = heard[author]
        }
        for (stamp, step) in steps.enumerated() {
            switch step {
            case .firstCreates: write(0, stamp, .create(Self.object, type: "note", kind: ""))
            case .firstEdits: write(0, stamp, .set(Self.object, name: "title", value: .int(Int64(stamp))))
            case .firstDeletes: write(0, stamp, .delete(Self.object))
            case .secondEdits: write(1, stamp, .set(Self.object, name: "title", value: .int(Int64(stamp))))
            case .secondDeletes: write(1, stamp, .delete(Self.object))
            case .firstListens, .secondListens:
                let listener = step == .firstListens ? 0 : 1
                guard written[1 - listener] > heard[listener] else { return nil }
                heard[listener] = written[1 - listener]
            }
        }
        return history
    }

    /// Delivers the rest in every order that keeps the chains.
    ///
    /// Returns the number of orders.
    private func deliver(
        _ runs: [[VerifiedRun]],
        arrived: [Int],
        into store: MemoryStore,
        expected: PlainState,
        _ steps: [Step]
    ) throws -> Int {
        var orders = 0
        for chain in runs.indices where arrived[chain] < runs[chain].count {
            var next = store
            var count = arrived
            let run = runs[chain][count[chain]]
            count[chain] += 1
            try next.write { transaction throws(StoreError) in
                var merge = Merge(now: Self.now)
                _ = try merge.receive(run, in: &transaction)
                try merge.finish(in: &transaction)
            }
            orders += try self.deliver(runs, arrived: count, into: next, expected: expected, steps)
        }
        guard orders == 0 else { return orders }
        var last = store
        let state = try last.read { transaction throws(StoreError) in
            try StateReader.state(of: &transaction, objects: [Self.object])
        }
        if state != expected { Issue.record("\(steps):\n\(state.differences(from: expected))") }
        return 1
    }

    @Test func `two replicas agree on what lives after every short history`() throws {
        let length = Seeds.isExhaustive ? 6 : 5
        let count = (0..<length).reduce(1) { product, _ in product * Step.allCases.count }
        var orders = 0
        for number in 0..<count {
            var rest = number
            let steps = (0..<length).map { _ in
                defer { rest /= Step.allCases.count }
                return Step.allCases[rest % Step.allCases.count]
            }
            guard let history = self.history(of: steps) else { continue }
            let runs = history.replicas.map { replica in
                (history.chains[replica] ?? []).indices.map { history.sealed(replica, $0..<$0 + 1) }
            }
            let expected = NaiveModel(history.naive(now: Self.now)).state()
            let empty = MemoryStore(origin: ChainHash.origin(TestDevice.workspace))
            let arrived = runs.map { _ in 0 }
            orders += try self.deliver(runs, arrived: arrived, into: empty, expected: expected, steps)
        }
        #expect(orders > count / 2)
    }
}
