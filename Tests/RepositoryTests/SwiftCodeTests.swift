import Testing

@Suite struct SwiftCodeTests {
    /// Sources, and the code in them with each row of spaces written as one.
    static let cases: [(source: String, code: String)] = [
        ("let a = 1  // try!", "let a = 1 "),
        ("a /* b */ c", "a c"),
        ("a /* b /* c */ d */ e", "a e"),
        ("a /* b\nc */ d", "a \n d"),
        ("f(\"Task\")", "f(\" \")"),
        ("\"a \\\" Task\" b", "\" \" b"),
        ("\"\\(Date())\"", "\" (Date())\""),
        ("\"\\(f(\"Task\", (1)))x\" y", "\" (f(\" \", (1))) \" y"),
        ("#\"a\" \\(b) \\#(c)\"# d", "#\" (c)\"# d"),
        ("\"\"\"\n  \"Task\" // x\n\"\"\" b", "\"\"\"\n \n\"\"\" b"),
        ("#\"\"\"\n\"\"\"\n\"\"\"# b", "#\"\"\"\n \n\"\"\"# b"),
        ("\"\" + \"\" // c", "\"\" + \"\" "),
        ("#if DEBUG // c", "#if DEBUG "),
        ("#/\"\\/#/# a", "#/ /# a"),
        ("func `a Task never ends`() {}", "func () {}"),
        ("case `default`: `self`", "case `default`: `self`"),
        ("a / b // c", "a / b "),
        ("\"http://x\" + Task", "\" \" + Task"),
        ("\"not closed\nTask", "\" \nTask"),
        ("/* not closed\nTask", " \n "),
        ("", ""),
    ]

    @Test(arguments: SwiftCodeTests.cases)
    func `only code is left, in its place`(source: String, code: String) {
        let stripped = SwiftCode(stripping: source).text
        #expect(stripped.replacing(#/ +/#, with: " ") == code)
        #expect(stripped.count == source.count)
    }

    @Test func `stripping a file of this repository keeps every line at its length`() throws {
        for file in try Repository.swiftFiles() {
            let code = SwiftCode(stripping: file.text)
            let before = file.text.split(separator: "\n", omittingEmptySubsequences: false).map(\.count)
            #expect(code.lines.map(\.count) == before, "\(file.path)")
        }
    }
}
