import CRDTCore
import MergeModel
import Testing

@Suite struct ValueTests {
    private static let values: [Value] =
        ([
            .null, .bool(true), .bool(false), .int(0), .int(1), .int(-1), .int(63), .int(64), .int(.max), .int(.min),
            .double(0), .double(-0.0), .double(0.1), .double(.infinity), .double(.leastNonzeroMagnitude),
            .double(bits: 0x7ff8_0000_0000_0000), .double(bits: 0x7ff0_0000_0000_0001),
            .double(bits: 0xffff_ffff_ffff_ffff), .string(""), .string("a"), .string("\u{0}"), .string("e\u{301}"),
            .string("😀"), .document("[]"), .document(""), .bytes([]), .bytes([0, 1, 255]),
            Self.blob(byteCount: 0, mediaType: "", fileName: ""),
            Self.blob(byteCount: 1 << 40, mediaType: "a", fileName: "b"),
            Self.blob(byteCount: 1 << 40, mediaType: "", fileName: "ab"), Self.blob(fileName: "e\u{301}"),
            Self.blob(fileName: "\u{e9}"), Self.blob(mediaType: String(repeating: "t", count: 255), fileName: "n"),
            Self.blob(fileName: String(repeating: "n", count: 255)),
        ] as [Value?]).compactMap(\.self)

    private static func blob(
        byteCount: UInt64 = 1,
        mediaType: String = "audio/mp4",
        fileName: String
    ) -> Value? {
        BlobReference(
            root: BlobRoot(bytes: Bytes32(1, 2, 3, 4)),
            byteCount: byteCount,
            mediaType: mediaType,
            fileName: fileName
        ).map { .blob($0) }
    }

    @Test func `a reference to a blob has limits`() throws {
        #expect(Self.blob(byteCount: 1 << 40 + 1, fileName: "") == nil)
        #expect(Self.blob(mediaType: String(repeating: "t", count: 256), fileName: "") == nil)
        #expect(Self.blob(fileName: String(repeating: "n", count: 256)) == nil)
        let longest = try #require(Self.blob(fileName: String(repeating: "n", count: 255)))
        #expect(throws: WireError.overLimit) { try Value(encoded: longest.encoded + [0x6e]) }
        #expect(throws: WireError.notCanonical) { try Value.validate((longest.encoded.dropLast() + [0xff])[...]) }
        // What is no reference in JSON is a document, as any other object is.
        guard case .object(var members) = longest.json, case .object(var fields)? = members["$blob"] else {
            Issue.record("the JSON of a reference")
            return
        }
        #expect(Value(.object(members)) == longest)
        fields["bytes"] = .int(-1)
        members["$blob"] = .object(fields)
        guard case .document = Value(.object(members)) else {
            Issue.record("a reference of no length")
            return
        }
    }

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
