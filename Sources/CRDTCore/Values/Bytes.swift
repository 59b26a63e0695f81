/// Why bytes could not be decoded.
///
/// Any of these ends the session that sent them and changes nothing.
package enum WireError: Error, Hashable, Sendable {
    /// The bytes ended inside a value.
    case truncated
    /// A variable-length integer used more bytes than it needs, or does not fit.
    case badInteger
    /// A length or count is above its named limit.
    case overLimit
    /// A number that should point into a table does not.
    case badReference
    /// A kind, tag or version this program must know and does not.
    case unknownKind
    /// Text that is not UTF-8, or a value not in its one canonical form.
    case notCanonical
    /// Bytes were left over after the value.
    case trailingBytes
}

extension [UInt8] {
    /// Appends eight bytes, most significant first.
    package mutating func appendBigEndian(_ value: UInt64) {
        unsafe Swift.withUnsafeBytes(of: value.bigEndian) { unsafe self.append(contentsOf: $0) }
    }

    /// Appends an unsigned LEB128 integer in its shortest form: 1 to 10 bytes.
    package mutating func appendVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            self.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Appends a signed integer, zigzag-coded so that small magnitudes are short.
    package mutating func appendZigzag(_ value: Int64) {
        self.appendVarint(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    /// Appends text as UTF-8 preceded by its length in bytes.
    package mutating func appendPrefixed(_ text: String) {
        self.appendVarint(UInt64(text.utf8.count))
        self.append(contentsOf: text.utf8)
    }

    /// Appends a byte string preceded by its length.
    package mutating func appendPrefixed(_ bytes: some Collection<UInt8>) {
        self.appendVarint(UInt64(bytes.count))
        self.append(contentsOf: bytes)
    }
}

/// Reads values off the front of bounded bytes.
///
/// Every read checks its bounds; nothing a peer sends can trap it.
package struct ByteReader: Sendable {
    private let bytes: [UInt8]
    /// Where the next value begins.
    package private(set) var offset: Int
    private let end: Int

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        self.offset = 0
        self.end = bytes.count
    }

    /// Reads a range of the bytes only.
    init(_ bytes: [UInt8], at range: Range<Int>) {
        self.bytes = bytes
        self.offset = range.lowerBound
        self.end = range.upperBound
    }

    /// The number of bytes not yet read.
    package var remaining: Int { self.end - self.offset }

    /// One byte.
    package mutating func byte() throws(WireError) -> UInt8 {
        guard self.offset < self.end else { throw .truncated }
        defer { self.offset += 1 }
        return self.bytes[self.offset]
    }

    /// An unsigned LEB128 integer; the shortest form only.
    package mutating func varint() throws(WireError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try self.byte()
            if shift == 63, byte > 1 { throw .badInteger }
            value |= UInt64(byte & 0x7f) << shift
            if byte & 0x80 == 0 {
                if byte == 0, shift > 0 { throw .badInteger }
                return value
            }
            shift += 7
            if shift > 63 { throw .badInteger }
        }
    }

    /// A zigzag-coded signed integer.
    package mutating func zigzag() throws(WireError) -> Int64 {
        let raw = try self.varint()
        return Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1)
    }

    /// An integer no greater than `limit`, as an `Int`.
    package mutating func count(atMost limit: Int) throws(WireError) -> Int {
        let value = try self.varint()
        guard value <= UInt64(limit) else { throw .overLimit }
        return Int(value)
    }

    /// Eight bytes, most significant first.
    package mutating func bigEndian() throws(WireError) -> UInt64 {
        guard self.remaining >= 8 else { throw .truncated }
        let value = unsafe self.bytes.withUnsafeBytes { bytes in
            unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: self.offset, as: UInt64.self))
        }
        self.offset += 8
        return value
    }

    /// Thirty-two bytes.
    package mutating func bytes32() throws(WireError) -> Bytes32 {
        guard self.remaining >= 32 else { throw .truncated }
        return try Bytes32(self.bigEndian(), self.bigEndian(), self.bigEndian(), self.bigEndian())
    }

    /// Sixteen bytes.
    package mutating func bytes16() throws(WireError) -> Bytes16 {
        guard self.remaining >= 16 else { throw .truncated }
        return try Bytes16(high: self.bigEndian(), low: self.bigEndian())
    }

    /// A signature.
    package mutating func signature() throws(WireError) -> Signature {
        guard let signature = Signature(try self.slice(Signature.byteCount)) else { throw .truncated }
        return signature
    }

    /// Exactly `count` bytes.
    package mutating func slice(_ count: Int) throws(WireError) -> ArraySlice<UInt8> {
        guard count >= 0, self.remaining >= count else { throw .truncated }
        defer { self.offset += count }
        return self.bytes[self.offset..<self.offset + count]
    }

    /// A byte string preceded by its length, which may be at most `limit`.
    package mutating func prefixed(atMost limit: Int) throws(WireError) -> ArraySlice<UInt8> {
        try self.slice(self.count(atMost: limit))
    }

    /// Length-prefixed UTF-8 text of at most `limit` bytes.
    package mutating func text(atMost limit: Int) throws(WireError) -> String {
        let bytes = try self.prefixed(atMost: limit)
        // Nearly all is ASCII, and to check that takes a fraction of the time.
        if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notCanonical }
        return text
    }

    /// Demands that everything has been read.
    package func finish() throws(WireError) {
        guard self.remaining == 0 else { throw .trailingBytes }
    }
}
