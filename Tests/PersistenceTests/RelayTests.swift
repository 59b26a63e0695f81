import CRDTCore
import MergeTestSupport
import Persistence
import SyncProtocol
import Testing

/// What a write may make and a peer accepts, every store can load, cut in each way there is, and send on.
@Suite struct RelayTests {
    /// Changes of all shapes, at the limits and beside them.
    private struct Shapes {
        var random: SplitMix64

        /// Edits of one change, and how many entries its context has.
        mutating func change(isLarge: Bool) -> (edits: [Edit], contextCount: Int) {
            guard isLarge else {
                return (self.small(self.random.below(8)), self.random.below(5) * self.random.below(40))
            }
            switch self.random.below(8) {
            case 0: return (self.named(by: self.offset(Limits.nameByteCountMax)), 0)
            case 1: return (self.values(of: self.offset(Limits.valueByteCountMax)), 0)
            case 2: return (self.small(self.offset(Limits.changeOperationCountMax)), 0)
            case 3: return (self.small(3), self.offset(Limits.contextEntryCountMax))
            case 4: return (self.moves(to: self.offset(Limits.positionByteCountMax)), 0)
            case 5: return (self.opaque(of: self.offset(Limits.opaqueByteCountMax)), 0)
            case 6: return (self.zeros(), 0)
            // Two limits at once.
            default: return (self.values(of: Limits.valueByteCountMax), self.offset(Limits.contextEntryCountMax))
            }
        }

        /// A limit, or one more or less.
        private mutating func offset(_ limit: Int) -> Int { limit + self.random.below(3) - 1 }

        private func small(_ count: Int) -> [Edit] {
            (0..<count).map { number in
                number % 3 == 0
                    ? .delete(object(UInt64(number)))
                    : .set(object(1), name: "n\(number % 5)", value: .int(Int64(number)))
            }
        }

        /// As many operations with names of a length as fit, or one more.
        private mutating func named(by byteCount: Int) -> [Edit] {
            let fill = String(repeating: "n", count: byteCount - 6)
            return self.filled { number in
                let digits = String(number)
                return .unset(object(1), name: fill + String(repeating: "0", count: 6 - digits.count) + digits)
            }
        }

        private mutating func values(of byteCount: Int) -> [Edit] {
            // A tag comes before the bytes.
            let bytes = (0..<byteCount - 1).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 7) }
            let one = Edit.set(object(2), name: "v", value: .bytes(bytes))
            return self.filled { _ in one }
        }

        private mutating func zeros() -> [Edit] {
            [.set(object(2), name: "z", value: .bytes(Array(repeating: 0, count: self.random.below(1 << 20))))]
        }

        private mutating func moves(to byteCount: Int) -> [Edit] {
            let place = Place(parent: object(9), position: Position(bytes: Array(repeating: 120, count: byteCount)))
            return (0..<UInt64(self.random.below(2000))).map { .move(object($0 + 10), place) }
        }

        private mutating func opaque(of byteCount: Int) -> [Edit] {
            [.unknown(kind: 200, body: Array(repeating: 7, count: byteCount))]
        }

        /// As many edits as fit into a change, or one more.
        private mutating func filled(_ edit: (Int) -> Edit) -> [Edit] {
            let count = min(Limits.editByteCountMax / edit(0).byteCount, Limits.changeOperationCountMax)
            return (0..<count + self.random.below(2)).map(edit)
        }
    }

    @Test func `what is accepted can be loaded, cut and sent on`() throws {
        for seed in Seeds.range(from: 1, count: 4) {
            var shapes = Shapes(random: SplitMix64(seed: seed))
            let directories = [try TemporaryDirectory(), try TemporaryDirectory()]
            var author = Author(number: seed)
            let first = try SQLiteStoreHandle(directories[0])
            for _ in 0..<10 {
                // What is signed together: one change as a write makes it, or several as others may sign them.
                let isLarge = shapes.random.chance(10)
                let changes = (0..<(isLarge ? 1 : 1 + shapes.random.below(30))).map { _ in
                    shapes.change(isLarge: isLarge)
                }
                var next = author
                let run = next.run(changes)
                do {
                    try run.run.validate()
                } catch {
                    #expect(isLarge, "PEERD_SEED=\(seed)")
                    continue
                }
                author = next
                let received = try Self.relayed(run.run)
                try first.receive([try Self.verified(received, previous: run.previous)])
            }
            // From one to the next, each cutting as it likes.
            let second = try SQLiteStoreHandle(directories[1])
            try Self.relay(author.replica, from: first, to: second, &shapes.random)
            let head = try #require(try second.lastHash(of: author.replica), "PEERD_SEED=\(seed)")
            #expect(head == author.head, "PEERD_SEED=\(seed)")
            var memory = MemoryStore(origin: Author.origin)
            try Self.relay(author.replica, from: second, to: &memory, &shapes.random)
            let last = try memory.read { transaction throws(StoreError) in
                transaction.firstLine(of: author.replica).map { transaction.line($0).storedHash }
            }
            #expect(last == author.head, "PEERD_SEED=\(seed)")
        }
    }

    /// Edits that are just within a limit, and the same with one more.
    private static let atLimits: [(within: [Edit], beyond: [Edit])] = {
        func value(_ byteCount: Int) -> [Edit] {
            [.set(object(1), name: "v", value: .bytes(Array(repeating: 1, count: byteCount - 1)))]
        }
        func name(_ byteCount: Int) -> [Edit] { [.unset(object(1), name: String(repeating: "n", count: byteCount))] }
        func position(_ byteCount: Int) -> [Edit] {
            let position = Position(bytes: Array(repeating: 120, count: byteCount))
            return [.move(object(1), Place(parent: nil, position: position))]
        }
        func deletions(_ count: Int) -> [Edit] { (0..<UInt64(count)).map { .delete(object($0)) } }
        func opaque(_ byteCount: Int) -> [Edit] { [.unknown(kind: 200, body: Array(repeating: 7, count: byteCount))] }
        func bytes(_ byteCount: Int) -> [Edit] {
            let one = value(Limits.valueByteCountMax)[0]
            let rest = byteCount - byteCount / one.byteCount * one.byteCount
            let overhead = one.byteCount - Limits.valueByteCountMax
            return Array(repeating: one, count: byteCount / one.byteCount) + value(rest - overhead)
        }
        let whole = Limits.changeByteCountMax - ChangeSize.headerByteCount
        return [
            (value(Limits.valueByteCountMax), value(Limits.valueByteCountMax + 1)),
            (name(Limits.nameByteCountMax), name(Limits.nameByteCountMax + 1)),
            (position(Limits.positionByteCountMax), position(Limits.positionByteCountMax + 1)),
            (deletions(Limits.changeOperationCountMax), deletions(Limits.changeOperationCountMax + 1)),
            (opaque(Limits.opaqueByteCountMax), opaque(Limits.opaqueByteCountMax + 1)),
            (bytes(whole), bytes(whole + 1)),
        ]
    }()

    @Test(arguments: 0..<6) func `what is one beyond a limit is refused, and what is at it is not`(number: Int) throws {
        let (within, beyond) = Self.atLimits[number]
        for (edits, isAccepted) in [(within, true), (beyond, false)] {
            var author = Author(number: 1)
            _ = author.run([[]])
            let run = author.run([edits]).run
            let isValid = (try? run.validate()) != nil
            #expect(isValid == isAccepted)
            guard isAccepted else { continue }
            #expect(try Self.relayed(run).size == run.size)
        }
    }

    @Test(arguments: [0, 1]) func `so many points a context may name, and no more`(excess: Int) throws {
        var author = Author(number: 1)
        _ = author.run([[]])
        let run = author.run([(edits: [], contextCount: Limits.contextEntryCountMax + excess)]).run
        #expect(((try? run.validate()) != nil) == (excess == 0))
        if excess == 0 { #expect(try Self.relayed(run) == run) }
    }

    @Test func `a change that no one would accept any more is loaded all the same`() throws {
        let directory = try TemporaryDirectory()
        var author = Author(number: 1)
        let value = Value.bytes(Array(repeating: 1, count: Limits.valueByteCountMax - 1))
        let large = author.run([(0..<12).map { _ in .set(object(1), name: "v", value: value) }])
        #expect(throws: WireError.overLimit) { try large.run.validate() }
        let store = try SQLiteStoreHandle(directory)
        try store.receive([large])
        try store.close()
        let reopened = try SQLiteStoreHandle(directory)
        #expect(try reopened.runs(of: author.replica).count == 1)
        try reopened.receive([author.run([[.set(object(1), name: "v", value: .int(1))]])])
        #expect(try reopened.lastHash(of: author.replica) == author.head)
    }

    // MARK: - The way of a run

    /// A run as it is after it went over a connection.
    private static func relayed(_ run: Run) throws -> Run {
        #expect(run.encoded().count <= run.size.byteCount + Limits.runHeaderByteCountMax)
        var reader = MessageReader()
        reader.append(Message.run(run).encoded())
        guard case .run(let received) = try reader.next()?.message else {
            throw StoreError.damaged("no run came")
        }
        return received
    }

    private static func verified(_ run: Run, previous: Hash256) throws -> VerifiedRun {
        try VerifiedRun.verify(
            run,
            previous: previous,
            device: run.firstSequence == 1 ? nil : self.devices[run.replica],
            membership: TestDevice.membership,
            TestDevice.cryptography
        )
    }

    private static let devices: [ReplicaID: DeviceID] = {
        var devices: [ReplicaID: DeviceID] = [:]
        for seed in Seeds.range(from: 1, count: 4) {
            let author = Author(number: seed)
            devices[author.replica] = author.device.device
        }
        return devices
    }()

    private static func limits(_ random: inout SplitMix64) -> RunLimits {
        RunLimits(
            changeCountMax: 1 + random.below(80),
            operationCountMax: 1 + random.below(1 << (1 + random.below(17))),
            byteCountMax: 1 + random.below(1 << (1 + random.below(23)))
        )
    }

    private static func relay(
        _ replica: ReplicaID,
        from source: SQLiteStoreHandle,
        to target: SQLiteStoreHandle,
        _ random: inout SplitMix64
    ) throws {
        var previous = Author.origin
        for run in try source.cut(replica, &random, self.limits) {
            let verified = try self.verified(try self.relayed(run), previous: previous)
            previous = try #require(verified.hashes.last)
            try target.receive([verified])
        }
    }

    private static func relay(
        _ replica: ReplicaID,
        from source: SQLiteStoreHandle,
        to target: inout MemoryStore,
        _ random: inout SplitMix64
    ) throws {
        var previous = Author.origin
        for run in try source.cut(replica, &random, self.limits) {
            let verified = try self.verified(try self.relayed(run), previous: previous)
            previous = try #require(verified.hashes.last)
            try target.write { transaction throws(StoreError) in
                var merge = Merge(now: Author.now, founder: TestDevice.user)
                _ = try merge.receive(verified, in: &transaction)
                try merge.finish(in: &transaction)
            }
        }
    }
}

extension Author {
    /// One run of changes with contexts of so many replicas that nobody knows.
    fileprivate mutating func run(_ changes: [(edits: [Edit], contextCount: Int)]) -> VerifiedRun {
        var builder = RunBuilder(replica: self.replica, firstSequence: self.sequence + 1)
        for (position, change) in changes.enumerated() {
            self.stamp = self.stamp.successor ?? self.stamp
            let context = (0..<UInt64(change.contextCount)).map { number in
                Point(
                    replica: ReplicaID(bytes: Bytes16(high: number, low: 77)),
                    sequence: Limits.sequenceMax - number,
                    name: ChangeName(rawValue: number)
                )
            }
            let sequence = self.sequence + UInt64(position) + 1
            builder.beginChange(
                stamp: self.stamp,
                context: context,
                blinding: Bytes16(high: sequence, low: self.stamp.rawValue).array
            )
            if sequence == 1 { builder.append(.introduce(self.device.introduction(nonce: self.nonce))) }
            for edit in change.edits { builder.append(edit) }
        }
        return self.seal(builder)
    }
}

extension SQLiteStoreHandle {
    fileprivate func lastHash(of replica: ReplicaID) throws -> Hash256? {
        try self.read { transaction throws(StoreError) in
            transaction.firstLine(of: replica).map { transaction.line($0).storedHash }
        }
    }

    /// All runs of a replica, each loaded within limits of its own.
    fileprivate func cut(
        _ replica: ReplicaID,
        _ random: inout SplitMix64,
        _ limits: (inout SplitMix64) -> RunLimits
    ) throws -> [Run] {
        var runs: [Run] = []
        var next: UInt64 = 1
        while true {
            let wanted = limits(&random)
            let run = try self.read { transaction throws(StoreError) -> Run? in
                guard let line = transaction.firstLine(of: replica) else { return nil }
                return try transaction.loadRun(of: line, from: next, limits: wanted, signed: true)
            }
            guard let run else { return runs }
            runs.append(run)
            next = run.lastSequence + 1
        }
    }
}
