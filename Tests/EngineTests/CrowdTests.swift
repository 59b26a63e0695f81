import CRDTCore
import Engine
import MergeModel
import Testing

/// Who answers for very many chains.
struct CrowdTests {
    private static func certificate(_ number: UInt64) -> DeviceCertificate {
        DeviceCertificate(
            generation: DeviceCertificate.firstGeneration,
            device: DeviceID(bytes: Bytes32(number, 0, 0, 0)),
            staticKey: StaticKey(bytes: Bytes32(number, 1, 1, 1)),
            signature: Signature(first: .zero, second: .zero)
        )
    }

    /// Chains, each of a device named by the first number, which those after it vouch for.
    private func crowds(_ chains: [[UInt64]]) throws -> [Crowd] {
        var store = MemoryStore(origin: .zero)
        return try store.write { transaction throws(StoreError) in
            for (number, certifiers) in chains.enumerated() {
                var record = SegmentRecord(id: ReplicaID(bytes: Bytes16(high: 1, low: UInt64(number))), origin: .zero)
                record.introduction = Introduction(
                    user: TestDevice.user,
                    deviceName: "device \(certifiers[0])",
                    nonce: Bytes16(high: 0, low: UInt64(number)),
                    certificates: certifiers.map { Self.certificate($0) }
                )
                _ = transaction.addSegment(record)
            }
            return Crowd.all(in: transaction)
        }
    }

    @Test func `a device that opens very many is named, and not those that vouch for all`() throws {
        let many = Array(repeating: [3, 2, 1] as [UInt64], count: Crowd.segmentCountMin)
        #expect(try self.crowds([[1], [2, 1]] + many.dropLast()).map(\.deviceName) == ["device 2"])
        let crowds = try self.crowds([[1], [2, 1]] + many)
        #expect(crowds.map(\.deviceName) == ["device 2", "device 3"])
        #expect(crowds.map(\.isByOthers) == [true, false])
        #expect(crowds.map(\.segmentCount) == [Crowd.segmentCountMin + 1, Crowd.segmentCountMin])
    }

    @Test func `a device that makes up others is named for them`() throws {
        let made = (0..<UInt64(Crowd.segmentCountMin)).map { [$0 + 10, 2, 1] }
        let crowds = try self.crowds([[1]] + made)
        #expect(crowds.count == 1 && crowds.first?.isByOthers == true)
        #expect(crowds.first?.device == Self.certificate(2).device)
        #expect(try self.crowds([[1]] + made.map { [$0[0], 1] }).isEmpty)
    }
}
