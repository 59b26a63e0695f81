/// The choice of bytes that the `Range` and `If-Range` fields of a request ask for (RFC 9110, section 14).
package enum ByteRanges {
    /// The greatest number of ranges in one request; for more, the whole is sent.
    static let rangeCountMax = 64

    package enum Selection: Equatable, Sendable {
        /// 200.
        case whole
        /// 206, with `Content-Range`.
        case part(ContentRange)
        /// 206, as `multipart/byteranges`.
        case parts(MultipartRanges)
        /// 416, with this `Content-Range`.
        case unsatisfiable(contentRange: String)
    }

    /// Chooses the bytes for a request whose other conditions hold.
    ///
    /// Each field comes as its lines; `length`, `contentType` and `validators` are those of the whole. `boundary`
    /// separates several parts; it must not occur in them, so it is random.
    package static func select(
        method: String,
        range: [String],
        ifRange: [String],
        length: UInt64,
        contentType: String,
        validators: Validators,
        boundary: @autoclosure () -> MultipartBoundary = .random(),
        now: HTTPDate
    ) -> Selection {
        // Ranges of other methods, `HEAD` included, are not defined.
        guard method == "GET", range.count == 1, let specs = self.specs(range[0]),
            ifRange.isEmpty || self.isMet(ifRange, by: validators, now)
        else { return .whole }
        if length == 0 {
            // No `Content-Range` can name a part of nothing, so the last bytes of nothing are the whole.
            return specs.contains { $0.isSuffixOfSomeBytes } ? .whole : self.unsatisfiable(length)
        }
        let ranges = self.coalesced(specs.compactMap { $0.range(in: length) })
        switch ranges.count {
        case 0: return self.unsatisfiable(length)
        case 1: return .part(ContentRange(bytes: ranges[0], length: length))
        default:
            let contents = ranges.map { ContentRange(bytes: $0, length: length) }
            let parts = MultipartRanges(contents, contentType: contentType, boundary: boundary())
            return parts.map { .parts($0) } ?? .whole
        }
    }

    private static func unsatisfiable(_ length: UInt64) -> Selection {
        .unsatisfiable(contentRange: "bytes */\(length)")
    }

    /// An entity tag must be strong and the same; a date must be exactly that of the last modification.
    ///
    /// A date names one state only when its second is over: the file may have had two states within it.
    private static func isMet(_ ifRange: [String], by validators: Validators, _ now: HTTPDate) -> Bool {
        guard ifRange.count == 1 else { return false }
        let text = FieldText.trimmed(ifRange[0])
        if let tag = EntityTag(fieldValue: text) {
            return validators.entityTag.map(tag.matchesStrongly) ?? false
        }
        guard let date = HTTPDate(text, now: now) else { return false }
        return validators.lastModified == date && date < now
    }

    /// Merges ranges that overlap or touch; the rest keeps the order of the request.
    private static func coalesced(_ ranges: [Range<UInt64>]) -> [Range<UInt64>] {
        var merged: [(place: Int, range: Range<UInt64>)] = []
        for (place, range) in ranges.enumerated().sorted(by: { $0.element.lowerBound < $1.element.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.range.upperBound {
                let end = max(last.range.upperBound, range.upperBound)
                merged[merged.count - 1] = (min(last.place, place), last.range.lowerBound..<end)
            } else {
                merged.append((place, range))
            }
        }
        return merged.sorted { $0.place < $1.place }.map(\.range)
    }

    /// The ranges of a field; nil if it has another unit, is not well-formed or has too many of them.
    private static func specs(_ field: String) -> [RangeSpec]? {
        let bytes = FieldText.trimmed(Array(field.utf8)[...])
        let parts = bytes.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, String(decoding: parts[0], as: UTF8.self).lowercased() == "bytes" else { return nil }
        var specs: [RangeSpec] = []
        for element in parts[1].split(separator: UInt8(ascii: ",")) {
            let element = FieldText.trimmed(element)
            if element.isEmpty { continue }
            guard specs.count < self.rangeCountMax, let spec = RangeSpec(element) else { return nil }
            specs.append(spec)
        }
        return specs.isEmpty ? nil : specs
    }
}

/// Bytes of a representation with a length.
package struct ContentRange: Equatable, Sendable {
    /// Not empty.
    package let bytes: Range<UInt64>
    let length: UInt64

    /// The value of the `Content-Range` field.
    package var fieldValue: String { "bytes \(self.bytes.lowerBound)-\(self.bytes.upperBound - 1)/\(self.length)" }
}

/// One element of a `Range` field, with positions of any number of digits.
private enum RangeSpec {
    case from(Decimal, through: Decimal?)
    case suffix(Decimal)

    init?(_ text: ArraySlice<UInt8>) {
        let parts = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if parts[0].isEmpty {
            guard let length = Decimal(parts[1]) else { return nil }
            self = .suffix(length)
            return
        }
        guard let first = Decimal(parts[0]) else { return nil }
        if parts[1].isEmpty {
            self = .from(first, through: nil)
            return
        }
        guard let last = Decimal(parts[1]), first <= last else { return nil }
        self = .from(first, through: last)
    }

    var isSuffixOfSomeBytes: Bool {
        guard case .suffix(let length) = self else { return false }
        return length.clamped > 0
    }

    /// The bytes that this names; nil if there are none.
    func range(in length: UInt64) -> Range<UInt64>? {
        switch self {
        case .from(let first, let last):
            guard first.clamped < length else { return nil }
            // The range is within the length, so that one more does not overflow.
            let end = min(last?.clamped ?? .max, length - 1) + 1
            return first.clamped..<end
        case .suffix(let count):
            guard count.clamped > 0, length > 0 else { return nil }
            return (length - min(count.clamped, length))..<length
        }
    }
}

/// A number as its digits, without zeros in front, so that any two can be compared.
private struct Decimal: Comparable {
    let digits: [UInt8]
    /// The number, or the greatest one if it has more than 64 bits.
    let clamped: UInt64

    init?(_ text: ArraySlice<UInt8>) {
        guard !text.isEmpty, text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        self.digits = Array(text.drop { $0 == 0x30 })
        self.clamped = self.digits.reduce(0) { number, digit in
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(UInt64(digit - 0x30))
            // Once at its greatest, a number stays there: each further digit overflows, too.
            return overflow || carry ? .max : sum
        }
    }

    static func < (left: Self, right: Self) -> Bool {
        left.digits.count == right.digits.count
            ? left.digits.lexicographicallyPrecedes(right.digits) : left.digits.count < right.digits.count
    }
}

/// The white space around values of fields.
enum FieldText {
    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes
        while let last = bytes.last, self.isSpace(last) { bytes.removeLast() }
        return bytes.drop(while: self.isSpace)
    }

    static func trimmed(_ text: String) -> String {
        String(decoding: self.trimmed(Array(text.utf8)[...]), as: UTF8.self)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
