internal import Glibc

/// A time of HTTP: whole seconds since 1970, within the years that a header can name (RFC 9110, section 5.6.7).
package struct HTTPDate: Comparable, Hashable, Sendable {
    let secondsSince1970: Int64

    /// The first second of the year 0 and the last one of the year 9999.
    private static let representable: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// Clamps what no header can name: a file system may hold any number.
    package init(secondsSince1970: Int64) {
        let limits = Self.representable
        self.secondsSince1970 = min(max(secondsSince1970, limits.lowerBound), limits.upperBound)
    }

    /// The present second by the clock that file systems stamp with.
    ///
    /// It is the kernel's coarse clock, some milliseconds behind the fine one. By the fine one, the second of a file's
    /// time could seem over while a write may still get the same time.
    package static var present: Self { Self(secondsSince1970: Int64(time(nil))) }

    package static func < (left: Self, right: Self) -> Bool { left.secondsSince1970 < right.secondsSince1970 }
}

extension HTTPDate {
    /// The preferred form: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var text: String {
        let parts = self.parts
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { Self.padded($0, to: 2) }.joined(separator: ":")
        let (weekday, month) = (Self.shortWeekdays[Int(parts.tm_wday)], Self.months[Int(parts.tm_mon)])
        return "\(weekday), \(Self.padded(parts.tm_mday, to: 2)) \(month) "
            + "\(Self.padded(parts.tm_year + 1900, to: 4)) \(clock) GMT"
    }

    /// The time in the Gregorian calendar.
    private var parts: tm {
        var (time, parts) = (time_t(self.secondsSince1970), tm())
        gmtime_r(&time, &parts)
        return parts
    }

    /// Reads any of the three forms; nil for anything else.
    ///
    /// `now` decides the century of the obsolete form with two digits. The weekday must be one, but need not fit the
    /// date: servers and clients that compute it wrongly mean the date.
    init?(_ text: String, now: HTTPDate) {
        let text = DateScanner(text)
        guard let date = Self.fixedForm(text) ?? Self.twoDigitForm(text, now) ?? Self.asctimeForm(text) else {
            return nil
        }
        self = date
    }

    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let shortWeekdays = HTTPDate.weekdays.map { String($0.prefix(3)) }
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Reads the form `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func fixedForm(_ text: DateScanner) -> HTTPDate? {
        var text = text
        guard text.name(of: self.shortWeekdays) != nil, text.skip(", "),
            let day = text.number(digits: 2), text.skip(" "),
            let month = text.name(of: self.months), text.skip(" "),
            let year = text.number(digits: 4), text.skip(" "),
            let second = text.timeOfDay(), text.skip(" GMT"), text.isAtEnd
        else { return nil }
        return self.init(year: year, month: month, day: day, second)
    }

    /// Reads the form `Sunday, 06-Nov-94 08:49:37 GMT`.
    private static func twoDigitForm(_ text: DateScanner, _ now: HTTPDate) -> HTTPDate? {
        var text = text
        guard text.name(of: self.weekdays) != nil, text.skip(", "),
            let day = text.number(digits: 2), text.skip("-"),
            let month = text.name(of: self.months), text.skip("-"),
            let yearInCentury = text.number(digits: 2), text.skip(" "),
            let second = text.timeOfDay(), text.skip(" GMT"), text.isAtEnd
        else { return nil }
        let present = now.parts
        // A time that would be more than 50 years ahead is of the century before.
        let latestYear = Int(present.tm_year) + 1900 + 50
        let secondOfNow = Int(present.tm_hour * 3_600 + present.tm_min * 60 + present.tm_sec)
        let latest = (latestYear, Int(present.tm_mon), Int(present.tm_mday), secondOfNow)
        var year = latestYear / 100 * 100 + yearInCentury
        if (year, month, day, second) > latest { year -= 100 }
        return self.init(year: year, month: month, day: day, second)
    }

    /// Reads the form `Sun Nov  6 08:49:37 1994`.
    private static func asctimeForm(_ text: DateScanner) -> HTTPDate? {
        var text = text
        guard text.name(of: self.shortWeekdays) != nil, text.skip(" "),
            let month = text.name(of: self.months), text.skip(" "),
            let day = text.skip(" ") ? text.number(digits: 1) : text.number(digits: 2), text.skip(" "),
            let second = text.timeOfDay(), text.skip(" "),
            let year = text.number(digits: 4), text.isAtEnd
        else { return nil }
        return self.init(year: year, month: month, day: day, second)
    }

    /// nil if there is no such day.
    private init?(year: Int, month: Int, day: Int, _ secondOfDay: Int) {
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (Int32(year - 1900), Int32(month), Int32(day))
        let midnight = timegm(&parts)
        // Of a day that does not exist, the calendar makes one of the next month, or the one before.
        guard Int(parts.tm_mon) == month, year >= 0 else { return nil }
        self.init(secondsSince1970: Int64(midnight + secondOfDay))
    }

    private static func padded(_ number: Int32, to digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}

/// Reads the parts of a date from left to right.
private struct DateScanner {
    private let bytes: [UInt8]
    private var place = 0

    init(_ text: String) {
        self.bytes = Array(text.utf8)
    }

    var isAtEnd: Bool { self.place == self.bytes.count }

    mutating func skip(_ text: String) -> Bool {
        guard self.bytes[self.place...].starts(with: text.utf8) else { return false }
        self.place += text.utf8.count
        return true
    }

    /// The index of the name that comes next.
    mutating func name(of names: [String]) -> Int? {
        names.indices.first { self.skip(names[$0]) }
    }

    mutating func number(digits: Int) -> Int? {
        guard self.bytes.count - self.place >= digits else { return nil }
        var number = 0
        for byte in self.bytes[self.place..<(self.place + digits)] {
            guard (0x30...0x39).contains(byte) else { return nil }
            number = number * 10 + Int(byte - 0x30)
        }
        self.place += digits
        return number
    }

    /// The seconds since midnight; a leap second is the first second of the next day.
    mutating func timeOfDay() -> Int? {
        guard let hour = self.number(digits: 2), hour < 24, self.skip(":"),
            let minute = self.number(digits: 2), minute < 60, self.skip(":"),
            let second = self.number(digits: 2), second <= 60
        else { return nil }
        return hour * 3_600 + minute * 60 + second
    }
}
