import CRDTCore
import Engine
import MergeModel
import Persistence
import Testing

/// The port's rows, beyond what merging makes of them.
@Suite struct StoreRowsTests {
    private func write(_ stamp: UInt64, _ segment: UInt32, _ sequence: UInt64 = 1) -> WriteReference {
        WriteReference(
            stamp: Stamp(rawValue: stamp),
            segment: SegmentIndex(rawValue: segment),
            sequence: sequence,
            index: UInt32(sequence % 3)
        )
    }

    @Test(arguments: Seeds.range(from: 1, count: 10))
    func `moves are ordered as in memory, whatever their stamps`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        var disk = try SQLiteStore(directory: directory.path, origin: Author.origin)
        var memory = MemoryStore(origin: Author.origin)
        // Few stamps, so that ids must break ties, and some with the highest bit, which SQLite takes for a sign.
        let stamps: [UInt64] = [1, 2, 3, 1 << 62, .max >> 1, 1 << 63, (1 << 63) + 1, .max]
        let ids = (0..<5).map { _ in ReplicaID(bytes: Bytes16(high: random.next(), low: 0)) }
        var moves: [MoveRecord] = []
        for sequence in 1...60 as ClosedRange<UInt64> {
            moves.append(
                MoveRecord(
                    write: self.write(random.pick(stamps), UInt32(random.below(5)), sequence),
                    object: ObjectIndex(rawValue: UInt32(random.below(4))),
                    parent: random.chance(30) ? nil : ObjectIndex(rawValue: UInt32(random.below(4))),
                    position: Position(bytes: [UInt8(random.below(200))]),
                    isEffective: random.chance(50)
                )
            )
        }
        let flipped = moves.filter { _ in random.chance(30) }
        let questions = moves.map(\.write)
        let onDisk = try disk.write { transaction throws(StoreError) in
            try Self.answers(&transaction, ids, moves, flipped, questions)
        }
        let inMemory = try memory.write { transaction throws(StoreError) in
            try Self.answers(&transaction, ids, moves, flipped, questions)
        }
        #expect(onDisk == inMemory, "seed \(seed)")
    }

    private static func answers(
        _ transaction: inout some NodeTransaction,
        _ ids: [ReplicaID],
        _ moves: [MoveRecord],
        _ flipped: [MoveRecord],
        _ questions: [WriteReference]
    ) throws(StoreError) -> [[MoveRecord]] {
        for id in ids { _ = try transaction.addSegment(SegmentRecord(id: id, origin: .zero)) }
        for number in 0..<4 as Range<UInt64> { _ = try transaction.objectIndex(of: object(number)) }
        for move in moves { try transaction.addMove(move) }
        for move in flipped {
            var move = move
            move.isEffective.toggle()
            try transaction.setMove(move)
        }
        var answers = [try transaction.movesWithoutEffect()]
        for write in questions {
            answers.append(try transaction.moves(after: write))
            for number in 0..<4 as Range<UInt32> {
                let last = try transaction.lastEffectiveMove(of: ObjectIndex(rawValue: number), before: write)
                answers.append(last.map { [$0] } ?? [])
            }
        }
        return answers
    }

    private static func addSegment(_ transaction: inout some NodeTransaction) throws(StoreError) {
        _ = try transaction.addSegment(SegmentRecord(id: ReplicaID(bytes: Bytes16(high: 1, low: 1)), origin: .zero))
    }

    @Test func `rows are seen within their transaction, before and after they are written out`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        let first = self.write(5, 0, 1)
        let second = self.write(6, 0, 2)
        let register = Register(winner: second, isRemoval: true, conflictCount: 1, writeCount: 7)
        for round in 0..<2 {
            try store.write { transaction throws(StoreError) in
                if round == 0 { try Self.addSegment(&transaction) }
                let index = try transaction.objectIndex(of: object(1))
                let name = try transaction.nameIndex(of: "name")
                let key = RegisterKey(object: index, name: name)
                if round == 0 {
                    #expect(try transaction.register(key) == nil)
                    try transaction.setRegister(register, at: key)
                    try transaction.addVersion(first, status: .conflict, at: key)
                    try transaction.update(index) { $0.position = Position(bytes: [3]) }
                }
                #expect(try transaction.register(key) == register)
                #expect(try transaction.conflicts(at: key) == [first])
                #expect(try transaction.registers(of: index).map(\.1) == [register])
                #expect(try transaction.conflictedRegisters().map(\.0) == [key])
                #expect(try transaction.children(of: nil) == [index])
                #expect(try transaction.object(index).position == Position(bytes: [3]))
                #expect(try transaction.name(name) == "name")
                if round == 1 {
                    try transaction.setVersion(first, status: .superseded, at: key)
                    #expect(try transaction.conflicts(at: key).isEmpty)
                    #expect(try transaction.conflictedRegisters().isEmpty)
                }
            }
        }
    }

    @Test func `facts are kept, replaced and removed`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        try store.write { transaction throws(StoreError) in
            #expect(try transaction.fact("a") == nil)
            try transaction.setFact("a", [1, 2])
            try transaction.setFact("b", [])
            try transaction.setFact("a", [3])
            try transaction.setFact("c", [4])
            try transaction.setFact("c", nil)
        }
        try store.read { transaction throws(StoreError) in
            #expect(try transaction.fact("a") == [3])
            #expect(try transaction.fact("b") == [])
            #expect(try transaction.fact("c") == nil)
        }
    }

    private static let devices = (1...3 as ClosedRange<UInt64>).map { number in
        PairedDeviceRecord(
            introduction: [UInt8](repeating: UInt8(number), count: Int(number)),
            lapse: number == 2 ? WallTime(milliseconds: 1 << 63 + 5) : nil
        )
    }
    private static let invites = (1...3 as ClosedRange<UInt64>).map { number in
        InviteRecord(
            secret: Bytes32(0x7365_6372_6574_0000 + number, 9, 9, 9),
            person: number == 3 ? "é" : nil,
            expiry: WallTime(milliseconds: number)
        )
    }
    private static let addresses = (1...3 as ClosedRange<UInt64>).map { number in
        AddressRecord(
            device: DeviceID(bytes: Bytes32(number, 4, 4, 4)),
            staticKey: StaticKey(bytes: Bytes32(3 - number / 2, 0, 0, 0)),
            host: "h\(number)",
            port: .max
        )
    }

    @Test func `what a device keeps for itself is replaced as a whole, in its order`() throws {
        let directory = try TemporaryDirectory()
        var store = try SQLiteStoreHandle(directory)
        try store.write { transaction throws(StoreError) in
            try transaction.setPairedDevices(Self.devices.reversed())
            try transaction.setInvites(Self.invites.reversed())
            try transaction.setAddresses(Self.addresses.reversed())
        }
        try store.write { transaction throws(StoreError) in
            try transaction.setPairedDevices(Self.devices)
            try transaction.setInvites(Self.invites)
            try transaction.setAddresses(Self.addresses)
        }
        store.close()
        store = try SQLiteStoreHandle(directory)
        try store.read { transaction throws(StoreError) in
            #expect(try transaction.pairedDevices() == Self.devices)
            #expect(try transaction.invites() == Self.invites)
            #expect(try transaction.addresses() == Self.addresses)
        }
        store.close()
    }

    @Test func `the secret of an invite that is used up is nowhere in the file`() throws {
        let directory = try TemporaryDirectory()
        let secret = Self.invites[1].secret.array
        func isInFile() throws -> Bool {
            try directory.bytes(of: directory.database).split(separator: secret, maxSplits: 1).count > 1
        }
        for invites in [Self.invites, [Self.invites[0], Self.invites[2]]] {
            let store = try SQLiteStoreHandle(directory)
            try store.write { transaction throws(StoreError) in try transaction.setInvites(invites) }
            store.close()
            #expect(try isInFile() == invites.contains(Self.invites[1]))
        }
    }

    @Test func `more rows than are held in memory come out the same`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        let count: UInt64 = 90_000
        try store.write { transaction throws(StoreError) in
            try Self.addSegment(&transaction)
            let name = try transaction.nameIndex(of: "n")
            for number in 0..<count {
                let index = try transaction.objectIndex(of: object(number))
                let write = self.write(number + 1, 0)
                let register = Register(winner: write, isRemoval: false, conflictCount: 0, writeCount: 1)
                try transaction.setRegister(register, at: RegisterKey(object: index, name: name))
            }
            for number in stride(from: 0, to: count, by: 997) {
                let index = try transaction.objectIndex(of: object(number))
                #expect(index.rawValue == UInt32(number))
                let register = try transaction.register(RegisterKey(object: index, name: name))
                #expect(register?.winner == self.write(number + 1, 0))
            }
        }
    }

    @Test func `properties that are written out before their objects are found again`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        let (objectCount, nameCount) = (6_000 as UInt64, 12 as UInt64)
        func register(_ number: UInt64, _ name: UInt64) -> Register {
            let winner = self.write(2 + number * nameCount + name, 0)
            return Register(winner: winner, isRemoval: name == 1, conflictCount: name == 0 ? 1 : 0, writeCount: 2)
        }
        try store.write { transaction throws(StoreError) in
            try Self.addSegment(&transaction)
            var names: [NameIndex] = []
            for name in 0..<nameCount { names.append(try transaction.nameIndex(of: "\(name)")) }
            for number in 0..<objectCount {
                let index = try transaction.objectIndex(of: object(number))
                let contested = RegisterKey(object: index, name: names[0])
                try transaction.addVersion(self.write(1, 0, number + 1), status: .conflict, at: contested)
                for (name, word) in names.enumerated() {
                    let key = RegisterKey(object: index, name: word)
                    #expect(try transaction.register(key) == nil)
                    try transaction.setRegister(register(number, UInt64(name)), at: key)
                }
            }
            for number in stride(from: 0, to: objectCount, by: 97) {
                let index = try transaction.objectIndex(of: object(number))
                for (name, word) in names.enumerated() {
                    let key = RegisterKey(object: index, name: word)
                    #expect(try transaction.register(key) == register(number, UInt64(name)))
                    let conflict = name == 0 ? [self.write(1, 0, number + 1)] : []
                    #expect(try transaction.firstConflicts(at: key, from: SegmentIndex(rawValue: 0)) == conflict)
                    #expect(try transaction.conflicts(at: key) == conflict)
                }
                #expect(try transaction.object(index).id == object(number))
            }
        }
        try store.read { transaction throws(StoreError) in
            #expect(try transaction.conflictedRegisters().count == Int(objectCount))
            let last = try transaction.objectIndex(of: object(objectCount - 1))
            #expect(try transaction.registers(of: last).count == Int(nameCount))
            #expect(try !transaction.hasUnlistedName())
        }
    }
}
