internal import CRDTCore
internal import Engine
internal import MergeModel
internal import PeerCrypto
internal import Persistence
internal import SyncProtocol

/// Whatever a write acknowledged, or a peer's run stored, can be loaded, cut in every way, relayed, and accepted by a
/// store that has nothing of it: through SQLite into memory, and from there into SQLite.
///
/// So can what a compaction or an erasure makes of it.
package struct RelayTrial {
    /// What was tried.
    package struct Count: Hashable, Sendable {
        package var writes = 0
        package var refusedWrites = 0
        package var runs = 0
        package var refusedRuns = 0
        package var relayedRuns = 0
        package var relayedBytes = 0

        package init() {}
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package private(set) var count = Count()
    private var shapes: RelayShapes

    package init(seed: UInt64, largeEvery: Int = 400) {
        self.shapes = RelayShapes(seed: seed, largeEvery: largeEvery)
    }

    /// A chain of so many changes: of a device's own writes, or of runs that another signed, by turns of seeds.
    package mutating func perform(seed: UInt64, changeCount: Int = 200) throws {
        if seed.isMultiple(of: 2) {
            try self.performWrites(seed: seed, count: changeCount)
        } else {
            try self.performRuns(seed: seed, count: changeCount)
        }
    }

    // MARK: - Where the chain comes from

    /// A node writes what its callers want.
    private mutating func performWrites(seed: UInt64, count: Int) throws {
        var entropy = EntropyStream.from(seed)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw Failure(description: "no identity")
        }
        let (membership, origin, device) = (identity.membership, identity.origin, identity.device)
        var time = ClockReading(wall: WallTime(milliseconds: 1_700_000_000_000), monotonicMilliseconds: 0)
        var node = try Node(
            store: MemoryStore(origin: origin),
            identity: identity,
            configuration: NodeConfiguration(),
            entropy: entropy,
            at: time
        )
        for number in 0..<count {
            time.wall = time.wall.advanced(byMilliseconds: 10)
            time.monotonicMilliseconds += 10
            let transaction = self.shapes.transaction(isLarge: self.shapes.isLarge())
            let request = WriteRequest(id: RequestID(rawValue: UInt64(number)), transaction: transaction)
            for effect in node.handle(.write([request]), at: time) {
                guard case .answer(_, let result) = effect else { continue }
                self.count.writes += 1
                switch result {
                case .success, .failure(.wouldCloseCycle), .failure(.noSuchObject): break
                case .failure(.tooLarge): self.count.refusedWrites += 1
                case .failure(let refusal): throw Failure(description: "a write was refused: \(refusal)")
                }
            }
        }
        var source = node.storeCopy
        let cryptography = SodiumCryptography()
        try self.relay(from: &source, origin: origin, seed: seed, cryptography) { run, previous throws(RunRejection) in
            let signer = run.firstSequence == 1 ? nil : device
            return try VerifiedRun.verify(
                run,
                previous: previous,
                device: signer,
                workspace: membership.workspace,
                cryptography
            )
        }
    }

    /// Somebody signs several changes at once, of kinds and sizes that no write of ours makes.
    private mutating func performRuns(seed: UInt64, count: Int) throws {
        let device = TestDevice(number: seed)
        let nonce = Bytes16(high: seed, low: 1)
        let replica = device.replica(nonce: nonce)
        let origin = ChainHash.origin(TestDevice.workspace)
        let verify = { (run: Run, previous: Hash256) throws(RunRejection) -> VerifiedRun in
            try VerifiedRun.verify(
                run,
                previous: previous,
                device: run.firstSequence == 1 ? nil : device.device,
                workspace: TestDevice.workspace,
                TestDevice.cryptography
            )
        }
        var source = MemoryStore(origin: origin)
        var (sequence, previous) = (UInt64(0), origin)
        while sequence < UInt64(count) {
            let isLarge = self.shapes.isLarge()
            var builder = RunBuilder(replica: replica, firstSequence: sequence + 1)
            for position in 0..<UInt64(isLarge ? 1 : 1 + self.shapes.random.below(30)) {
                let change = self.shapes.change(isLarge: isLarge)
                let number = sequence + position + 1
                builder.beginChange(
                    stamp: Stamp(milliseconds: 1_700_000_000_000 + number),
                    context: (0..<UInt64(change.contextCount)).map { place in
                        let unknown = ReplicaID(bytes: Bytes16(high: place, low: 77))
                        return Point(replica: unknown, sequence: 1 + place, name: ChangeName(rawValue: place))
                    },
                    blinding: Bytes16(high: number, low: seed).array
                )
                if number == 1 { builder.append(.introduce(device.introduction(nonce: nonce))) }
                for edit in change.edits { builder.append(edit) }
            }
            self.count.runs += 1
            let sealed: VerifiedRun
            do throws(RunRejection) {
                sealed = try VerifiedRun.seal(builder, previous: previous, TestDevice.cryptography) { device.sign($0) }
            } catch {
                self.count.refusedRuns += 1
                guard isLarge else { throw Failure(description: "a small run was refused: \(error)") }
                continue
            }
            let received = try self.onTheWire(sealed.run)
            try Self.receive(try verify(received, previous), into: &source)
            sequence = sealed.run.lastSequence
            previous = sealed.hashes.last ?? previous
        }
        try self.relay(from: &source, origin: origin, seed: seed, TestDevice.cryptography, verify)
    }

    // MARK: - Where it goes

    private typealias Verify = (_ run: Run, _ previous: Hash256) throws(RunRejection) -> VerifiedRun

    private mutating func relay(
        from source: inout MemoryStore,
        origin: Hash256,
        seed: UInt64,
        _ cryptography: some ChangeCryptography,
        _ verify: Verify
    ) throws {
        let disk = SimulatedDisk(seed: seed)
        disk.start()
        let fileSystem = VirtualFileSystem(disk: disk, seed: seed)
        // The database is closed before its file system goes.
        defer { withExtendedLifetime(fileSystem) {} }
        var second = try SQLiteStore(virtual: fileSystem.database(), origin: origin)
        var third = MemoryStore(origin: origin)
        let segment = SegmentIndex(rawValue: 0)
        let head = try source.read { transaction throws(StoreError) in transaction.segment(segment).storedHash }
        try self.carry(from: &source, to: &second, origin, cryptography, verify)
        try self.carry(from: &second, to: &third, origin, cryptography, verify)
        second.close()
        let last = try third.read { transaction throws(StoreError) in transaction.segment(segment).storedHash }
        guard last == head else { throw Failure(description: "a chain came out as another") }
    }

    /// Carries the first segment of a store to another, which has nothing of it, run by run.
    private mutating func carry<Source: ReplicaStore & ~Copyable, Target: ReplicaStore & ~Copyable>(
        from source: inout Source,
        to target: inout Target,
        _ origin: Hash256,
        _ cryptography: some ChangeCryptography,
        _ verify: Verify
    ) throws {
        var (next, previous) = (UInt64(1), origin)
        while true {
            let limits = self.shapes.limits()
            let run = try source.read { (transaction: inout Source.Transaction) throws(StoreError) in
                try transaction.loadRun(of: SegmentIndex(rawValue: 0), from: next, limits: limits, signed: true)
            }
            guard let run else { return }
            let verified = try verify(try self.onTheWire(self.shapes.redacted(run, cryptography)), previous)
            try Self.receive(verified, into: &target)
            next = run.lastSequence + 1
            previous = verified.hashes.last ?? previous
            self.count.relayedRuns += 1
        }
    }

    private static func receive<Store: ReplicaStore & ~Copyable>(
        _ run: VerifiedRun,
        into store: inout Store
    ) throws(StoreError) {
        try store.write { (transaction: inout Store.Transaction) throws(StoreError) in
            var merge = Merge(now: WallTime(milliseconds: 1_800_000_000_000), founder: TestDevice.user)
            guard try merge.receive(run, in: &transaction) == .stored else { throw .damaged("a run was not stored") }
            try merge.finish(in: &transaction)
        }
    }

    /// A run as it is after it went over a connection.
    private mutating func onTheWire(_ run: Run) throws -> Run {
        guard run.encoded().count <= run.size.byteCount + Limits.runHeaderByteCountMax else {
            throw Failure(description: "a run is longer than its size says")
        }
        let bytes = Message.run(run).encoded()
        self.count.relayedBytes += bytes.count
        var reader = MessageReader()
        reader.append(bytes)
        guard case .run(let received) = try reader.next()?.message else {
            throw Failure(description: "a run did not arrive")
        }
        return received
    }
}
