/// A time of HTTP: whole seconds since 1970, within the years that a header can name (RFC 9110, section 5.6.7).
package struct HTTPDate: Comparable, Hashable, Sendable {
    let secondsSince1970: Int64

    /// The first second of the year 0 and the last one of the year 9999.
    private static let representable: ClosedRange<Int64> = -62_167_219_200...253_402_300_799
    private static let secondsPerDay: Int64 = 86_400

    /// Clamps what no header can name: a file system may hold any number.
    package init(secondsSince1970: Int64) {
        let limits = Self.representable
        self.secondsSince1970 = min(max(secondsSince1970, limits.lowerBound), limits.upperBound)
    }

    package static func < (left: Self, right: Self) -> Bool { left.secondsSince1970 < right.secondsSince1970 }
}

extension HTTPDate {
    /// The preferred form: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var text: String {
        let (day, second) = Self.floored(self.secondsSince1970, by: Self.secondsPerDay)
        let date = CivilDate(daySince1970: day)
        // The first of January 1970 was a Thursday.
        let weekday = Self.floored(day + 4, by: 7).rest
        let clock = [second / 3_600, second / 60 % 60, second % 60].map { Self.padded($0, to: 2) }.joined(
            separator: ":"
        )
        let month = Self.months[Int(date.month) - 1]
        return "\(Self.weekdays[Int(weekday)].prefix(3)), \(Self.padded(date.day, to: 2)) \(month)"
            + " \(Self.padded(date.year, to: 4)) \(clock) GMT"
    }

    /// Reads any of the three forms; nil for anything else.
    ///
    /// `now` decides the century of the obsolete form with two digits. The weekday must be one, but need not fit the
    /// date: servers and clients that compute it wrongly mean the date.
    init?(_ text: String, now: HTTPDate) {
        var text = DateScanner(text)
        if let date = Self.fixedForm(&text) ?? Self.twoDigitForm(&text, now) ?? Self.asctimeForm(&text) {
            self = date
        } else {
            return nil
        }
    }

    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let shortWeekdays = HTTPDate.weekdays.map { String($0.prefix(3)) }
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Reads the form `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func fixedForm(_ text: inout DateScanner) -> HTTPDate? {
        text.restart()
        guard text.name(of: self.shortWeekdays) != nil, text.skip(", "),
            let day = text.number(digits: 2), text.skip(" "),
            let month = text.name(of: self.months), text.skip(" "),
            let year = text.number(digits: 4), text.skip(" "),
            let second = text.timeOfDay(), text.skip(" GMT"), text.isAtEnd
        else { return nil }
        return self.init(CivilDate(year: year, month: Int64(month) + 1, day: day), second)
    }

    /// Reads the form `Sunday, 06-Nov-94 08:49:37 GMT`.
    private static func twoDigitForm(_ text: inout DateScanner, _ now: HTTPDate) -> HTTPDate? {
        text.restart()
        guard text.name(of: self.weekdays) != nil, text.skip(", "),
            let day = text.number(digits: 2), text.skip("-"),
            let month = text.name(of: self.months), text.skip("-"),
            let yearInCentury = text.number(digits: 2), text.skip(" "),
            let second = text.timeOfDay(), text.skip(" GMT"), text.isAtEnd
        else { return nil }
        let present = CivilDate(daySince1970: self.floored(now.secondsSince1970, by: self.secondsPerDay).quotient)
        // A time that would be more than 50 years ahead is of the century before.
        let latest = CivilDate(year: present.year + 50, month: present.month, day: present.day)
        var year = self.floored(latest.year, by: 100).quotient * 100 + yearInCentury
        let date = CivilDate(year: year, month: Int64(month) + 1, day: day)
        let secondOfNow = self.floored(now.secondsSince1970, by: self.secondsPerDay).rest
        if (date.order, second) > (latest.order, secondOfNow) { year -= 100 }
        return self.init(CivilDate(year: year, month: Int64(month) + 1, day: day), second)
    }

    /// Reads the form `Sun Nov  6 08:49:37 1994`.
    private static func asctimeForm(_ text: inout DateScanner) -> HTTPDate? {
        text.restart()
        guard text.name(of: self.shortWeekdays) != nil, text.skip(" "),
            let month = text.name(of: self.months), text.skip(" "),
            let day = text.skip(" ") ? text.number(digits: 1) : text.number(digits: 2), text.skip(" "),
            let second = text.timeOfDay(), text.skip(" "),
            let year = text.number(digits: 4), text.isAtEnd
        else { return nil }
        return self.init(CivilDate(year: year, month: Int64(month) + 1, day: day), second)
    }

    private init?(_ date: CivilDate, _ secondOfDay: Int64) {
        guard date.year >= 0, date.exists else { return nil }
        self.init(secondsSince1970: date.daySince1970 * Self.secondsPerDay + secondOfDay)
    }

    private static func floored(_ number: Int64, by divisor: Int64) -> (quotient: Int64, rest: Int64) {
        let (quotient, rest) = number.quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
    }

    private static func padded(_ number: Int64, to digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}

/// A day of the Gregorian calendar, also of years before there was one.
private struct CivilDate {
    let year: Int64
    let month: Int64
    let day: Int64

    private static let daysBeforeMonth: [Int64] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365]
    /// The days of 400 years, after which the calendar repeats.
    private static let daysPerEra: Int64 = 146_097
    private static let yearsPerEra: Int64 = 400
    /// The days from the first of January of the year 0 to that of 1970.
    private static let daysTo1970: Int64 = 719_528

    init(year: Int64, month: Int64, day: Int64) {
        self.year = year
        self.month = month
        self.day = day
    }

    init(daySince1970 number: Int64) {
        let day = number + Self.daysTo1970
        var era = day / Self.daysPerEra
        if day < era * Self.daysPerEra { era -= 1 }
        var rest = day - era * Self.daysPerEra
        // The estimate is at most one year too high: leap days are spread evenly enough.
        var year = rest / 365
        if Self.daysBefore(year) > rest { year -= 1 }
        rest -= Self.daysBefore(year)
        let month = (1...12).last { Self.daysBefore(month: $0, leap: Self.isLeap(year)) <= rest } ?? 1
        self.year = era * Self.yearsPerEra + year
        self.month = month
        self.day = rest - Self.daysBefore(month: month, leap: Self.isLeap(year)) + 1
    }

    var exists: Bool {
        guard (1...12).contains(self.month), self.day >= 1 else { return false }
        let leap = Self.isLeap(self.year)
        let next = self.month == 12 ? 365 + (leap ? 1 : 0) : Self.daysBefore(month: self.month + 1, leap: leap)
        return self.day <= next - Self.daysBefore(month: self.month, leap: leap)
    }

    /// For years from 0 on.
    var daySince1970: Int64 {
        Self.daysBefore(self.year) + Self.daysBefore(month: self.month, leap: Self.isLeap(self.year)) + self.day - 1
            - Self.daysTo1970
    }

    /// A number that is greater for later dates, whether or not they exist.
    var order: Int64 { (self.year * 12 + self.month) * 31 + self.day }

    /// The days from the first of January of the year 0 to that of another year.
    private static func daysBefore(_ year: Int64) -> Int64 {
        guard year > 0 else { return 0 }
        let last = year - 1
        return year * 365 + last / 4 - last / 100 + last / 400 + 1
    }

    private static func daysBefore(month: Int64, leap: Bool) -> Int64 {
        self.daysBeforeMonth[Int(month) - 1] + (leap && month > 2 ? 1 : 0)
    }

    private static func isLeap(_ year: Int64) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
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

    mutating func restart() { self.place = 0 }

    mutating func skip(_ text: String) -> Bool {
        guard self.bytes[self.place...].starts(with: text.utf8) else { return false }
        self.place += text.utf8.count
        return true
    }

    /// The index of the name that comes next.
    mutating func name(of names: [String]) -> Int? {
        names.indices.first { self.skip(names[$0]) }
    }

    mutating func number(digits: Int) -> Int64? {
        guard self.bytes.count - self.place >= digits else { return nil }
        var number: Int64 = 0
        for byte in self.bytes[self.place..<(self.place + digits)] {
            guard (0x30...0x39).contains(byte) else { return nil }
            number = number * 10 + Int64(byte - 0x30)
        }
        self.place += digits
        return number
    }

    /// The seconds since midnight; a leap second is the first second of the next day.
    mutating func timeOfDay() -> Int64? {
        guard let hour = self.number(digits: 2), hour < 24, self.skip(":"),
            let minute = self.number(digits: 2), minute < 60, self.skip(":"),
            let second = self.number(digits: 2), second <= 60
        else { return nil }
        return hour * 3_600 + minute * 60 + second
    }
}
