/// Thirty-two bytes held in registers, compared and ordered as a byte string.
///
/// Keys and hashes are wrapped around this value; it allocates nothing and is hashed by its words.
package struct Bytes32: Hashable, Sendable {
    /// Big-endian words, so that comparing words is comparing bytes.
    package let words: (UInt64, UInt64, UInt64, UInt64)

    /// The number of bytes.
    package static let byteCount = 32

    /// Thirty-two zero bytes.
    package static let zero = Bytes32(0, 0, 0, 0)

    package init(_ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64) {
        self.words = (first, second, third, fourth)
    }

    /// Reads exactly 32 bytes, or returns nil.
    package init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count == Bytes32.byteCount else { return nil }
        let start = bytes.startIndex
        self.init(
            bytes.bigEndianWord(at: start),
            bytes.bigEndianWord(at: start + 8),
            bytes.bigEndianWord(at: start + 16),
            bytes.bigEndianWord(at: start + 24)
        )
    }

    /// Reads exactly 32 bytes, or returns nil.
    package init?(_ bytes: [UInt8]) { self.init(bytes[...]) }

    package static func == (left: Bytes32, right: Bytes32) -> Bool {
        left.words == right.words
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.words.0)
        hasher.combine(self.words.1)
        hasher.combine(self.words.2)
        hasher.combine(self.words.3)
    }

    /// Appends the 32 bytes.
    package func append(to bytes: inout [UInt8]) {
        let words = (
            self.words.0.bigEndian, self.words.1.bigEndian, self.words.2.bigEndian, self.words.3.bigEndian
        )
        unsafe Swift.withUnsafeBytes(of: words) { unsafe bytes.append(contentsOf: $0) }
    }

    /// The 32 bytes as a new array.
    package var array: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Bytes32.byteCount)
        self.append(to: &bytes)
        return bytes
    }
}

extension Bytes32: Comparable {
    package static func < (left: Bytes32, right: Bytes32) -> Bool {
        left.words < right.words
    }
}

/// Sixteen bytes held in registers, compared and ordered as a byte string.
package struct Bytes16: Hashable, Sendable {
    /// The first eight bytes, big-endian.
    package var high: UInt64
    /// The last eight bytes, big-endian.
    package var low: UInt64

    /// The number of bytes.
    package static let byteCount = 16

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads exactly 16 bytes, or returns nil.
    package init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count == Bytes16.byteCount else { return nil }
        let start = bytes.startIndex
        self.init(high: bytes.bigEndianWord(at: start), low: bytes.bigEndianWord(at: start + 8))
    }

    /// Reads exactly 16 bytes, or returns nil.
    package init?(_ bytes: [UInt8]) { self.init(bytes[...]) }

    /// Appends the 16 bytes.
    package func append(to bytes: inout [UInt8]) {
        let words = (self.high.bigEndian, self.low.bigEndian)
        unsafe Swift.withUnsafeBytes(of: words) { unsafe bytes.append(contentsOf: $0) }
    }

    /// The 16 bytes as a new array.
    package var array: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Bytes16.byteCount)
        self.append(to: &bytes)
        return bytes
    }
}

extension Bytes16: Comparable {
    package static func < (left: Bytes16, right: Bytes16) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension ArraySlice<UInt8> {
    /// Eight bytes, most significant first; the caller has checked that they are there.
    fileprivate func bigEndianWord(at start: Int) -> UInt64 {
        var word: UInt64 = 0
        for position in start..<start + 8 { word = word << 8 | UInt64(self[position]) }
        return word
    }
}

/// A value that is nothing but 32 bytes with a meaning.
package protocol Identifier32: Hashable, Comparable, Sendable, CustomStringConvertible {
    var bytes: Bytes32 { get }
    init(bytes: Bytes32)
}

extension Identifier32 {
    package static func < (left: Self, right: Self) -> Bool { left.bytes < right.bytes }

    /// Lower-case hexadecimal.
    package var description: String { Hexadecimal.text(self.bytes.array) }
}

/// A value that is nothing but 16 bytes with a meaning.
package protocol Identifier16: Hashable, Comparable, Sendable, CustomStringConvertible {
    var bytes: Bytes16 { get }
    init(bytes: Bytes16)
}

extension Identifier16 {
    package static func < (left: Self, right: Self) -> Bool { left.bytes < right.bytes }

    /// Lower-case hexadecimal.
    package var description: String { Hexadecimal.text(self.bytes.array) }
}
