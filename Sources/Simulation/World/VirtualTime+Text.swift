/// Lengths of time as scenarios have them: `20ms`, `3s`, `2.5s`, `10m`, `1d`.
extension VirtualTime {
    /// The longest that can be written: nothing that is added to it overflows.
    private static let longest = VirtualTime(microseconds: 100 * VirtualTime.units[0].microseconds)

    private static let units: [(word: String, microseconds: UInt64)] = [
        ("y", 365 * 86_400_000_000), ("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000),
        ("ms", 1_000), ("us", 1),
    ]

    /// - Returns: nil if the word is no length of time, or one of more than a hundred years.
    init?(word: Substring) {
        let whole = word.prefix { ("0"..."9").contains($0) }
        var rest = word[whole.endIndex...]
        var part: Substring = ""
        if rest.first == "." {
            part = rest.dropFirst().prefix { ("0"..."9").contains($0) }
            rest = rest[part.endIndex...]
            // Only seconds have parts.
            guard rest == "s", (1...6).contains(part.count) else { return nil }
        }
        guard let unit = VirtualTime.units.first(where: { $0.word == rest }), let count = UInt64(whole) else {
            return nil
        }
        var (microseconds, overflows) = count.multipliedReportingOverflow(by: unit.microseconds)
        guard !overflows, microseconds <= VirtualTime.longest.microseconds else { return nil }
        if let digits = UInt64(part) {
            microseconds += (part.count..<6).reduce(digits) { number, _ in number * 10 }
        }
        self.init(microseconds: microseconds)
    }

    /// The shortest way to write it.
    package var word: String {
        if self == .zero { return "0s" }
        if self.microseconds % 1_000 != 0 { return "\(self.microseconds)us" }
        let milliseconds = self.milliseconds % 1_000
        if milliseconds != 0 {
            guard self.milliseconds >= 1_000 else { return "\(milliseconds)ms" }
            var digits = String(String(milliseconds + 1_000).dropFirst())
            while digits.last == "0" { digits.removeLast() }
            return "\(self.milliseconds / 1_000).\(digits)s"
        }
        let isShort = self < .seconds(120)
        let unit = VirtualTime.units.first { unit in
            self.microseconds % unit.microseconds == 0 && (!isShort || unit.word == "s")
        }
        return unit.map { "\(self.microseconds / $0.microseconds)\($0.word)" } ?? "\(self.microseconds)us"
    }

    /// A length of time with a sign.
    package static func word(signedMilliseconds milliseconds: Int64) -> String {
        (milliseconds < 0 ? "-" : "+") + VirtualTime.milliseconds(milliseconds.magnitude).word
    }
}
