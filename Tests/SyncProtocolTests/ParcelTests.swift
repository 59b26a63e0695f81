import CRDTCore
import PeerCrypto
import SyncProtocol
import Testing

struct ParcelTests {
    private func runs(of parcel: Parcel, _ device: DeviceID, _ seed: UInt8) throws -> [Run]? {
        let key = try SampleMessages.agreementKey(seed)
        guard var content = parcel.opened(by: key, of: device) else { return nil }
        var runs: [Run] = []
        while true {
            let next = content.next()
            if next.isEmpty { return runs }
            runs += next
        }
    }

    @Test func `a recipient reads what was packed, nobody else does, and nobody what was changed on the way`() throws {
        let run = try SampleMessages.run()
        let message = Message.run(run).encoded()
        let (parcel, device, seed) = try SampleMessages.parcel([message, message, message])
        #expect(try self.runs(of: parcel, device, seed) == [run, run, run])
        #expect(try self.runs(of: parcel, device, 9) == nil)
        #expect(try self.runs(of: parcel, DeviceID(bytes: Bytes32(8, 8, 8, 8)), seed) == nil)
        let bytes = parcel.encoded()
        #expect(try Parcel(decoding: bytes) == parcel)
        #expect(bytes.firstRange(of: message.prefix(24)) == nil)
        for place in bytes.indices where place % 7 == 0 || place < 260 {
            var changed = bytes
            changed[place] ^= 1
            guard let other = try? Parcel(decoding: changed) else { continue }
            // The first recipient's sealed key is no concern of the second one, but for being sealed with the rest.
            #expect(try self.runs(of: other, device, seed) == nil, "byte \(place)")
            #expect(other.id != parcel.id)
        }
        for count in 0..<200 { #expect((try? Parcel(decoding: Array(bytes.prefix(count)))) == nil) }
    }

    @Test func `what is no run ends a parcel`() throws {
        let run = Message.run(try SampleMessages.run()).encoded()
        for others in [[Message.caughtUp.encoded()], [[200, 1, 2]], [Array(run.dropLast())]] {
            let (parcel, device, seed) = try SampleMessages.parcel([run] + others)
            #expect(try self.runs(of: parcel, device, seed)?.count == 1)
        }
        let (empty, device, seed) = try SampleMessages.parcel([])
        #expect(try self.runs(of: empty, device, seed) == [])
    }

    @Test func `a parcel costs 80 bytes for each device, and tells its length in few digits`() throws {
        var lengths: Set<Int> = []
        for count in stride(from: 1_000, to: 100_000, by: 1_000) {
            let parcel = try SampleMessages.parcel([[UInt8](repeating: 1, count: count)]).parcel
            #expect(parcel.content.count >= count)
            #expect(parcel.content.count - 16 <= count + count / 8)
            lengths.insert(parcel.content.count)
            let prefix = parcel.content.count < 1 << 14 ? 2 : 3
            #expect(parcel.encoded().count == parcel.content.count + 32 + 6 + 32 + 1 + 2 * 80 + prefix)
        }
        #expect(lengths.count < 70)
    }
}
