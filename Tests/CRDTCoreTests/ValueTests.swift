import CRDTCore
import MergeModel
import Testing

@Suite struct ValueTests {
    private static let values: [Value] = [
        .null, .bool(true), .bool(false), .int(0), .int(1), .int(-1), .int(63), .int(64), .int(.max), .int(.min),
        .double(0), .double(-0.0), .double(0.1), .double(.infinity), .double(.leastNonzeroMagnitude),
        .double(bits: 0x7ff8_0000_0000_0000), .double(bits: 0x7ff0_0000_0000_0001),
        .double(bits: 0xffff_ffff_ffff_ffff), .string(""), .string("a"), .string("\u{0}"), .string("e\u{301}"),
        .string("😀"), .document("[]"), .document(""), .bytes([]), .bytes([0, 1, 255]),
        .blob(BlobReference(hash: .zero, byteCount: 0, mediaType: "")),
        .blob(BlobReference(hash: Hash256(bytes: Bytes32(1, 2, 3, 4)), byteCount: .max, mediaType: "audio/mp4")),
    ]

    @Test func `each value comes back bit by bit`() throws {
        for value in Self.values {
            let bytes = value.encoded
            try Value.validate(bytes[...])
            let decoded = try Value(encoded: bytes)
            #expect(decoded.encoded == bytes, "\(value)")
            #expect(decoded == value, "\(value)")
        }
    }

    @Test func `different values have different bytes`() {
        #expect(Set(Self.values.map(\.encoded)).count == Self.values.count)
    }

    @Test func `values are equal if their bytes are, whatever texts look like`() {
        let values = Self.values + [.string("\u{e9}"), .document("\u{e9}"), .document("e\u{301}"), .document("a")]
        for one in values {
            for other in values { #expect((one == other) == (one.encoded == other.encoded), "\(one), \(other)") }
        }
        #expect(Set(values).count == values.count)
    }

    @Test func `what is accepted is in its one form, and validation agrees with decoding`() {
        for seed in Seeds.range(from: 1, count: 500) {
            var random = SplitMix64(seed: seed)
            var bytes = random.chance(50) ? random.pick(Self.values).encoded : random.bytes(1 + random.below(12))
            if random.chance(50) { bytes[0] = UInt8(random.below(10)) }
            if random.chance(30) { bytes.append(UInt8(random.below(256))) }
            if random.chance(30) { bytes.removeLast() }
            let decoded = try? Value(encoded: bytes)
            let isValid = (try? Value.validate(bytes[...])) != nil
            #expect(isValid == (decoded != nil), "PEERD_SEED=\(seed) \(bytes)")
            if let decoded { #expect(decoded.encoded == bytes, "PEERD_SEED=\(seed) \(bytes)") }
        }
    }

    @Test func `values that are not in their one form are refused`() {
        for bytes in [
            [], [9], [255], [0, 0], [1, 0], [2, 2], [3], [3, 0x80, 0], [3, 0, 0], [4, 0, 0, 0, 0, 0, 0, 0],
            [4, 0, 0, 0, 0, 0, 0, 0, 0, 0], [5, 0xff], [6, 0xc3], [8], [8] + Array(repeating: 0, count: 32),
        ] as [[UInt8]] {
            #expect(throws: WireError.self, "\(bytes)") { try Value(encoded: bytes) }
            #expect(throws: WireError.self, "\(bytes)") { try Value.validate(bytes[...]) }
        }
    }
}
