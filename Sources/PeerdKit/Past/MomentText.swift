package import CRDTCore
package import Foundation

/// The forms in which moments are written.
package enum MomentText {
    /// More changes than a frontier of honest machines has that no other change had seen.
    private static let pointCountMax = 1024

    /// A time; nil if the text is none.
    package static func date(_ text: String, now: Date) -> Date? {
        if text == "now" { return now }
        return self.dateAgo(text, now: now) ?? self.calendarDate(text)
    }

    // MARK: - Times before now

    private static let units: [(names: Set<String>, seconds: Double)] = [
        (["s", "sec", "second"], 1), (["m", "min", "minute"], 60), (["h", "hour"], 3600),
        (["d", "day"], 86_400), (["w", "week"], 604_800), (["month"], 2_592_000), (["y", "year"], 31_536_000),
    ]

    /// Such as “2 days ago”; a month has 30 days and a year 365.
    private static func dateAgo(_ text: String, now: Date) -> Date? {
        guard text.hasSuffix(" ago") else { return nil }
        let words = text.dropLast(4).trimmingCharacters(in: .whitespaces)
        let digits = words.prefix { $0.isASCII && $0.isNumber }
        guard let count = Double(digits), count <= 1e9 else { return nil }
        var unit = words.dropFirst(digits.count).trimmingCharacters(in: .whitespaces).lowercased()
        if unit.count > 1, unit.hasSuffix("s") { unit.removeLast() }
        guard let seconds = self.units.first(where: { $0.names.contains(unit) })?.seconds else { return nil }
        return now.addingTimeInterval(-count * seconds)
    }

    // MARK: - ISO 8601

    private static func calendarDate(_ text: String) -> Date? {
        let pattern =
            /(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|[+-]\d{2}:?\d{2})?)?/
        guard let match = text.wholeMatch(of: pattern) else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        guard let utc = TimeZone(secondsFromGMT: 0) else { return nil }
        calendar.timeZone = utc
        let (_, year, month, day, hour, minute, second, fraction, zone) = match.output
        var components = DateComponents(calendar: calendar, timeZone: utc)
        (components.year, components.month, components.day) = (Int(year), Int(month), Int(day))
        components.hour = hour.flatMap { Int($0) } ?? 0
        components.minute = minute.flatMap { Int($0) } ?? 0
        components.second = second.flatMap { Int($0) } ?? 0
        guard components.isValidDate, let date = calendar.date(from: components),
            let offset = self.offset(zone.map(String.init) ?? "Z")
        else { return nil }
        let part = fraction.flatMap { Double("0.\($0)") } ?? 0
        return date.addingTimeInterval(part - offset)
    }

    /// The seconds by which a zone is ahead of UTC.
    private static func offset(_ zone: String) -> Double? {
        if zone == "Z" { return 0 }
        let digits = zone.filter(\.isNumber)
        guard digits.count == 4, let hours = Double(digits.prefix(2)), let minutes = Double(digits.suffix(2)),
            hours < 24, minutes < 60
        else { return nil }
        return (zone.hasPrefix("-") ? -1 : 1) * (hours * 3600 + minutes * 60)
    }

    // MARK: - Names of changes

    package static func text(_ point: Point) -> String {
        "\(point.replica)-\(point.sequence)-\(String(point.name.rawValue, radix: 16))"
    }

    static func points(_ text: String) -> [Point]? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count <= self.pointCountMax else { return nil }
        var points: Set<Point> = []
        for part in parts {
            guard let point = self.point(part.trimmingCharacters(in: .whitespaces)) else { return nil }
            points.insert(point)
        }
        return points.sorted()
    }

    /// A change by its own name, or by that of one of its operations.
    package static func point(_ text: String) -> Point? {
        let words = text.split(separator: "-", omittingEmptySubsequences: false)
        guard words.count == 3 || words.count == 4, words[0].count == 32, let last = words.last,
            let bytes = Hexadecimal.bytes(words[0]).flatMap({ Bytes16($0) }),
            let sequence = UInt64(words[1]), (1...Limits.sequenceMax).contains(sequence),
            let name = UInt64(last, radix: 16), words.count == 3 || UInt32(words[2]) != nil
        else { return nil }
        return Point(replica: ReplicaID(bytes: bytes), sequence: sequence, name: ChangeName(rawValue: name))
    }
}
