/// Reads RFC 8259 text off an array of bytes.
///
/// Depth is bounded; nothing in the text can trap it.
struct JSONParser {
    private let bytes: [UInt8]
    private let depthMax: Int
    /// Where it reads; after a failure, where it went no further.
    private(set) var offset = 0
    /// Why it went no further.
    private(set) var reason = JSON.ParseFailure.Reason.notJSON
    /// The members within which it reads; after a failure, those in which that was.
    private(set) var path: [String] = []
    private let numbers: JSON.Numbers
    /// The first number that no value can hold, or repeated member; it counts only if the rest is JSON.
    private var refused: JSON.ParseFailure?

    init(bytes: [UInt8], depthMax: Int, numbers: JSON.Numbers) {
        self.bytes = bytes
        self.depthMax = depthMax
        self.numbers = numbers
    }

    /// One value and nothing else.
    mutating func document() -> JSON? {
        guard let value = self.value(depth: 0) else { return nil }
        self.skipSpace()
        guard self.offset == self.bytes.count else { return nil }
        guard let refused = self.refused else { return value }
        (self.reason, self.offset, self.path) = (refused.reason, refused.offset, refused.path)
        return nil
    }

    private var next: UInt8? { self.offset < self.bytes.count ? self.bytes[self.offset] : nil }

    private mutating func skipSpace() {
        while let byte = self.next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { self.offset += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        self.skipSpace()
        guard self.next == byte else { return false }
        self.offset += 1
        return true
    }

    private mutating func take(_ word: StaticString, _ value: JSON) -> JSON? {
        let count = word.utf8CodeUnitCount
        guard self.bytes.count - self.offset >= count,
            self.bytes[self.offset..<self.offset + count].elementsEqual("\(word)".utf8)
        else { return nil }
        self.offset += count
        return value
    }

    private mutating func value(depth: Int) -> JSON? {
        self.skipSpace()
        guard depth <= self.depthMax else {
            self.reason = .tooDeep
            return nil
        }
        switch self.next {
        case UInt8(ascii: "{"): return self.object(depth: depth)
        case UInt8(ascii: "["): return self.array(depth: depth)
        case UInt8(ascii: "\""): return self.string().map { .string($0) }
        case UInt8(ascii: "t"): return self.take("true", .bool(true))
        case UInt8(ascii: "f"): return self.take("false", .bool(false))
        case UInt8(ascii: "n"): return self.take("null", .null)
        default: return self.number()
        }
    }

    private mutating func object(depth: Int) -> JSON? {
        self.offset += 1
        var members: [ExactText: JSON] = [:]
        if self.take(UInt8(ascii: "}")) { return .object(members) }
        while true {
            self.skipSpace()
            guard self.next == UInt8(ascii: "\""), let key = self.string(), self.take(UInt8(ascii: ":")) else {
                return nil
            }
            self.path.append(key)
            guard let value = self.value(depth: depth + 1) else { return nil }
            if members.updateValue(value, forKey: ExactText(key)) != nil, self.numbers != .nearest {
                _ = self.refuse(.repeatedMember)
            }
            self.path.removeLast()
            if self.take(UInt8(ascii: "}")) { return .object(members) }
            guard self.take(UInt8(ascii: ",")) else { return nil }
        }
    }

    private mutating func array(depth: Int) -> JSON? {
        self.offset += 1
        var elements: [JSON] = []
        if self.take(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            guard let value = self.value(depth: depth + 1) else { return nil }
            elements.append(value)
            if self.take(UInt8(ascii: "]")) { return .array(elements) }
            guard self.take(UInt8(ascii: ",")) else { return nil }
        }
    }

    private mutating func number() -> JSON? {
        let start = self.offset
        var isInteger = true
        if self.next == UInt8(ascii: "-") { self.offset += 1 }
        let first = self.next
        let integerDigits = self.digits()
        guard integerDigits > 0, integerDigits == 1 || first != UInt8(ascii: "0") else { return nil }
        if self.next == UInt8(ascii: ".") {
            isInteger = false
            self.offset += 1
            guard self.digits() > 0 else { return nil }
        }
        if self.next == UInt8(ascii: "e") || self.next == UInt8(ascii: "E") {
            isInteger = false
            self.offset += 1
            if self.next == UInt8(ascii: "+") || self.next == UInt8(ascii: "-") { self.offset += 1 }
            guard self.digits() > 0 else { return nil }
        }
        let text = String(decoding: self.bytes[start..<self.offset], as: UTF8.self)
        if isInteger, text != "-0", let number = Int64(text) { return .int(number) }
        guard let number = Double(text), number.isFinite else { return self.refuse(.numberTooLarge) }
        guard self.numbers != .nearest else { return .double(number) }
        if number == 0, text.prefix(while: { $0 != "e" && $0 != "E" }).contains(where: { ("1"..."9").contains($0) }) {
            return self.refuse(.numberTooSmall)
        }
        if isInteger, text != "-0", self.numbers == .exact || Self.digits(of: text) != Self.digits(of: "\(number)") {
            return self.refuse(.integerTooLarge)
        }
        return .double(number)
    }

    /// Goes on, since what follows may be no JSON at all.
    private mutating func refuse(_ reason: JSON.ParseFailure.Reason) -> JSON {
        if self.refused == nil {
            self.refused = JSON.ParseFailure(reason: reason, offset: self.offset, path: self.path)
        }
        return .null
    }

    /// The digits of a large number without the zeros at its end: it is an integer, or as `description` writes it.
    private static func digits(of text: String) -> [UInt8] {
        let mantissa = text.utf8.prefix { $0 != UInt8(ascii: "e") }
        let zero = UInt8(ascii: "0")
        let digits = mantissa.filter { $0 >= zero && $0 <= UInt8(ascii: "9") }
        return Array(digits.prefix((digits.lastIndex { $0 != zero } ?? -1) + 1))
    }

    private mutating func digits() -> Int {
        let start = self.offset
        while let byte = self.next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { self.offset += 1 }
        return self.offset - start
    }

    private mutating func string() -> String? {
        self.offset += 1
        var content: [UInt8] = []
        while let byte = self.next {
            self.offset += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: content, as: UTF8.self)
            case UInt8(ascii: "\\"): guard self.escape(into: &content) else { return nil }
            case 0..<0x20: return nil
            default: content.append(byte)
            }
        }
        return nil
    }

    private mutating func escape(into content: inout [UInt8]) -> Bool {
        guard let byte = self.next else { return false }
        self.offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(byte)
        case UInt8(ascii: "b"): content.append(0x08)
        case UInt8(ascii: "f"): content.append(0x0c)
        case UInt8(ascii: "n"): content.append(0x0a)
        case UInt8(ascii: "r"): content.append(0x0d)
        case UInt8(ascii: "t"): content.append(0x09)
        case UInt8(ascii: "u"): return self.unicodeEscape(into: &content)
        default: return false
        }
        return true
    }

    private mutating func unicodeEscape(into content: inout [UInt8]) -> Bool {
        guard var code = self.fourHexDigits() else { return false }
        if (0xd800..<0xdc00).contains(code) {
            guard self.next == UInt8(ascii: "\\") else { return false }
            self.offset += 1
            guard self.next == UInt8(ascii: "u") else { return false }
            self.offset += 1
            guard let low = self.fourHexDigits(), (0xdc00..<0xe000).contains(low) else { return false }
            code = 0x10000 + (code - 0xd800) << 10 + (low - 0xdc00)
        }
        guard let scalar = Unicode.Scalar(code) else { return false }
        content.append(contentsOf: String(Character(scalar)).utf8)
        return true
    }

    private mutating func fourHexDigits() -> UInt32? {
        guard self.bytes.count - self.offset >= 4 else { return nil }
        let text = String(decoding: self.bytes[self.offset..<self.offset + 4], as: UTF8.self)
        guard let bytes = Hexadecimal.bytes(text) else { return nil }
        self.offset += 4
        return UInt32(bytes[0]) << 8 | UInt32(bytes[1])
    }
}
