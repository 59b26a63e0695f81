import CRDTCore
import Engine
import MergeModel
import Persistence
import SyncProtocol
import Testing

/// What is carried for others: both stores keep, hand over and drop the same parcels.
@Suite struct ParcelTests {
    private static let userCount = 3
    private static let deviceCount = 5
    private static let room = 40 * ParcelLimits.countedByteCountMin

    private static func device(_ number: Int) -> DeviceID { DeviceID(bytes: Bytes32(0, 0, 1, UInt64(number))) }

    private static func user(_ number: Int) -> UserID { UserID(bytes: Bytes32(0, 0, 2, UInt64(number))) }

    private static func id(_ number: Int) -> Hash256 { Hash256(bytes: Bytes32(0, 0, 3, UInt64(number))) }

    /// One step of a carrier.
    private enum Step {
        case add(ParcelRecord, [DeviceID])
        case remove(Hash256, DeviceID)
        case expire(WallTime)

        func run(in transaction: inout some NodeTransaction) throws(StoreError) {
            switch self {
            case .add(let record, let recipients):
                try transaction.removeParcels(of: record.user, beyond: room - record.countedByteCount)
                try transaction.addParcel(record, for: recipients)
            case .remove(let id, let device): try transaction.removeParcel(id, for: device)
            case .expire(let time): try transaction.removeParcels(expiredAt: time)
            }
        }
    }

    /// Some parcels are small, some large, and a few of the ids come again.
    private static func steps(_ count: Int) -> [Step] {
        var random = SplitMix64(seed: 11)
        return (0..<count).map { number in
            let known = random.below(number + 1)
            if random.chance(20) { return .remove(self.id(known), self.device(random.below(self.deviceCount))) }
            if random.chance(2) { return .expire(WallTime(milliseconds: UInt64(number))) }
            let least = ParcelLimits.countedByteCountMin
            let byteCount = random.pick([1, 1, 1, least, 3 * least])
            let record = ParcelRecord(
                id: self.id(random.chance(10) ? known : number),
                user: self.user(random.below(self.userCount)),
                expiry: WallTime(milliseconds: UInt64(number + random.below(500))),
                bytes: Array(repeating: UInt8(truncatingIfNeeded: number), count: byteCount)
            )
            let recipients = (0..<self.deviceCount).filter { _ in random.chance(40) }
            return .add(record, recipients.map { self.device($0) } + [self.device(0)])
        }
    }

    /// What there is after a step.
    private struct Carried: Equatable {
        var count: Int
        var byteCount: Int
        var next: [[UInt8]?] = []

        init(in transaction: inout some NodeTransaction) throws(StoreError) {
            (self.count, self.byteCount) = try transaction.parcelCounts()
            for number in 0..<deviceCount { self.next.append(try transaction.nextParcel(for: device(number))) }
        }
    }

    private static func carried<Store: NodeStore & ~Copyable>(
        _ store: consuming Store,
        after steps: [Step]
    ) throws -> [Carried] {
        var all: [Carried] = []
        for step in steps {
            all.append(
                try store.write { transaction throws(StoreError) in
                    try step.run(in: &transaction)
                    return try Carried(in: &transaction)
                }
            )
        }
        return all
    }

    @Test func `parcels are kept, handed over and dropped alike, and their number is bounded`() throws {
        let directories = try Directories()
        let steps = Self.steps(2_000)
        let expected = try Self.carried(MemoryStore(origin: .zero), after: steps)
        let actual = try Self.carried(SQLiteStore(directory: directories.next(), origin: .zero), after: steps)
        #expect(expected == actual)
        let most = Self.userCount * Self.room / ParcelLimits.countedByteCountMin
        #expect(expected.allSatisfy { $0.count <= most && $0.byteCount <= Self.userCount * Self.room })
        #expect(expected.contains { $0.count > most / 2 })
        // Small ones count for as much as there is room for.
        #expect(expected.contains { $0.byteCount > Self.userCount * Self.room * 3 / 4 })
    }
}
