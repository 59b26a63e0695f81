import CRDTCore
import MergeModel
import Testing

@Suite struct ByteReaderTests {
    private static let edges: [UInt64] = [
        0, 1, 0x7f, 0x80, 0x3fff, 0x4000, 1 << 32, UInt64(Int64.max), 1 << 63, .max - 1, .max,
    ]

    @Test(arguments: edges) func `an integer has one form`(value: UInt64) throws {
        var bytes: [UInt8] = []
        bytes.appendVarint(value)
        var reader = ByteReader(bytes)
        let decoded = try reader.varint()
        #expect(decoded == value)
        try reader.finish()
        // One byte more than needed.
        var overlong = bytes
        overlong[overlong.count - 1] |= 0x80
        overlong.append(0)
        var second = ByteReader(overlong)
        #expect(throws: WireError.badInteger) { try second.varint() }
    }

    @Test func `integers that do not fit are refused`() {
        for tail in [[0x02], [0x7f], [0x81, 0x00], [0x80, 0x01], [0xff, 0xff, 0xff]] as [[UInt8]] {
            var reader = ByteReader(Array(repeating: 0xff, count: 9) + tail)
            #expect(throws: WireError.badInteger) { try reader.varint() }
        }
        var cut = ByteReader([0x80, 0x80])
        #expect(throws: WireError.truncated) { try cut.varint() }
    }

    @Test(arguments: [0, 1, -1, 63, -64, .max, .min] as [Int64])
    func `signed integers come back`(value: Int64) throws {
        var bytes: [UInt8] = []
        bytes.appendZigzag(value)
        var reader = ByteReader(bytes)
        let decoded = try reader.zigzag()
        #expect(decoded == value)
    }

    @Test func `a length above its limit or beyond the end is refused`() {
        var long = ByteReader([5, 1, 2, 3, 4, 5])
        #expect(throws: WireError.overLimit) { try long.prefixed(atMost: 4) }
        var short = ByteReader([5, 1, 2])
        #expect(throws: WireError.truncated) { try short.prefixed(atMost: 9) }
        var huge = ByteReader([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1])
        #expect(throws: WireError.overLimit) { try huge.prefixed(atMost: .max) }
        var negative = ByteReader([1])
        #expect(throws: WireError.truncated) { try negative.slice(-1) }
    }

    @Test func `text that is not UTF-8 is refused`() {
        for bytes in [[1, 0xff], [2, 0xc0, 0x80], [3, 0xed, 0xa0, 0x80]] as [[UInt8]] {
            var reader = ByteReader(bytes)
            #expect(throws: WireError.notCanonical) { try reader.text(atMost: 10) }
        }
    }

    @Test func `fixed-size reads end with the bytes`() {
        for count in 0..<64 {
            let bytes = Array(repeating: UInt8(1), count: count)
            func reads<Value>(_ read: (inout ByteReader) throws -> Value) -> Bool {
                var reader = ByteReader(bytes)
                return (try? read(&reader)) != nil
            }
            #expect(reads { try $0.bigEndian() } == (count >= 8))
            #expect(reads { try $0.bytes16() } == (count >= 16))
            #expect(reads { try $0.bytes32() } == (count >= 32))
            #expect(!reads { try $0.signature() })
        }
    }

    @Test func `bytes are ordered as byte strings`() {
        for seed in Seeds.range(from: 1, count: 200) {
            var random = SplitMix64(seed: seed)
            // Alike at the front, so that the later words decide too.
            let common = random.bytes(random.below(16))
            let left = common + random.bytes(16 - common.count)
            let right = common + random.bytes(16 - common.count)
            let precedes = left.lexicographicallyPrecedes(right)
            #expect((Bytes16(left)! < Bytes16(right)!) == precedes, "PEERD_SEED=\(seed)")
            let zeros = Array(repeating: UInt8(9), count: 16)
            #expect((Bytes32(zeros + left)! < Bytes32(zeros + right)!) == precedes, "PEERD_SEED=\(seed)")
            #expect(Bytes16(left)!.array == left)
            #expect(Bytes32(left + right)!.array == left + right)
        }
    }
}
