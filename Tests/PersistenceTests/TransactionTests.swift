import CRDTCore
import MergeModel
import Persistence
import Testing

@Suite struct TransactionTests {
    private static func value(_ number: Int) -> Edit { .set(object(1), name: "n", value: .int(Int64(number))) }

    @Test func `what was thrown out of leaves nothing behind`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        var author = Author(number: 1)
        try store.receive([author.run([[Self.value(1)]])])
        let before = try store.export()
        let kept = author
        let second = author.run([[Self.value(2), .set(object(2), name: "new", value: .null)]])
        do throws(StoreError) {
            try store.write { transaction throws(StoreError) in
                var merge = Merge(now: Author.now, founder: TestDevice.user)
                _ = try merge.receive(second, in: &transaction)
                try merge.finish(in: &transaction)
                _ = try transaction.addSegment(
                    SegmentRecord(id: ReplicaID(bytes: Bytes16(high: 3, low: 3)), origin: .zero)
                )
                try transaction.setFact("f", [1])
                throw .inputOutput("on purpose")
            }
            Issue.record("nothing was thrown")
        } catch {
            #expect(error == .inputOutput("on purpose"))
        }
        #expect(try store.export() == before)
        try store.read { transaction throws(StoreError) in
            #expect(transaction.segmentCount == 1)
            #expect(transaction.segment(SegmentIndex(rawValue: 0)).storedSequence == kept.sequence)
            #expect(try transaction.existingObjectIndex(of: object(2)) == nil)
            #expect(try transaction.fact("f") == nil)
        }
        #expect(try store.receive([second]) == [.stored])
        #expect(try store.export() != before)
    }

    /// A disk may change any number, and SQLite's check of a file does not add up rows.
    @Test func `a database that counts fewer conflicts than it holds is damaged, and nothing traps`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        var authors = (1...3).map { Author(number: $0) }
        for number in authors.indices { try store.receive([authors[number].run([[Self.value(number)]])]) }
        try store.write { transaction throws(StoreError) in
            for (key, register) in try transaction.conflictedRegisters() {
                #expect(register.conflictCount == 2)
                var register = register
                register.conflictCount = 1
                try transaction.setRegister(register, at: key)
            }
        }
        let last = authors[0].run([[Self.value(9)]], context: authors.dropFirst().map(\.point).sorted())
        do {
            try store.receive([last])
            Issue.record("nothing was thrown")
        } catch let error as StoreError {
            guard case .damaged = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test func `reading gives out numbers for ids and takes them back`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        for id in [object(1), object(2)] {
            try store.read { transaction throws(StoreError) in
                #expect(try transaction.existingObjectIndex(of: object(1)) == nil)
                #expect(try transaction.objectIndex(of: id).rawValue == 0)
                #expect(try transaction.nameIndex(of: id.description).rawValue == 0)
                let replica = ReplicaID(bytes: id.bytes)
                #expect(try transaction.addSegment(SegmentRecord(id: replica, origin: .zero)).rawValue == 0)
                #expect(transaction.firstSegment(of: replica)?.rawValue == 0)
            }
        }
    }

    @Test func `everything is there again after closing`() throws {
        let directory = try TemporaryDirectory()
        var author = Author(number: 1)
        var other = Author(number: 2)
        func exports(_ edits: [Edit]) throws -> (String, [SegmentRecord]) {
            let store = try SQLiteStoreHandle(directory)
            try store.receive([author.run([edits]), other.run([edits])])
            let state = try self.state(of: store)
            store.close()
            return state
        }
        for round in 0..<3 {
            let edits: [Edit] = [
                Self.value(round), .create(object(2), type: "t", kind: "k"), .delete(object(3)),
                .move(object(1), Place(parent: object(2), position: Position(bytes: [UInt8(round)]))),
            ]
            let before = try exports(edits)
            let store = try SQLiteStoreHandle(directory)
            #expect(!store.endedUncleanly)
            let after = try self.state(of: store)
            #expect(after.0 == before.0)
            #expect(after.1 == before.1)
            store.close()
        }
    }

    private func state(of store: SQLiteStoreHandle) throws -> (String, [SegmentRecord]) {
        let export = try store.export()
        let replicas = try store.read { transaction throws(StoreError) in
            transaction.segmentIndices.map { transaction.segment($0) }
        }
        return (export, replicas)
    }

    /// A store that has taken in one run, and two runs more: one too large for it, and one that is not.
    private func checkFullDisk(_ store: SQLiteStoreHandle, makeRoom: (() throws -> Void)?) throws {
        var author = Author(number: 1)
        try store.receive([author.run([[Self.value(1)]])])
        let noise = Value.bytes([UInt8](repeating: 5, count: 40_000))
        let earlier = author
        let large = author.run([(0..<100).map { .set(object(UInt64($0)), name: "n", value: noise) }])
        let before = try self.state(of: store)
        for _ in 0..<2 {
            do {
                try store.receive([large])
                Issue.record("it fitted")
            } catch let error as StoreError {
                #expect(error == .diskFull)
            }
            let after = try self.state(of: store)
            #expect(after.0 == before.0)
            #expect(after.1 == before.1)
        }
        if let makeRoom {
            try makeRoom()
            #expect(try store.receive([large]) == [.stored])
        } else {
            author = earlier
            #expect(try store.receive([author.run([[Self.value(2)]])]) == [.stored])
        }
        #expect(try store.export() != before.0)
    }

    @Test func `a write beyond the page limit is refused and smaller ones go on`() throws {
        let directory = try TemporaryDirectory()
        var configuration = StoreConfiguration()
        configuration.pageCountMax = 100
        let store = try SQLiteStoreHandle(directory, configuration: configuration)
        try self.checkFullDisk(store, makeRoom: nil)
        store.close()
        #expect(try directory.shell("PRAGMA integrity_check") == "ok")
    }

    @Test(.enabled("a small file system cannot be mounted here") { SmallDisk.isPossible })
    func `a full disk refuses the write, and it goes on without a restart once there is room`() throws {
        let disk = try SmallDisk(megabytes: 16)
        let directory = try TemporaryDirectory(within: disk.path)
        let store = try SQLiteStoreHandle(directory)
        try disk.fill(leavingKilobytes: 1500)
        try self.checkFullDisk(store, makeRoom: disk.empty)
        store.close()
        #expect(try directory.shell("PRAGMA integrity_check") == "ok")
    }
}
