extension SealedChannel {
    /// The sending direction.
    struct Outgoing: ~Copyable, Sendable {
        private var cipher: NoiseCipherState
        private let limits: KeyLimits
        private var use = KeyUse()
        private(set) var isClosed = false

        init(cipher: consuming NoiseCipherState, limits: KeyLimits) {
            self.cipher = cipher
            self.limits = limits
        }
    }
}

extension SealedChannel.Outgoing {
    mutating func seal(_ bytes: RawSpan, now: UInt64) -> [UInt8] {
        var records: [UInt8] = []
        let recordCount = (bytes.byteCount + SealedRecord.dataByteCountMax - 1) / SealedRecord.dataByteCountMax
        records.reserveCapacity(bytes.byteCount + (recordCount + 1) * SealedRecord.overheadByteCount)
        var offset = 0
        while offset < bytes.byteCount, !self.isClosed {
            let end = min(offset + SealedRecord.dataByteCountMax, bytes.byteCount)
            let plaintextByteCount = SealedRecord.kindByteCount + end - offset
            if !self.use.admits(plaintextByteCount, now: now, within: self.limits) {
                self.rekey(appendingTo: &records, now: now)
            }
            self.append(.data, bytes.extracting(offset..<end), to: &records, now: now)
            offset = end
        }
        return records
    }

    mutating func close(now: UInt64) -> [UInt8] {
        var record: [UInt8] = []
        self.append(.close, RawSpan(), to: &record, now: now)
        self.isClosed = true
        return record
    }

    /// Goes over to the next key, if the present one was used at all.
    private mutating func rekey(appendingTo records: inout [UInt8], now: UInt64) {
        guard self.use.recordCount > 0 else { return }
        self.append(.rekey, RawSpan(), to: &records, now: now)
        self.cipher.rekey()
        self.use = KeyUse()
    }

    private mutating func append(
        _ kind: SealedRecord.Kind,
        _ data: RawSpan,
        to records: inout [UInt8],
        now: UInt64
    ) {
        guard !self.isClosed else { return }
        let start = records.count
        let ciphertextByteCount = SealedRecord.ciphertextByteCountMin + data.byteCount
        records.append(UInt8(truncatingIfNeeded: ciphertextByteCount >> 8))
        records.append(UInt8(truncatingIfNeeded: ciphertextByteCount))
        records.append(kind.rawValue)
        data.withUnsafeBytes { records.append(contentsOf: $0) }
        do throws(NoiseError) {
            try self.cipher.sealInPlace(
                &records,
                from: start + SealedRecord.lengthByteCount,
                authenticating: RawSpan()
            )
            self.use.note(SealedRecord.kindByteCount + data.byteCount, now: now)
        } catch {
            // All nonces are used up: what cannot be sealed is not sent, and the peer sees a truncation.
            records.removeLast(records.count - start)
            self.isClosed = true
        }
    }
}
