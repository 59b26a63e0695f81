/// Durations as people write them, such as 30m or 1d.
package enum DurationText {
    private static let units: [(letter: Character, seconds: Int)] = [
        ("w", 604_800), ("d", 86_400), ("h", 3600), ("m", 60), ("s", 1),
    ]

    /// Reads a number and a unit; nil for anything else.
    package static func seconds(_ text: String) -> Int? {
        guard let unit = self.units.first(where: { $0.letter == text.last }) else { return nil }
        let digits = text.dropLast()
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int(digits)
        else { return nil }
        let (seconds, isTooLong) = number.multipliedReportingOverflow(by: unit.seconds)
        return isTooLong ? nil : seconds
    }

    /// The text of a duration, in the largest unit that it is a multiple of.
    package static func of(seconds: Int) -> String {
        let unit = self.units.first { seconds >= $0.seconds && seconds.isMultiple(of: $0.seconds) }
        return unit.map { "\(seconds / $0.seconds)\($0.letter)" } ?? "\(seconds)s"
    }
}
