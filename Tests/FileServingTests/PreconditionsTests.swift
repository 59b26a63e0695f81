import Testing

@testable import FileServing

@Suite struct PreconditionsTests {
    private static let modified = HTTPDate(secondsSince1970: 784_111_777)
    private static let now = HTTPDate(secondsSince1970: 1_796_040_000)
    private static let before = "Sun, 06 Nov 1994 08:49:36 GMT"
    private static let same = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let after = "Sun, 06 Nov 1994 08:49:38 GMT"
    private static let current = Validators(entityTag: EntityTag("a"), lastModified: modified)

    struct Case: Sendable, CustomTestStringConvertible {
        var method = "GET"
        var match: [String] = []
        var noneMatch: [String] = []
        var modifiedSince: [String] = []
        var unmodifiedSince: [String] = []
        var current: Validators? = PreconditionsTests.current
        var verdict: Preconditions.Verdict

        var testDescription: String {
            "\(self.method) \(self.match) \(self.noneMatch) \(self.modifiedSince) \(self.unmodifiedSince)"
                + "\(self.current == nil ? " absent" : "") → \(self.verdict)"
        }
    }

    private static func check(_ example: Case) {
        let conditions = Preconditions(
            ifMatch: example.match,
            ifNoneMatch: example.noneMatch,
            ifModifiedSince: example.modifiedSince,
            ifUnmodifiedSince: example.unmodifiedSince
        )
        let verdict = conditions.verdict(method: example.method, current: example.current, now: self.now)
        #expect(verdict == example.verdict)
    }

    @Test(arguments: [
        Case(verdict: .proceed),
        Case(match: ["\"a\""], verdict: .proceed),
        Case(match: ["\"b\", \"a\""], verdict: .proceed),
        Case(match: ["\"b\"", "\"a\""], verdict: .proceed),
        Case(match: ["*"], verdict: .proceed),
        Case(match: ["\"b\""], verdict: .failed),
        Case(match: ["W/\"a\""], verdict: .failed),
        Case(method: "PUT", match: ["W/\"a\""], verdict: .failed),
        Case(method: "PUT", match: ["\"a\""], verdict: .proceed),
        Case(method: "DELETE", match: ["\"b\""], verdict: .failed),
        Case(method: "PUT", match: ["*"], current: nil, verdict: .failed),
        Case(method: "PUT", match: ["\"a\""], current: nil, verdict: .failed),
        Case(method: "PUT", match: ["*"], current: Validators(), verdict: .proceed),
        Case(method: "PUT", match: ["\"a\""], current: Validators(), verdict: .failed),
        Case(method: "PUT", match: ["a"], verdict: .malformed("If-Match")),
        Case(match: [""], verdict: .malformed("If-Match")),
    ])
    func `If-Match`(example: Case) { Self.check(example) }

    @Test(arguments: [
        Case(noneMatch: ["\"a\""], verdict: .notModified),
        Case(noneMatch: ["W/\"a\""], verdict: .notModified),
        Case(noneMatch: ["\"b\", W/\"a\""], verdict: .notModified),
        Case(noneMatch: ["*"], verdict: .notModified),
        Case(noneMatch: ["\"b\""], verdict: .proceed),
        Case(method: "HEAD", noneMatch: ["\"a\""], verdict: .notModified),
        Case(method: "PUT", noneMatch: ["\"a\""], verdict: .failed),
        Case(method: "PUT", noneMatch: ["W/\"a\""], verdict: .failed),
        Case(method: "PUT", noneMatch: ["*"], verdict: .failed),
        Case(method: "PUT", noneMatch: ["*"], current: nil, verdict: .proceed),
        Case(method: "PUT", noneMatch: ["\"a\""], current: nil, verdict: .proceed),
        Case(method: "DELETE", noneMatch: ["\"b\""], verdict: .proceed),
        Case(method: "PUT", noneMatch: ["*"], current: Validators(), verdict: .failed),
        // A reader with a broken cache is served; a writer could destroy what it wanted to spare.
        Case(noneMatch: ["a"], verdict: .proceed),
        Case(method: "PUT", noneMatch: ["a"], verdict: .malformed("If-None-Match")),
    ])
    func `If-None-Match`(example: Case) { Self.check(example) }

    @Test(arguments: [
        Case(modifiedSince: [before], verdict: .proceed),
        Case(modifiedSince: [same], verdict: .notModified),
        Case(modifiedSince: [after], verdict: .notModified),
        Case(method: "HEAD", modifiedSince: [same], verdict: .notModified),
        Case(method: "PUT", modifiedSince: [same], verdict: .proceed),
        Case(method: "DELETE", modifiedSince: [after], verdict: .proceed),
        Case(modifiedSince: ["yesterday"], verdict: .proceed),
        Case(modifiedSince: [same, same], verdict: .proceed),
        Case(modifiedSince: [same], current: Validators(entityTag: EntityTag("a")), verdict: .proceed),
        Case(modifiedSince: ["Sunday, 06-Nov-94 08:49:37 GMT"], verdict: .notModified),
        Case(unmodifiedSince: [before], verdict: .failed),
        Case(unmodifiedSince: [same], verdict: .proceed),
        Case(unmodifiedSince: [after], verdict: .proceed),
        Case(method: "PUT", unmodifiedSince: [before], verdict: .failed),
        Case(method: "DELETE", unmodifiedSince: [same], verdict: .proceed),
        Case(unmodifiedSince: ["yesterday"], verdict: .proceed),
        Case(unmodifiedSince: [before, before], verdict: .proceed),
        Case(unmodifiedSince: [before], current: Validators(entityTag: EntityTag("a")), verdict: .proceed),
        Case(method: "PUT", unmodifiedSince: [before], current: nil, verdict: .proceed),
    ])
    func `dates`(example: Case) { Self.check(example) }

    /// RFC 9110, section 13.2.2.
    @Test(arguments: [
        // If-Match before If-Unmodified-Since, which is then not looked at.
        Case(match: ["\"a\""], unmodifiedSince: [before], verdict: .proceed),
        Case(match: ["\"b\""], unmodifiedSince: [after], verdict: .failed),
        // If-None-Match before If-Modified-Since, which is then not looked at.
        Case(noneMatch: ["\"b\""], modifiedSince: [after], verdict: .proceed),
        Case(noneMatch: ["\"a\""], modifiedSince: [before], verdict: .notModified),
        Case(noneMatch: ["?"], modifiedSince: [after], verdict: .proceed),
        // The first two before the last two.
        Case(match: ["\"b\""], noneMatch: ["\"a\""], verdict: .failed),
        Case(match: ["\"a\""], noneMatch: ["\"a\""], verdict: .notModified),
        Case(method: "PUT", match: ["\"a\""], noneMatch: ["\"a\""], verdict: .failed),
        Case(modifiedSince: [after], unmodifiedSince: [before], verdict: .failed),
        Case(modifiedSince: [same], unmodifiedSince: [same], verdict: .notModified),
        Case(match: ["\"a\""], modifiedSince: [same], verdict: .notModified),
        Case(noneMatch: ["\"a\""], unmodifiedSince: [before], verdict: .failed),
    ])
    func `precedence`(example: Case) { Self.check(example) }

    @Test(arguments: ["CONNECT", "OPTIONS", "TRACE"])
    func `methods that select nothing have no conditions`(method: String) {
        Self.check(Case(method: method, match: ["\"b\""], noneMatch: ["*"], verdict: .proceed))
    }

    @Test(arguments: ["GET", "HEAD", "DELETE", "PATCH"])
    func `what is not there stays a 404`(method: String) {
        Self.check(Case(method: method, match: ["\"a\""], current: nil, verdict: .proceed))
        Self.check(Case(method: method, match: ["broken"], current: nil, verdict: .proceed))
    }

    @Test func `absence is required by a star alone`() {
        #expect(Preconditions(ifNoneMatch: ["*"]).requireAbsence)
        #expect(!Preconditions(ifNoneMatch: ["\"*\""]).requireAbsence)
        #expect(!Preconditions(ifMatch: ["*"]).requireAbsence)
        #expect(!Preconditions.none.requireAbsence)
    }
}
