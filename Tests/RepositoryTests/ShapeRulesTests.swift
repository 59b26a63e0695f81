import Testing

@Suite struct ShapeRulesTests {
    @Test func `every file can be read to its end, and says what is inside`() throws {
        let files = try Repository.files(withExtensions: ["swift", "py", "sh", "sql"])
        let violations = files.flatMap(ShapeRules.violations)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test func `the limits themselves are allowed`() {
        let line = String(repeating: "a", count: ShapeRules.lineWidthMax) + "\n"
        let text = String(repeating: line, count: ShapeRules.lineCountMax)
        #expect(ShapeRules.violations(in: SourceFile(path: "Sources/peerd/A.swift", text: text)).isEmpty)
    }

    @Test func `one line or column more is found`() {
        let long = String(repeating: "\n", count: ShapeRules.lineCountMax + 1)
        let wide = String(repeating: "é", count: ShapeRules.lineWidthMax + 1)
        for text in [long, wide] {
            #expect(ShapeRules.violations(in: SourceFile(path: "Sources/peerd/A.swift", text: text)).count == 1)
        }
    }

    @Test func `a function of more lines is found, in a type and outside`() {
        let long = String(repeating: "        a()\n", count: ShapeRules.functionLineCountMax + 1)
        let fitting = String(repeating: "        a()\n", count: ShapeRules.functionLineCountMax)
        let texts = [
            "struct A {\n    func b() {\n\(long)    }\n    func c() {\n\(fitting)    }\n}\n",
            "private func b(\n    a: Int\n) {\n\(long)}\nfunc c() {\n}\n",
            "extension A {\n    init?(a: Int) throws {\n\(long)    }\n}\n",
        ]
        for text in texts {
            #expect(ShapeRules.violations(in: SourceFile(path: "Sources/peerd/A.swift", text: text)).count == 1)
        }
    }

    @Test(arguments: ["struct PeerManager {}", "enum ByteUtils {}", "final class TestHelper {}", "actor HelperBox {}"])
    func `a type name that says nothing is found`(line: String) {
        #expect(ShapeRules.nameViolations(in: SourceFile(path: "Tests/A/B.swift", text: line)).count == 1)
    }

    @Test func `a file name that says nothing is found`() {
        #expect(ShapeRules.nameViolations(in: SourceFile(path: "Sources/peerd/StringUtils.swift", text: "")).count == 1)
    }

    @Test(arguments: ["extension FileManager {}", "struct Peer {}  // Helper", "let manager = FileManager.default"])
    func `a name that belongs to someone else is allowed`(line: String) {
        #expect(ShapeRules.nameViolations(in: SourceFile(path: "Tests/A/B.swift", text: line)).isEmpty)
    }

    @Test(arguments: ["nonisolated(unsafe) var a = 1", "@preconcurrency import B", "@_spi(C) func d() {}"])
    func `a check turned off is found in the sources`(line: String) {
        #expect(ShapeRules.violations(in: SourceFile(path: "Sources/peerd/A.swift", text: line)).count == 1)
    }
}
