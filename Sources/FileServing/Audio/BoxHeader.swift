/// The four characters that name the kind of a box (ISO/IEC 14496-12, section 4.2).
struct BoxType: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    let code: UInt32

    init(code: UInt32) {
        self.code = code
    }

    /// Only for literals of this program.
    init(stringLiteral text: String) {
        precondition(text.utf8.count == 4, "the type of a box has four characters")
        self.code = text.utf8.reduce(0) { $0 << 8 | UInt32($1) }
    }

    var description: String {
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: self.code >> (24 - 8 * $0)) }
        return String(decoding: bytes.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }
}

/// The first bytes of a box: its length and its type.
struct BoxHeader: Equatable, Sendable {
    let type: BoxType
    /// The length of this header, including the long form of the length and the name of a `uuid` box.
    let length: UInt64
    /// The length of the box with its header; at least that of the header.
    let boxLength: UInt64
    let lengthField: LengthField
    /// The name of a `uuid` box.
    let extendedType: [UInt8]?

    /// The forms in which the length of a box can be written.
    enum LengthField: Equatable, Sendable {
        case bits32
        case bits64
        /// To the end of the file.
        case toTheEnd
    }

    /// The greatest length of a header.
    static let lengthMax = 32
    static let extendedTypeLength = 16

    /// Reads the header at the beginning of the bytes, of which there are `available` up to the end of the file or of
    /// the box around this one; nil if it does not fit there.
    init?(_ bytes: some Collection<UInt8>, available: UInt64) {
        var reader = BigEndianReader(bytes.prefix(Self.lengthMax))
        guard let short = reader.read(UInt32.self), let type = reader.read(UInt32.self) else { return nil }
        self.type = BoxType(code: type)
        switch short {
        case 0:
            self.lengthField = .toTheEnd
            self.boxLength = available
        case 1:
            guard let long = reader.read(UInt64.self) else { return nil }
            self.lengthField = .bits64
            self.boxLength = long
        default:
            self.lengthField = .bits32
            self.boxLength = UInt64(short)
        }
        if self.type == "uuid" {
            guard let name = reader.readBytes(Self.extendedTypeLength) else { return nil }
            self.extendedType = name
        } else {
            self.extendedType = nil
        }
        self.length = UInt64(reader.readCount)
        guard self.boxLength >= self.length, self.boxLength <= available else { return nil }
    }
}

/// Reads numbers, the highest byte first, and never beyond the end.
struct BigEndianReader<Bytes: Collection> where Bytes.Element == UInt8 {
    private var rest: Bytes.SubSequence
    private(set) var readCount = 0

    init(_ bytes: Bytes) {
        self.rest = bytes[...]
    }

    mutating func readBytes(_ count: Int) -> [UInt8]? {
        let bytes = Array(self.rest.prefix(count))
        guard bytes.count == count else { return nil }
        self.rest = self.rest.dropFirst(count)
        self.readCount += count
        return bytes
    }

    mutating func read<Number: FixedWidthInteger & UnsignedInteger>(_: Number.Type) -> Number? {
        self.readBytes(MemoryLayout<Number>.size)?.reduce(0) { $0 << 8 | Number($1) }
    }
}

extension FixedWidthInteger {
    /// The bytes of the number, the highest first.
    var bigEndianBytes: [UInt8] { withUnsafeBytes(of: self.bigEndian) { Array($0) } }

    func appendBigEndian(to bytes: inout [UInt8]) {
        withUnsafeBytes(of: self.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
