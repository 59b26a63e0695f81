/// How long one key of a sealed channel may be used, in one direction.
package struct KeyLimits: Equatable, Sendable {
    /// The most records.
    package var recordCount: UInt64
    /// The most bytes of plaintext, record types included.
    package var byteCount: UInt64
    /// The longest time since the first record.
    package var ageMilliseconds: UInt64

    /// Sets limits of one's own.
    package init(recordCount: UInt64, byteCount: UInt64, ageMilliseconds: UInt64) {
        self.recordCount = recordCount
        self.byteCount = byteCount
        self.ageMilliseconds = ageMilliseconds
    }

    /// What a sender keeps to.
    package static let ofSender = KeyLimits(
        recordCount: 1 << 16,
        byteCount: 1 << 30,
        ageMilliseconds: 60 * 60 * 1000
    )

    /// What a receiver puts up with: twice as much, for records on their way and clocks that differ.
    package static let ofReceiver = KeyLimits(
        recordCount: 1 << 17,
        byteCount: 1 << 31,
        ageMilliseconds: 2 * 60 * 60 * 1000
    )
}

/// What one key has been used for so far.
struct KeyUse: Sendable {
    private(set) var recordCount: UInt64 = 0
    private(set) var byteCount: UInt64 = 0
    private(set) var firstUsedAt: UInt64?

    /// Whether one more record would stay within the limits.
    func admits(_ plaintextByteCount: Int, now: UInt64, within limits: KeyLimits) -> Bool {
        let bytes = self.byteCount.addingReportingOverflow(UInt64(plaintextByteCount))
        return self.recordCount < limits.recordCount
            && !bytes.overflow && bytes.partialValue <= limits.byteCount
            && self.age(at: now) < limits.ageMilliseconds
    }

    mutating func note(_ plaintextByteCount: Int, now: UInt64) {
        self.recordCount += 1
        self.byteCount += UInt64(plaintextByteCount)
        if self.firstUsedAt == nil { self.firstUsedAt = now }
    }

    /// The time since the first record; a clock that goes backwards makes no key old.
    private func age(at now: UInt64) -> UInt64 {
        guard let firstUsedAt = self.firstUsedAt, now > firstUsedAt else { return 0 }
        return now - firstUsedAt
    }
}
