extension SealedChannel {
    /// The receiving direction.
    struct Incoming: ~Copyable, Sendable {
        private var cipher: NoiseCipherState
        private let limits: KeyLimits
        private var use = KeyUse()
        /// The beginning of a record whose end has not arrived.
        private var pending: [UInt8] = []
        private(set) var sawClose = false
        private var violation: Violation?

        init(cipher: consuming NoiseCipherState, limits: KeyLimits) {
            self.cipher = cipher
            self.limits = limits
        }
    }
}

extension SealedChannel.Incoming {
    mutating func open(_ received: RawSpan, now: UInt64) -> SealedChannel.Opened {
        guard self.violation == nil else { return SealedChannel.Opened(stream: [], end: self.end) }
        var pending: [UInt8] = []
        swap(&pending, &self.pending)
        var offset = Self.complete(&pending, from: received)
        let pendingByteCount = Self.wholeRecordsByteCount(of: pending.span.bytes, from: 0)
        let endOfWholeRecords = offset + Self.wholeRecordsByteCount(of: received, from: offset)

        var stream: [UInt8] = []
        stream.reserveCapacity(1 + pendingByteCount + endOfWholeRecords - offset)
        // Room for the kind of the first record, see `openRecord`.
        stream.append(0)
        if pendingByteCount > 0 {
            self.openRecord(pending.span.bytes, appendingTo: &stream, now: now)
            pending.removeAll(keepingCapacity: true)
        }
        while offset < endOfWholeRecords, self.violation == nil, !self.sawClose {
            guard let byteCount = Self.recordByteCount(of: received, at: offset) else { break }
            self.openRecord(received.extracting(offset..<offset + byteCount), appendingTo: &stream, now: now)
            offset += byteCount
        }
        swap(&pending, &self.pending)
        self.keep(received.extracting(offset..<received.byteCount))
        return SealedChannel.Opened(stream: stream.dropFirst(), end: self.end)
    }

    private var end: SealedChannel.End? {
        if let violation = self.violation { return .violation(violation) }
        return self.sawClose ? .closed : nil
    }

    /// Keeps the beginning of the next record; after a close record there must be none.
    private mutating func keep(_ rest: RawSpan) {
        guard self.violation == nil, rest.byteCount > 0 || !self.pending.isEmpty else { return }
        guard !self.sawClose else {
            self.violation = .recordAfterClose
            return
        }
        rest.withUnsafeBytes { self.pending.append(contentsOf: $0) }
        let byteCount = Self.recordByteCount(of: self.pending.span.bytes, at: 0)
        if let byteCount, byteCount < SealedRecord.lengthByteCount + SealedRecord.ciphertextByteCountMin {
            self.violation = .shortRecord
        }
    }

    /// Opens one whole record, and appends what it adds to the stream.
    ///
    /// The kind comes before the data. So that the data follow the stream without another copy, the kind takes the
    /// place of the stream's last byte for a moment.
    private mutating func openRecord(_ record: RawSpan, appendingTo stream: inout [UInt8], now: UInt64) {
        let ciphertext = record.extracting(SealedRecord.lengthByteCount..<record.byteCount)
        guard ciphertext.byteCount >= SealedRecord.ciphertextByteCountMin, let last = stream.popLast() else {
            self.violation = .shortRecord
            return
        }
        let kindOffset = stream.count
        do throws(NoiseError) {
            try self.cipher.open(ciphertext, appendingTo: &stream, authenticating: RawSpan())
        } catch {
            stream.append(last)
            self.violation = error == .nonceExhausted ? .overusedKey : .badTag
            return
        }
        let kind = SealedRecord.Kind(rawValue: stream[kindOffset])
        stream[kindOffset] = last
        let dataByteCount = stream.count - kindOffset - SealedRecord.kindByteCount
        self.violation = self.apply(kind, dataByteCount: dataByteCount, now: now)
        if self.violation != nil { stream.removeLast(dataByteCount) }
    }

    private mutating func apply(
        _ kind: SealedRecord.Kind?,
        dataByteCount: Int,
        now: UInt64
    ) -> SealedChannel.Violation? {
        switch kind {
        case .data:
            let plaintextByteCount = SealedRecord.kindByteCount + dataByteCount
            guard dataByteCount > 0 else { return .shortRecord }
            guard self.use.admits(plaintextByteCount, now: now, within: self.limits) else { return .overusedKey }
            self.use.note(plaintextByteCount, now: now)
        case .rekey:
            guard dataByteCount == 0 else { return .malformedRecord }
            self.cipher.rekey()
            self.use = KeyUse()
        case .close:
            guard dataByteCount == 0 else { return .malformedRecord }
            self.sawClose = true
        case .none:
            return .malformedRecord
        }
        return nil
    }

    /// Adds to the beginning of a record what it lacks, as far as it is there.
    ///
    /// - Returns: The number of bytes taken from `received`.
    private static func complete(_ pending: inout [UInt8], from received: RawSpan) -> Int {
        guard !pending.isEmpty else { return 0 }
        var offset = 0
        while offset < received.byteCount {
            let wanted = Self.recordByteCount(of: pending.span.bytes, at: 0) ?? SealedRecord.lengthByteCount
            let count = min(wanted - pending.count, received.byteCount - offset)
            guard count > 0 else { break }
            received.extracting(offset..<offset + count).withUnsafeBytes { pending.append(contentsOf: $0) }
            offset += count
        }
        return offset
    }

    private static func wholeRecordsByteCount(of bytes: RawSpan, from start: Int) -> Int {
        var end = start
        while let byteCount = Self.recordByteCount(of: bytes, at: end), byteCount <= bytes.byteCount - end {
            end += byteCount
        }
        return end - start
    }

    /// The length of the record that begins at an offset, its length field included; nil while that is incomplete.
    private static func recordByteCount(of bytes: RawSpan, at offset: Int) -> Int? {
        guard offset <= bytes.byteCount - SealedRecord.lengthByteCount else { return nil }
        let high = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
        let low = bytes.unsafeLoad(fromByteOffset: offset + 1, as: UInt8.self)
        return SealedRecord.lengthByteCount + Int(high) << 8 + Int(low)
    }
}
