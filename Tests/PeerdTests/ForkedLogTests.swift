import CRDTCore
import Engine
import Foundation
import PeerCrypto
import SyncProtocol
import Testing

@testable import PeerdKit
@testable import peerd

/// A device whose database was put back: its two lives write the same property and move the same object.
@Suite struct ForkedLogTests {
    private static let now = WallTime(milliseconds: 1_800_000_000_000)
    private static let ids = (1...3).map { ObjectID(bytes: Bytes16(high: 0xabcd << 48 | $0, low: $0)) }
    private static let token: [UInt8] = [1, 2, 3]
    /// The introduction, and what made the objects.
    private static let sharedSequence: UInt64 = 2

    /// The keys of the device, the same in each life.
    private static func identity() throws -> DeviceIdentity {
        var entropy = try TemporaryDirectory.entropy()
        guard let identity = DeviceIdentity.founding(name: "laptop", entropy: &entropy) else {
            throw CommandFailure(.failure, "no identity")
        }
        return identity
    }

    /// One life of the device: writes each transaction, and returns its store.
    private static func live(
        on store: MemoryStore,
        at now: WallTime,
        _ transactions: [[Transaction.Step]]
    ) throws -> MemoryStore {
        let moment = ClockReading(wall: now, monotonicMilliseconds: 1)
        var node = try Node(
            store: store,
            identity: try self.identity(),
            configuration: NodeConfiguration(acceptedTokens: [self.token], nextToken: self.token),
            entropy: try TemporaryDirectory.entropy(),
            at: moment
        )
        for (number, steps) in transactions.enumerated() {
            let request = WriteRequest(id: RequestID(rawValue: UInt64(number)), transaction: Transaction(steps))
            _ = node.handle(.write([request]), at: moment)
        }
        return node.storeCopy
    }

    private static func create(_ number: Int) -> Transaction.Step {
        .create(Transaction.Creation(id: .given(self.ids[number]), type: "note"))
    }

    /// What both lives have written, in one store.
    ///
    /// `deferring`: the life that moved first comes second, and its move, of another object, is deferred.
    private static func forked(deferring: Bool = false) throws -> MemoryStore {
        let shared = try self.live(
            on: MemoryStore(origin: try self.identity().origin),
            at: self.now,
            [[self.create(0), self.create(1), self.create(2)]]
        )
        func life(
            _ value: String,
            _ object: Int = 0,
            under parent: Int,
            after milliseconds: UInt64
        ) throws -> MemoryStore {
            try self.live(
                on: shared,
                at: self.now.advanced(byMilliseconds: milliseconds),
                [
                    [.set(self.ids[0], name: "title", value: .string(value))],
                    [.move(self.ids[object], parent: self.ids[parent], before: nil)],
                ]
            )
        }
        var first = try deferring ? life("old", 1, under: 2, after: 1000) : life("old", under: 1, after: 1000)
        var second = try life("new", under: 2, after: 2000)
        if deferring { swap(&first, &second) }
        let membership = try self.identity().membership
        try first.write { (transaction: inout MemoryTransaction) throws(StoreError) in
            var policy = MergePolicy(now: self.now.advanced(byMilliseconds: 3000), founder: membership.founder)
            if deferring { policy.redoneMoveCountMax = 0 }
            var merge = Merge(policy)
            for run in try second.read({ (other: inout MemoryTransaction) throws(StoreError) in
                try self.runs(after: self.sharedSequence, of: &other, membership)
            }) {
                guard try merge.receive(run, in: &transaction) == .stored else { throw .damaged("a run does not fit") }
            }
            try merge.finish(in: &transaction)
            #expect(merge.summary.forked.count == 1)
        }
        return first
    }

    private static func runs(
        after sequence: UInt64,
        of transaction: inout MemoryTransaction,
        _ membership: Membership
    ) throws(StoreError) -> [VerifiedRun] {
        let segment = SegmentIndex(rawValue: 0)
        let record = transaction.segment(segment)
        var (runs, last): ([VerifiedRun], UInt64) = ([], sequence)
        while last < record.storedSequence {
            let hash = try transaction.hash(at: SegmentPoint(segment: segment, sequence: last))
            let run = transaction.loadRun(of: segment, from: last + 1, limits: RunLimits(), signed: true)
            let verified = try? run.map {
                try VerifiedRun.verify(
                    $0,
                    previous: hash ?? .zero,
                    device: record.device,
                    workspace: membership.workspace,
                    SodiumCryptography()
                )
            }
            guard let verified else { throw .damaged("the test's own runs do not hold") }
            runs.append(verified)
            last = verified.run.lastSequence
        }
        return runs
    }

    private static func read<Result>(
        _ store: MemoryStore,
        _ body: (inout MemoryTransaction) throws -> Result
    ) throws -> Result {
        var store = store
        return try store.read { transaction throws(StoreError) -> Swift.Result<Result, any Error> in
            do {
                return .success(try body(&transaction))
            } catch {
                return .failure(error)
            }
        }.get()
    }

    private static func replay() throws -> LogReplay {
        let identity = try self.identity()
        let directory = FileManager.default.temporaryDirectory.path
        return try LogReplay(Workspace.Identity(identity), in: directory)
    }

    @Test func `both forks are in the log, and what lost is a conflict`() throws {
        try Self.read(try Self.forked()) { transaction in
            #expect(transaction.segmentCount == 2)
            let first = try LogReader.entries(of: SegmentIndex(rawValue: 0), in: &transaction)
            let second = try LogReader.entries(of: SegmentIndex(rawValue: 1), in: &transaction)
            let shared = try #require(first.last { $0.write.sequence == Self.sharedSequence })
            #expect(first.suffix(2).map(\.status) == [.conflict, .conflict])
            #expect(second.map(\.status) == [.effective, .effective])
            #expect(second.map(\.write.sequence) == [3, 4])
            #expect(second[0].previous == shared.header.hash && second[0].replica == shared.replica)
            #expect(second[0].context.map(\.name) == [ChangeName(shared.header.hash)])
        }
    }

    @Test func `the moves that lost are listed with where they went, and by whom`() throws {
        try Self.read(try Self.forked()) { transaction in
            let reader = try Self.identity().device
            let moved = transaction.objectsWithOpenMoves()
            let conflicts = try moved.map { try Conflict(.place($0), readBy: reader, in: &transaction) }
            let conflict = try #require(conflicts.first ?? nil)
            #expect(conflicts.count == 1 && conflict.object == Self.ids[0] && conflict.property == nil)
            #expect(conflict.winner?.content == .place(Self.ids[2]))
            #expect(conflict.winner?.author == PeerdKit.Author(name: "laptop", isThisMachine: true))
            #expect(conflict.losers.map(\.content) == [.place(Self.ids[1])])
            #expect(conflict.winner?.id != conflict.losers[0].id)
            #expect(transaction.conflictedRegisters().count == 1)
            #expect(transaction.movesWithoutEffect().isEmpty)
        }
    }

    @Test func `the state of a forked log is what a replay computes, and damage is found`() throws {
        try Self.read(try Self.forked()) { transaction in
            #expect(try Self.replay().isEqual(to: &transaction))
            let object = transaction.objectIndex(of: Self.ids[0])
            let key = RegisterKey(object: object, name: transaction.nameIndex(of: "title"))
            let (registered, conflicts) = (transaction.register(key), transaction.conflicts(at: key))
            let register = try #require(registered)
            let other = try #require(conflicts.first)
            transaction.setRegister(Register(winner: other, isRemoval: false, conflictCount: 1, writeCount: 2), at: key)
            #expect(try !Self.replay().isEqual(to: &transaction))
            transaction.setRegister(register, at: key)
            #expect(try Self.replay().isEqual(to: &transaction))
        }
    }

    @Test func `a late move that was deferred is no damage`() throws {
        // Of that fork the first change, which moves nothing, is applied.
        var store = try Self.forked(deferring: true)
        try Self.read(store) { transaction in
            let progress = transaction.progress(of: SegmentIndex(rawValue: 1))
            let isEqual = try Self.replay().isEqual(to: &transaction)
            #expect(progress.isPending && isEqual)
        }
        let founder = try Self.identity().membership.founder
        try store.write { (transaction: inout MemoryTransaction) throws(StoreError) in
            var merge = Merge(now: Self.now.advanced(byMilliseconds: 3000), founder: founder)
            try merge.finish(in: &transaction)
        }
        try Self.read(store) { transaction in
            let isEqual = try Self.replay().isEqual(to: &transaction)
            #expect(!transaction.progress(of: SegmentIndex(rawValue: 1)).isPending && isEqual)
        }
    }

    @Test func `a clock that was wrong is no damage, whichever way it was wrong`() throws {
        let day: UInt64 = 24 * 3600 * 1000
        let empty = MemoryStore(origin: try Self.identity().origin)
        let ahead = try Self.live(
            on: try Self.live(on: empty, at: Self.now, [[Self.create(0)]]),
            at: Self.now.advanced(byMilliseconds: day),
            [[.set(Self.ids[0], name: "title", value: .string("from tomorrow"))]]
        )
        let right = try Self.live(on: ahead, at: Self.now, [])
        for (store, status) in [(ahead, OperationStatus.effective), (right, .held)] {
            try Self.read(store) { transaction in
                #expect(try Self.replay().isEqual(to: &transaction))
                let entries = try LogReader.entries(of: SegmentIndex(rawValue: 0), in: &transaction)
                #expect(entries.last?.status == status)
            }
        }
    }
}
