/// Thirty-two bytes held in registers, compared and ordered as a byte string.
///
/// Keys and hashes are wrapped around this value; it allocates nothing and is hashed by its words.
package struct Bytes32: Hashable, Sendable {
    // Big-endian words, so that comparing words is comparing bytes.
    private var words: (UInt64, UInt64, UInt64, UInt64)

    /// The number of bytes.
    package static let byteCount = 32

    /// Thirty-two zero bytes.
    package static let zero = Bytes32(0, 0, 0, 0)

    package init(_ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64) {
        self.words = (first, second, third, fourth)
    }

    /// Reads exactly 32 bytes, or returns nil.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Bytes32.byteCount else { return nil }
        var words: [UInt64] = [0, 0, 0, 0]
        for (offset, byte) in bytes.enumerated() {
            words[offset / 8] = words[offset / 8] << 8 | UInt64(byte)
        }
        self.init(words[0], words[1], words[2], words[3])
    }

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
        bytes.appendBigEndian(self.words.0)
        bytes.appendBigEndian(self.words.1)
        bytes.appendBigEndian(self.words.2)
        bytes.appendBigEndian(self.words.3)
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
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Bytes16.byteCount else { return nil }
        self.init(high: 0, low: 0)
        for (offset, byte) in bytes.enumerated() {
            if offset < 8 {
                self.high = self.high << 8 | UInt64(byte)
            } else {
                self.low = self.low << 8 | UInt64(byte)
            }
        }
    }

    /// Appends the 16 bytes.
    package func append(to bytes: inout [UInt8]) {
        bytes.appendBigEndian(self.high)
        bytes.appendBigEndian(self.low)
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
