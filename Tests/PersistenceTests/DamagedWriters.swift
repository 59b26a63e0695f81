import CRDTCore
import Engine
import MergeModel
import Persistence

/// Those whose writes fill a database that `DamagedRowsTests` damages.
///
/// They have forked, were restamped, wrote what others write, and had seen some of it; some of it was dropped, some is
/// on a branch, and some of the branch is merged.
struct DamagedWriters {
    private var main = Author(number: 1)
    private var branch: Author
    private var other = Author(number: 2, stamp: Stamp(milliseconds: Author.start.milliseconds - 60_000))
    private var late = Author(number: 3)
    /// Opens a branch and merges it, once it has dropped and erased.
    private var keeper = Author(number: 4)
    /// Writes on the branch.
    private var drafter = Author(number: 5, on: DamagedWriters.branch)
    private let history = GeneratedHistory(
        MergePlanGenerator.plan(seed: 5, changes: 12, troubles: [.fastClocks])
    )

    private static let branch = BranchID(of: TestDevice.user, nonce: 1)
    private static let snapshot = SnapshotRecord(
        id: object(7),
        object: object(1),
        name: "s",
        objectCount: 1,
        byteCount: 2,
        time: 5
    )

    /// Fills a store so that every column of every table has something in it, and closes it.
    init(in store: SQLiteStoreHandle) throws {
        self.branch = self.main
        try self.drop(in: store)
        var runs = [self.main.run([Self.edits(1), Self.edits(2)])]
        self.branch = self.main
        runs.append(self.main.run([Self.edits(3), Self.edits(4)]))
        runs.append(self.branch.run([Self.edits(5), Self.edits(6)]))
        // Its clock is behind, so that its stamps are raised.
        runs.append(self.other.run([Self.edits(7), Self.edits(8)], context: [self.branch.point]))
        let restamp = Restamp(
            replica: self.branch.replica,
            firstSequence: 3,
            lastSequence: self.branch.sequence,
            lastHash: runs[2].hashes[1]
        )
        runs.append(self.late.run([[.restamp(restamp)], Self.edits(9)]))
        try store.receive(runs)
        try store.receive(self.history.changes.map { self.history.sealed([$0]) })
        try self.draft(in: store)
        try store.write { transaction throws(StoreError) in
            for segment in transaction.segmentIndices {
                let point = SegmentPoint(segment: segment, sequence: transaction.segment(segment).firstSequence)
                let additions = try transaction.context(at: point)
                try transaction.setCheckpoint(Checkpoint(number: 0, base: 0, additions: additions), at: point)
            }
            let key = StaticKey(bytes: Bytes32(1, 2, 3, 4))
            let lapse = WallTime(milliseconds: 5)
            try transaction.setPairedDevices([PairedDeviceRecord(introduction: [1, 2, 3], lapse: lapse)])
            try transaction.setInvites([InviteRecord(secret: .zero, person: "n", expiry: lapse)])
            try transaction.setAddresses([
                AddressRecord(device: DeviceID(bytes: .zero), staticKey: key, host: "h", port: 1)
            ])
            for name in Self.names {
                try transaction.remember(RememberedWrite(content: .zero, created: [object(1)]), as: name)
            }
            let parcel = ParcelRecord(id: .zero, user: UserID(bytes: .zero), expiry: lapse, bytes: [1])
            try transaction.addParcel(parcel, for: [DeviceID(bytes: .zero)])
            _ = try transaction.insert(Self.snapshot, content: Array("{}".utf8))
        }
        store.close()
    }

    /// Writes long values, and drops those that were replaced: of their changes nothing is left.
    private mutating func drop(in store: SQLiteStoreHandle) throws {
        try store.receive([self.keeper.run([[.create(object(5), type: "t", kind: "k")]])])
        for number in 0..<3 {
            let value = Value.string(String(repeating: "\(number)", count: 100))
            try store.receive([self.keeper.run([[.set(object(5), name: "n", value: value)]])])
        }
        try store.compact(now: Author.now)
        // Of this, the value never came.
        try store.receive([self.keeper.run([.set(object(5), name: "m", value: .int(1))], redacting: [0])])
    }

    /// Writes on a branch, merges the first of it, and asks for an erasure, which nobody does yet.
    private mutating func draft(in store: SQLiteStoreHandle) throws {
        let opening = BranchOpening(id: Self.branch, parent: nil, name: "b", base: [])
        try store.receive([self.keeper.run([[.branch(.opens(opening))]])])
        try store.receive([self.drafter.run([Self.edits(14)])])
        let merged = self.drafter.point
        let drafted = NamedChange(
            replica: self.drafter.replica,
            sequence: self.drafter.sequence,
            hash: self.drafter.head
        )
        try store.receive([self.drafter.run([Self.edits(15)])])
        try store.receive([
            self.keeper.run(
                [[.branch(.merges(Self.branch)), .branch(.closes(Self.branch))]],
                context: [merged]
            )
        ])
        let merge = NamedChange(replica: self.keeper.replica, sequence: self.keeper.sequence, hash: self.keeper.head)
        let undo = Undo(target: drafted, isRedo: false, merge: merge)
        try store.receive([self.keeper.run([[.undo(undo), .set(object(5), name: "n", value: .int(0))]])])
        let erasure = Erasure(object: object(5), name: "n")
        try store.receive([self.keeper.run([[.erase(erasure), .set(object(5), name: "n", value: .int(1))]])])
        try self.takeBack(in: store)
    }

    /// Writes twice, and takes the second back.
    private mutating func takeBack(in store: SQLiteStoreHandle) throws {
        var written: [NamedChange] = []
        for n in 1...2 {
            try store.receive([self.keeper.run([[.set(object(5), name: "n", value: .int(Int64(n)))]])])
            let keeper = self.keeper
            written.append(NamedChange(replica: keeper.replica, sequence: keeper.sequence, hash: keeper.head))
        }
        let scope = UndoScope(device: self.keeper.device.device, label: "")
        let undo = Undo(target: written[1], isRedo: false, scope: scope, next: written[0])
        try store.receive([
            self.keeper.run([
                [
                    .undo(undo), .set(object(5), name: "n", value: .int(1)),
                    .action(ActionStatement(label: "program", start: Stamp(rawValue: 1))),
                ]
            ])
        ])
    }

    private static let names = ["a", "b"]

    /// One of each kind, on few objects.
    private static func edits(_ number: Int64) -> [Edit] {
        let (one, two) = (object(UInt64(number % 3)), object(UInt64(number % 2 + 1)))
        return [
            .create(one, type: "t", kind: "k"), .set(one, name: "n", value: .int(number)),
            .set(two, name: "\(number)", value: .double(0.5)), .unset(two, name: "n"),
            .move(one, Place(parent: two, position: Position(bytes: [UInt8(number)]))), .delete(two),
        ]
    }

    /// Whatever fails, the next is tried.
    func use(_ store: SQLiteStoreHandle) {
        var (main, branch, other) = (self.main, self.branch, self.other)
        var (keeper, drafter) = (self.keeper, self.drafter)
        self.read(store)
        let restamp = Restamp(
            replica: main.replica,
            firstSequence: 1,
            lastSequence: main.sequence,
            lastHash: main.head
        )
        var newer = branch
        let runs = [
            branch.run([Self.edits(10)], context: [other.point]), newer.run([Self.edits(11)]),
            other.run([[.restamp(restamp)] + Self.edits(12)], context: [main.point]), main.run([Self.edits(13)]),
            drafter.run([Self.edits(16)]),
            keeper.run([[.branch(.merges(Self.branch))] + Self.edits(17)], context: [drafter.point]),
        ]
        for run in runs { _ = try? store.receive([run]) }
        // All clocks are set back, and right again.
        for milliseconds in [0, Author.now.milliseconds, Author.now.milliseconds * 2] {
            _ = try? store.receive([], now: WallTime(milliseconds: milliseconds))
        }
        for number in 0..<3 {
            _ = try? store.write { transaction throws(StoreError) in
                try transaction.remember(RememberedWrite(content: .zero, created: []), as: "new \(number)")
            }
        }
        _ = try? store.write { transaction throws(StoreError) in
            var merge = Merge(now: Author.now, founder: TestDevice.user)
            _ = try merge.waits(in: &transaction)
            try merge.rebuild(in: &transaction)
        }
        self.erase(in: store)
        // No sound store of this size takes more than one step.
        try? store.compact(now: Author.now, stepCountMax: 20)
        self.read(store)
        store.close()
    }

    private func erase(in store: SQLiteStoreHandle) {
        _ = try? store.write { transaction throws(StoreError) in
            var (merge, erasing) = (Merge(now: Author.now, founder: TestDevice.user), Erasing())
            var all = ErasureAllowance.unlimited
            for _ in 0..<20 where !erasing.isDone {
                try erasing.step(&merge, allowing: &all, in: &transaction, TestDevice.cryptography)
            }
        }
    }

    private func read(_ store: SQLiteStoreHandle) {
        self.readObjects(store)
        self.readBranches(store)
        self.readSegments(store)
        self.readUndos(store)
        _ = try? store.export()
        _ = try? store.read { transaction throws(StoreError) in
            _ = try transaction.pairedDevices()
            _ = try transaction.nextParcel(for: DeviceID(bytes: .zero))
            _ = try transaction.parcelCounts()
            _ = try transaction.invites()
            _ = try transaction.addresses()
            _ = try transaction.snapshots(of: nil)
            _ = try transaction.snapshotContent(Self.snapshot.id)
            _ = try transaction.fact("origin")
        }
        for name in Self.names {
            _ = try? store.read { transaction throws(StoreError) in try transaction.rememberedWrite(name) }
        }
    }

    private func readUndos(_ store: SQLiteStoreHandle) {
        let own = UndoScope(device: self.keeper.device.device, label: "")
        for scope in [own, UndoScope(device: nil, label: nil)] {
            let author = UndoAuthor(user: TestDevice.user, device: self.keeper.device.device, scope: scope)
            for isRedo in [false, true] {
                _ = try? store.read { transaction throws(StoreError) in
                    try transaction.nextUndo(for: author, isRedo: isRedo, on: nil, in: History(.present))
                }
            }
        }
    }

    private func readSegments(_ store: SQLiteStoreHandle) {
        let segmentCount = (try? store.read { transaction in transaction.segmentCount }) ?? 0
        for segment in (0..<UInt32(segmentCount)).map({ SegmentIndex(rawValue: $0) }) {
            _ = try? store.runs(of: segment)
            _ = try? store.read { transaction throws(StoreError) in
                let record = transaction.segment(segment)
                for sequence in record.firstSequence...record.firstSequence + 10 {
                    guard sequence <= record.storedSequence else { break }
                    _ = try transaction.context(at: SegmentPoint(segment: segment, sequence: sequence))
                }
            }
        }
    }

    /// What branches show, and what was dropped or is to be.
    private func readBranches(_ store: SQLiteStoreHandle) {
        let keys = try? store.read { transaction throws(StoreError) in
            let objects = try transaction.knownObjects(after: nil, limit: 100)
            var keys = try transaction.propertiesWithRedactedWrites(after: nil, limit: 100)
            keys += try transaction.incompleteProperties(limit: 100)
            keys += try transaction.erasures(after: nil).map(\.key)
            for object in objects {
                _ = try transaction.unmergedOperations(on: object)
                _ = try transaction.objectsUnmerged(below: object)
                keys += try transaction.registers(of: object).map { RegisterKey(object: object, name: $0.0) }
            }
            return keys
        }
        for key in keys ?? [] {
            _ = try? store.read { transaction throws(StoreError) in
                _ = try transaction.redactedWrites(at: key)
                _ = try transaction.branchBarringErasure(at: key)
                var history = History(try transaction.view(of: Self.branch))
                if let write = try history.write(at: key, in: &transaction) { _ = try transaction.edit(write) }
            }
        }
    }

    private func readObjects(_ store: SQLiteStoreHandle) {
        _ = try? store.read { transaction throws(StoreError) in
            for (key, register) in try transaction.conflictedRegisters() {
                _ = try transaction.edit(register.winner)
                for write in try transaction.conflicts(at: key) { _ = try transaction.edit(write) }
            }
        }
        _ = try? store.read { transaction throws(StoreError) in
            for object in try transaction.objectsWithDifferentCreations() {
                for write in try transaction.creations(of: object) { _ = try transaction.edit(write) }
            }
        }
        _ = try? store.read { transaction throws(StoreError) in
            for object in try transaction.objectsWithOpenMoves() {
                for write in try transaction.openMoves(of: object) { _ = try transaction.edit(write) }
            }
            _ = try transaction.movesWithoutEffect()
        }
    }
}
