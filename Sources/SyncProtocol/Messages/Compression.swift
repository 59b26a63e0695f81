internal import CRDTCore
internal import CZstd

/// Zstandard (RFC 8878) with the length in front, so that nothing is decompressed beyond its limit.
enum Compression {
    /// A compromise between speed and size: about 300 MB/s on one core.
    private static let level: Int32 = 1
    /// Fewer are mostly ids, hashes and a signature: to try would cost more than all else that is done to send them.
    private static let byteCountMin = 256

    /// 1 and the length, then a Zstandard frame; or 0 and the bytes themselves, if few, or no longer so, or much
    /// longer.
    static func compress(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count >= self.byteCountMin else { return [0] + bytes }
        var result: [UInt8] = [1]
        result.appendVarint(UInt64(bytes.count))
        let header = result.count
        let bound = ZSTD_compressBound(bytes.count)
        result.append(contentsOf: repeatElement(0, count: bound))
        let written = bytes.withUnsafeBytes { source in
            result.withUnsafeMutableBytes { target in
                czstd_compress(
                    target.baseAddress?.advanced(by: header),
                    bound,
                    source.baseAddress,
                    source.count,
                    self.level
                )
            }
        }
        guard ZSTD_isError(written) == 0, header + written <= bytes.count,
            bytes.count <= (header + written) * MessageLimits.compressionRatioMax
        else { return [0] + bytes }
        result.removeLast(bound - written)
        return result
    }

    /// What was compressed; throws for anything that `compress` does not make, and for more than the limit.
    static func decompress(_ bytes: [UInt8]) throws(WireError) -> [UInt8] {
        var reader = ByteReader(bytes)
        switch try reader.byte() {
        case 0: return Array(bytes.dropFirst())
        case 1: break
        default: throw .unknownKind
        }
        let ratioLimit = bytes.count * MessageLimits.compressionRatioMax
        let count = try reader.count(atMost: min(MessageLimits.decompressedByteCountMax, ratioLimit))
        let frame = bytes[reader.offset...]
        // A frame that does not promise what the length says is not given memory.
        let promised = frame.withUnsafeBytes { ZSTD_getFrameContentSize($0.baseAddress, $0.count) }
        guard promised == UInt64(count) else { throw .notCanonical }
        var failed = false
        let result = [UInt8](unsafeUninitializedCapacity: count) { target, initialized in
            let written = frame.withUnsafeBytes { source in
                czstd_decompress(target.baseAddress, count, source.baseAddress, source.count)
            }
            failed = ZSTD_isError(written) != 0 || written != count
            initialized = failed ? 0 : count
        }
        guard !failed else { throw .notCanonical }
        return result
    }
}
