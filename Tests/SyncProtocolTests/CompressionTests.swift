import CRDTCore
import Testing

@testable import SyncProtocol

@Suite struct CompressionTests {
    /// A frame of Zstandard (RFC 8878) that claims a length and consists of zeros, in blocks of so many.
    private static func zeros(claimed: Int, actual: Int, by block: Int = 40) -> [UInt8] {
        var frame: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0xa0]
        for shift in [0, 8, 16, 24] { frame.append(UInt8(truncatingIfNeeded: claimed >> shift)) }
        var left = actual
        repeat {
            let count = min(left, block)
            left -= count
            let header = count << 3 | 2 | (left == 0 ? 1 : 0)
            for shift in [0, 8, 16] { frame.append(UInt8(truncatingIfNeeded: header >> shift)) }
            frame.append(0)
        } while left > 0
        return frame
    }

    private static func compressed(_ byteCount: Int, _ frame: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = [1]
        bytes.appendVarint(UInt64(byteCount))
        return bytes + frame
    }

    @Test func `what was compressed comes back`() throws {
        let pattern = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        let noise = (0..<1000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
        for bytes in [[], [1], noise, pattern, Array(repeating: 0, count: 1 << 20)] as [[UInt8]] {
            #expect(try Compression.decompress(Compression.compress(bytes)) == bytes)
        }
    }

    @Test func `a handmade frame is understood, so that those below are refused for what they claim`() throws {
        let bytes = Self.compressed(300_000, Self.zeros(claimed: 300_000, actual: 300_000))
        #expect(try Compression.decompress(bytes) == Array(repeating: 0, count: 300_000))
    }

    @Test func `more than the limit is refused for what it claims`() {
        let limit = MessageLimits.decompressedByteCountMax
        for count in [limit + 1, 1 << 40] {
            let bytes = Self.compressed(count, Self.zeros(claimed: limit, actual: limit))
            #expect(throws: WireError.overLimit) { try Compression.decompress(bytes) }
        }
    }

    @Test func `a frame that claims another length than the message is refused`() {
        for (stated, claimed) in [(10, 1 << 30), (10, 11), (100, 10), (0, 5)] {
            let bytes = Self.compressed(stated, Self.zeros(claimed: claimed, actual: claimed, by: 200))
            #expect(throws: WireError.notCanonical) { try Compression.decompress(bytes) }
        }
    }

    @Test func `what would become many times as long goes as it is, and is refused if it does not`() throws {
        let ratio = MessageLimits.compressionRatioMax
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        #expect(Compression.compress(zeros) == [0] + zeros)
        let dense = Self.compressed(1 << 20, Self.zeros(claimed: 1 << 20, actual: 1 << 20, by: 128 << 10))
        #expect(dense.count * ratio < 1 << 20)
        #expect(throws: WireError.overLimit) { try Compression.decompress(dense) }
        for count in [dense.count * ratio, dense.count * ratio + 1] {
            // Of the same number of bytes, with more or less in them.
            let frame = Self.compressed(count, Self.zeros(claimed: count, actual: count, by: 128 << 10))
            if count <= frame.count * ratio {
                #expect(try Compression.decompress(frame).count == count)
            } else {
                #expect(throws: WireError.overLimit) { try Compression.decompress(frame) }
            }
        }
    }

    @Test func `a frame that holds more or less than it claims is refused`() {
        for actual in [999_999, 1_000_001, 30 << 20] {
            let bytes = Self.compressed(1_000_000, Self.zeros(claimed: 1_000_000, actual: actual))
            #expect(throws: WireError.notCanonical) { try Compression.decompress(bytes) }
        }
    }

    @Test func `a cut or changed frame is refused or stays within its length`() {
        let bytes = Compression.compress((0..<5000).map { UInt8(truncatingIfNeeded: $0 / 9) })
        for count in bytes.indices {
            #expect(throws: WireError.self) { try Compression.decompress(Array(bytes.prefix(count))) }
        }
        for position in bytes.indices {
            var changed = bytes
            changed[position] ^= 0x11
            if let content = try? Compression.decompress(changed) { #expect(content.count <= 8192) }
        }
        #expect(throws: WireError.self) { try Compression.decompress(bytes + [0]) }
        #expect(throws: WireError.unknownKind) { try Compression.decompress([2] + bytes.dropFirst()) }
    }

    @Test func `tables that are next to nothing on the wire do not become large in memory`() {
        // As many empty names as fit: one byte each until decoded, sixteen afterwards.
        let nameCount = MessageLimits.decompressedByteCountMax - 64
        var content: [UInt8] = [Run.formatVersion]
        SampleMessages.replica.bytes.append(to: &content)
        content += [1, 0]
        content.appendVarint(UInt64(nameCount))
        content += Array(repeating: 0, count: nameCount)
        #expect(throws: WireError.overLimit) { try SampleMessages.read(SampleMessages.framed(.run, [0] + content)) }
        #expect(throws: WireError.overLimit) {
            try SampleMessages.read(SampleMessages.framed(.run, Compression.compress(content)))
        }
    }
}
