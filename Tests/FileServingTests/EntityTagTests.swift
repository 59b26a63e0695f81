import Testing

@testable import FileServing

@Suite struct EntityTagTests {
    @Test(arguments: ["\"\"", "\"a\"", "W/\"a\"", "\"a,b\"", "\"W/\"", "\"é\"", "\"!#$~\"", "\"\\\""])
    func `a tag is printed as it was read`(text: String) throws {
        #expect(try #require(EntityTag(fieldValue: text)).text == text)
    }

    @Test(arguments: [
        "", "a", "\"", "\"a", "a\"", "w/\"a\"", "W\"a\"", "W/ \"a\"", "W/a", "\"a\"b\"", "\"a b\"", "\"a\" ", "*",
        "\"a\"\"b\"", "\"\u{7F}\"",
    ])
    func `anything else is no tag`(text: String) {
        #expect(EntityTag(fieldValue: text) == nil)
    }

    @Test func `a tag of our own is strong, and has no quotes within`() {
        #expect(EntityTag("3f9c")?.text == "\"3f9c\"")
        #expect(EntityTag("a\"b") == nil)
        #expect(EntityTag("a b") == nil)
    }

    /// The table of RFC 9110, section 8.8.3.2.
    @Test(arguments: [
        ("W/\"1\"", "W/\"1\"", false, true),
        ("W/\"1\"", "W/\"2\"", false, false),
        ("W/\"1\"", "\"1\"", false, true),
        ("\"1\"", "W/\"1\"", false, true),
        ("\"1\"", "\"1\"", true, true),
        ("\"1\"", "\"2\"", false, false),
    ])
    func `tags are compared strongly or weakly`(left: String, right: String, strongly: Bool, weakly: Bool) throws {
        let left = try #require(EntityTag(fieldValue: left))
        let right = try #require(EntityTag(fieldValue: right))
        #expect(left.matchesStrongly(right) == strongly)
        #expect(left.matchesWeakly(right) == weakly)
    }

    @Test(
        arguments: [
            (["*"], ["*"]),
            ([" * "], ["*"]),
            (["*,"], ["*"]),
            (["\"a\""], ["\"a\""]),
            (["\"a\",W/\"b\""], ["\"a\"", "W/\"b\""]),
            (["\"a\" ,\t\"b\""], ["\"a\"", "\"b\""]),
            ([",, \"a\",,\"b\", ,"], ["\"a\"", "\"b\""]),
            (["\"a,b\", \"c, no\""], nil),
            (["\"a,b\",\"c,d\""], ["\"a,b\"", "\"c,d\""]),
            (["\"a\"", "\"b\""], ["\"a\"", "\"b\""]),
            ([""], nil), ([","], nil), (["a"], nil), (["\"a\" \"b\""], nil), (["\"a\"\"b\""], nil), (["*, \"a\""], nil),
            (["\"a\", *"], nil), (["\"a\", b"], nil), (["\"a"], nil), (["**"], nil), (["W/*"], nil),
            (["\"a\";q=1"], nil),
        ] as [([String], [String]?)]
    )
    func `a list is read with commas in tags and empty members`(lines: [String], expected: [String]?) {
        let texts: [String]? = EntityTagCondition(fieldLines: lines).map { condition in
            switch condition {
            case .any: ["*"]
            case .tags(let tags): tags.map(\.text)
            }
        }
        #expect(texts == expected)
    }
}
