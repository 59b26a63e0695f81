import Testing

@testable import FileServing

@Suite struct HTTPDateTests {
    /// 30 November 2026, 12:00:00.
    private static let now = HTTPDate(secondsSince1970: 1_796_040_000)

    private static func seconds(_ text: String, now: HTTPDate = now) -> Int64? {
        HTTPDate(text, now: now)?.secondsSince1970
    }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Wed Nov 16 08:49:37 1994", 784_975_777),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
        ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
        // The weekday is wrong; the date counts.
        ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ])
    func `each form is read`(text: String, seconds: Int64) {
        #expect(Self.seconds(text) == seconds)
    }

    @Test(arguments: [
        "", " ", "0", "784111777", "1994-11-06T08:49:37Z",
        "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
        "sun, 06 nov 1994 08:49:37 gmt", "Sun 06 Nov 1994 08:49:37 GMT", "Xyz, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Xyz 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
        "Thu, 29 Feb 2023 00:00:00 GMT", "Thu, 29 Feb 1900 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Sun Nov 06 08:49:37 94",
        "Sun Nov  6 08:49:37 1994 GMT", "Sun, 0\u{661} Nov 1994 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
    ])
    func `anything else is not a date`(text: String) {
        #expect(HTTPDate(text, now: Self.now) == nil)
    }

    @Test(arguments: [
        ("Monday, 30-Nov-26 12:00:00 GMT", 2026),
        ("Monday, 30-Nov-75 12:00:00 GMT", 2075),
        ("Monday, 30-Nov-76 12:00:00 GMT", 2076),
        ("Monday, 30-Nov-76 12:00:01 GMT", 1976),
        ("Monday, 01-Dec-76 00:00:00 GMT", 1976),
        ("Monday, 30-Nov-77 12:00:00 GMT", 1977),
        ("Monday, 30-Nov-99 12:00:00 GMT", 1999),
        ("Saturday, 01-Jan-00 00:00:00 GMT", 2000),
    ])
    func `a year of two digits is at most 50 years ahead`(text: String, year: Int64) throws {
        let date = try #require(HTTPDate(text, now: Self.now))
        #expect(date.text.contains(" \(year) "))
    }

    @Test func `a year of two digits is read in the last years of a century, too`() {
        let now = HTTPDate(secondsSince1970: 4_102_444_799)  // The last second of 2099.
        #expect(HTTPDate("Friday, 01-Jan-49 00:00:00 GMT", now: now)?.text == "Wed, 01 Jan 2149 00:00:00 GMT")
        #expect(HTTPDate("Friday, 01-Jan-50 00:00:00 GMT", now: now)?.text == "Sat, 01 Jan 2050 00:00:00 GMT")
    }

    @Test func `what is printed is read as the same, for a time in each of many days`() throws {
        // Steps of some months and hours, so that all months, weekdays and leap years occur.
        for seconds in stride(from: Int64(-62_167_219_200), through: 253_402_300_799, by: 7 * 86_400 * 20 + 12_347) {
            let date = HTTPDate(secondsSince1970: seconds)
            let text = date.text
            #expect(HTTPDate(text, now: Self.now) == date, "\(text)")
        }
    }

    @Test func `days follow each other without a gap, with their weekdays`() {
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        var before = ""
        for day in Int64(-800)..<24_000 {
            let text = HTTPDate(secondsSince1970: day * 86_400).text
            #expect(text.hasPrefix(weekdays[Int((day + 700 * 7) % 7)]))
            #expect(text != before)
            before = text
        }
    }

    @Test(arguments: [Int64.min, -62_167_219_201, 253_402_300_800, .max])
    func `a time that no header can name is clamped`(seconds: Int64) {
        let text = HTTPDate(secondsSince1970: seconds).text
        #expect(text == (seconds < 0 ? "Sat, 01 Jan 0000 00:00:00 GMT" : "Fri, 31 Dec 9999 23:59:59 GMT"))
    }
}
