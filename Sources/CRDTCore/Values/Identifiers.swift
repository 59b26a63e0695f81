/// A BLAKE2b-256 hash; the property that holds it says of what.
package struct Hash256: Identifier32 {
    package var bytes: Bytes32
    package init(bytes: Bytes32) { self.bytes = bytes }
    package static let zero = Hash256(bytes: .zero)
}

/// A blob: the hash of its length and its content.
package struct BlobRoot: Identifier32 {
    package var bytes: Bytes32
    package init(bytes: Bytes32) { self.bytes = bytes }

    /// Reads the text of a root: 64 hexadecimal digits; nil for anything else.
    package init?(text: String) {
        guard let bytes = Hexadecimal.bytes(text).flatMap({ Bytes32($0) }) else { return nil }
        self.bytes = bytes
    }
}

/// A person: the public half of an Ed25519 root key.
package struct UserID: Identifier32 {
    package var bytes: Bytes32
    package init(bytes: Bytes32) { self.bytes = bytes }
}

/// A machine of a person: the public half of the Ed25519 key that signs its changes.
package struct DeviceID: Identifier32 {
    package var bytes: Bytes32
    package init(bytes: Bytes32) { self.bytes = bytes }
}

/// The public X25519 key a device proves in a Noise handshake.
package struct StaticKey: Identifier32 {
    package var bytes: Bytes32
    package init(bytes: Bytes32) { self.bytes = bytes }
}

/// One replicated data set: the hash of its founder's key and a nonce, so it names its own founder.
package struct WorkspaceID: Identifier32 {
    package var bytes: Bytes32
    package init(bytes: Bytes32) { self.bytes = bytes }
}

/// One incarnation of a database on a device: the hash of the device's key and a nonce, so that no other device can
/// write under it.
package struct ReplicaID: Identifier16 {
    package var bytes: Bytes16
    package init(bytes: Bytes16) { self.bytes = bytes }
}

/// The id of a branch, which is the same on all machines.
public struct BranchID: Identifier16, Codable {
    package var bytes: Bytes16
    package init(bytes: Bytes16) { self.bytes = bytes }

    /// Reads the text of an id: 32 hexadecimal digits; nil for anything else.
    public init?(text: String) {
        guard let bytes = Hexadecimal.bytes(text).flatMap({ Bytes16($0) }) else { return nil }
        self.bytes = bytes
    }

    /// The text of the id.
    public var description: String { Hexadecimal.text(self.bytes.array) }

    /// Compares two ids by their bytes.
    public static func < (left: BranchID, right: BranchID) -> Bool { left.bytes < right.bytes }

    /// Decodes the text of an id.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = BranchID(text: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "The text is no id of a branch.")
        }
        self = id
    }

    /// Encodes the text of the id.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.description)
    }
}

/// The id of an object: a UUID that is the same on all machines.
///
/// A part of it follows from the user who made it, and the rest is random, or derived from the workspace, the type and
/// a key (UUIDv8, RFC 9562 §5.8). So nobody else can make the object his own by claiming that he made it earlier.
public struct ObjectID: Identifier16 {
    package var bytes: Bytes16
    package init(bytes: Bytes16) { self.bytes = bytes }

    /// The text of the UUID: 36 characters, in lower case.
    public var description: String { String(decoding: self.characters, as: UTF8.self) }

    /// The text of the UUID in ASCII.
    package var characters: [UInt8] {
        var characters: [UInt8] = []
        characters.reserveCapacity(36)
        for position in 0..<Bytes16.byteCount {
            let word = position < 8 ? self.bytes.high : self.bytes.low
            if position == 4 || position == 6 || position == 8 || position == 10 { characters.append(Self.hyphen) }
            Hexadecimal.append(UInt8(truncatingIfNeeded: word >> UInt64(56 - position % 8 * 8)), to: &characters)
        }
        return characters
    }

    /// Reads the text of a UUID, with or without hyphens, in either case; nil for anything else.
    public init?(text: String) { self.init(characters: Array(text.utf8)) }

    /// Reads the text of a UUID in ASCII, as ``init(text:)`` does.
    package init?(characters: [UInt8]) {
        var (high, low, digitCount) = (UInt64(0), UInt64(0), 0)
        for character in characters where character != Self.hyphen {
            guard let digit = Hexadecimal.value(of: character), digitCount < 32 else { return nil }
            (high, low) = (high << 4 | low >> 60, low << 4 | UInt64(digit))
            digitCount += 1
        }
        guard digitCount == 32 else { return nil }
        self.init(bytes: Bytes16(high: high, low: low))
    }

    private static let hyphen = UInt8(ascii: "-")

    /// Compares two ids by their bytes.
    public static func < (left: ObjectID, right: ObjectID) -> Bool { left.bytes < right.bytes }
}

/// An Ed25519 signature.
package struct Signature: Hashable, Sendable {
    package var first: Bytes32
    package var second: Bytes32

    /// The number of bytes.
    package static let byteCount = 64

    package init(first: Bytes32, second: Bytes32) {
        self.first = first
        self.second = second
    }

    /// Reads exactly 64 bytes, or returns nil.
    package init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count == Signature.byteCount, let first = Bytes32(bytes.prefix(32)),
            let second = Bytes32(bytes.suffix(32))
        else { return nil }
        self.first = first
        self.second = second
    }

    /// Reads exactly 64 bytes, or returns nil.
    package init?(_ bytes: [UInt8]) { self.init(bytes[...]) }

    /// The 64 bytes.
    package var array: [UInt8] { self.first.array + self.second.array }
}

/// The replica that wrote a change and its place in that replica's chain, counted from 1: names one change of a chain
/// that has not forked.
package struct Dot: Hashable, Sendable, Comparable {
    package var replica: ReplicaID
    package var sequence: UInt64

    package init(replica: ReplicaID, sequence: UInt64) {
        self.replica = replica
        self.sequence = sequence
    }

    package static func < (left: Dot, right: Dot) -> Bool {
        (left.replica, left.sequence) < (right.replica, right.sequence)
    }
}

/// The first eight bytes of a change's hash: enough to tell the forks of a forked chain apart.
///
/// Two changes of one replica and sequence with one name take 2^32 attempts to make; `Merge` has a rule for them.
package struct ChangeName: RawRepresentable, Hashable, Comparable, Sendable {
    package var rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The name of the change with a hash.
    package init(_ hash: Hash256) {
        self.rawValue = hash.bytes.words.0
    }

    package static func < (left: ChangeName, right: ChangeName) -> Bool { left.rawValue < right.rawValue }
}

/// Names one change, also after its chain has forked: the dot, and the change's name.
package struct Point: Hashable, Sendable, Comparable {
    package var replica: ReplicaID
    package var sequence: UInt64
    package var name: ChangeName

    package init(replica: ReplicaID, sequence: UInt64, name: ChangeName) {
        self.replica = replica
        self.sequence = sequence
        self.name = name
    }

    package static func < (left: Point, right: Point) -> Bool {
        (left.replica, left.sequence, left.name) < (right.replica, right.sequence, right.name)
    }
}

/// Reading and writing hexadecimal text.
package enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    /// Lower-case text, two characters a byte.
    package static func text(_ bytes: [UInt8]) -> String {
        var characters: [UInt8] = []
        characters.reserveCapacity(bytes.count * 2)
        for byte in bytes { self.append(byte, to: &characters) }
        return String(decoding: characters, as: UTF8.self)
    }

    static func append(_ byte: UInt8, to characters: inout [UInt8]) {
        characters.append(self.digits[Int(byte >> 4)])
        characters.append(self.digits[Int(byte & 15)])
    }

    /// The bytes that a text of either case stands for; nil if it is of odd length or has another character.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var half: UInt8?
        for character in text.utf8 {
            guard let digit = self.value(of: character) else { return nil }
            if let high = half {
                bytes.append(high << 4 | digit)
                half = nil
            } else {
                half = digit
            }
        }
        return half == nil ? bytes : nil
    }

    /// The value of one digit of either case; nil for another character.
    package static func value(of character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension DeviceID {
    /// The first eight bytes of the key.
    package var start: UInt64 { self.bytes.words.0 }
}
