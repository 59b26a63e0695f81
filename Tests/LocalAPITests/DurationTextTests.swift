import LocalAPI
import Testing

@Suite struct DurationTextTests {
    @Test(arguments: [("0d", 0), ("90s", 90), ("30m", 1800), ("6h", 21_600), ("1d", 86_400), ("2w", 1_209_600)])
    func `a number and a unit are so many seconds`(text: String, seconds: Int) {
        #expect(DurationText.seconds(text) == seconds)
    }

    @Test(arguments: ["", "1", "d", "-1d", "1.5h", "1y", "1 d", "١d", "1dd", "9223372036854775807w", "+1d"])
    func `anything else is no duration`(text: String) {
        #expect(DurationText.seconds(text) == nil)
    }

    @Test(arguments: [(1, "1s"), (90, "90s"), (3600, "1h"), (5400, "90m"), (86_400, "1d"), (604_800, "1w")])
    func `a duration is shown in the largest unit that fits`(seconds: Int, text: String) {
        #expect(DurationText.of(seconds: seconds) == text)
        #expect(DurationText.seconds(text) == seconds)
    }
}
