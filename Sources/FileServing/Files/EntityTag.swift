/// The name of one state of a representation (RFC 9110, section 8.8.3).
package struct EntityTag: Hashable, Sendable {
    let isWeak: Bool
    /// The bytes between the quotes.
    let opaque: [UInt8]

    /// Makes a strong tag; nil if a character cannot stand within the quotes.
    init?(_ opaque: some StringProtocol) {
        self.init(opaque: Array(opaque.utf8), isWeak: false)
    }

    private init?(opaque: [UInt8], isWeak: Bool) {
        guard opaque.allSatisfy(Self.isAllowed) else { return nil }
        self.isWeak = isWeak
        self.opaque = opaque
    }

    /// The tag of another representation that is made of this one.
    ///
    /// nil if a character of the suffix cannot stand within the quotes.
    func appending(_ suffix: String) -> EntityTag? {
        EntityTag(opaque: self.opaque + suffix.utf8, isWeak: self.isWeak)
    }

    /// The value of the `ETag` field.
    package var text: String {
        "\(self.isWeak ? "W/" : "")\"\(String(decoding: self.opaque, as: UTF8.self))\""
    }

    /// The strong comparison: the bytes are the same.
    func matchesStrongly(_ other: EntityTag) -> Bool {
        !self.isWeak && !other.isWeak && self.opaque == other.opaque
    }

    /// The weak comparison: one may stand for the other.
    func matchesWeakly(_ other: EntityTag) -> Bool { self.opaque == other.opaque }

    /// The bytes of a tag: printable ones but the quote, and all beyond ASCII.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte == 0x21 || (0x23...0x7E).contains(byte) || byte >= 0x80
    }
}

extension EntityTag {
    /// Reads one tag as a field has it, such as `W/"a"`; nil if there is anything else.
    init?(fieldValue: String) {
        var bytes = Array(fieldValue.utf8)[...]
        guard let tag = Self.first(of: &bytes), bytes.isEmpty else { return nil }
        self = tag
    }

    /// Takes a tag off the front of the bytes.
    fileprivate static func first(of bytes: inout ArraySlice<UInt8>) -> EntityTag? {
        let isWeak = bytes.starts(with: "W/".utf8)
        let quoted = isWeak ? bytes.dropFirst(2) : bytes
        guard quoted.first == UInt8(ascii: "\"") else { return nil }
        let opaque = quoted.dropFirst().prefix(while: self.isAllowed)
        guard opaque.endIndex < bytes.endIndex, bytes[opaque.endIndex] == UInt8(ascii: "\"") else { return nil }
        bytes = bytes[(opaque.endIndex + 1)...]
        return EntityTag(opaque: Array(opaque), isWeak: isWeak)
    }
}

/// The value of `If-Match` or `If-None-Match`.
enum EntityTagCondition: Equatable, Sendable {
    /// `*`: any representation at all.
    case any
    case tags([EntityTag])

    /// Reads all lines of the field, as one list; nil if they are not a list of tags with at least one member.
    init?(fieldLines: [String]) {
        // A tag may hold a comma, so the list is read and not split.
        var rest = Array(fieldLines.joined(separator: ",").utf8)[...]
        var tags: [EntityTag] = []
        var hasStar = false
        while true {
            rest = rest.drop { Self.isSpace($0) || $0 == UInt8(ascii: ",") }
            if rest.isEmpty { break }
            if rest.first == UInt8(ascii: "*") {
                hasStar = true
                rest = rest.dropFirst()
            } else if let tag = EntityTag.first(of: &rest) {
                tags.append(tag)
            } else {
                return nil
            }
            rest = rest.drop(while: Self.isSpace)
            guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { return nil }
            if hasStar, !tags.isEmpty { return nil }
        }
        guard hasStar || !tags.isEmpty else { return nil }
        self = hasStar ? .any : .tags(tags)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
