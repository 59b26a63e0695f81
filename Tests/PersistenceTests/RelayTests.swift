import CRDTCore
import MergeModel
import Persistence
import SyncProtocol
import Testing

/// What is at a limit is accepted, and what is beyond it is not.
///
/// `Simulator relays` sends chains of all sizes from store to store.
@Suite struct RelayTests {
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

    /// Removals take few bytes, and a leaf each once they are erased.
    @Test(arguments: [0, 1]) func `what is accepted under one signature is accepted when it is erased`(
        excess: Int
    ) throws {
        var author = Author(number: 1)
        let opening = author.run([[]])
        let removal = Edit.unset(object(1), name: "n")
        let half = Array(repeating: removal, count: Limits.runOperationCountMax / 2)
        let signed = author.run([half, half + Array(repeating: removal, count: excess)])
        let erased = try #require(signed.run.erasing(Set(signed.run.operations.indices), TestDevice.cryptography)).run
        let part = try #require(signed.run.erasing(Set(1..<half.count * 2 - 1), TestDevice.cryptography)).run
        for run in [signed.run, erased, part] {
            #expect(((try? run.validate()) != nil) == (excess == 0))
            #expect(((try? Run(decoding: run.encoded())) != nil) == (excess == 0))
        }
        guard excess == 0 else { return }
        #expect(part.encoded().count > 8 * signed.run.encoded().count)
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        try store.receive([opening, signed.replacingRun(with: try Self.relayed(part))])
        for run in try store.runs(of: author.replica) { #expect(try Self.relayed(run) == run) }
        #expect(try store.lastHash(of: author.replica) == author.head)
    }

    @Test func `a change that no one would accept any more is loaded all the same`() throws {
        let directory = try TemporaryDirectory()
        var author = Author(number: 1)
        let value = Value.bytes(Array(repeating: 1, count: Limits.valueByteCountMax - 1))
        let large = author.run([(0..<12).map { _ in .set(object(1), name: "v", value: value) }])
        #expect(throws: WireError.overLimit) { try large.run.validate() }
        let store = try SQLiteStoreHandle(directory)
        try store.receive([large])
        store.close()
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
            transaction.firstSegment(of: replica).map { transaction.segment($0).storedHash }
        }
    }
}
