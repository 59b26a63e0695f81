import Testing

@Suite struct TerminalRulesTests {
    @Test func `the command line prints in one place`() throws {
        let violations = try Repository.swiftFiles().flatMap(TerminalRules.violations)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test(arguments: [
        "print(text)", "Swift.print(text)", "if x { debugPrint(x) }", "fputs(text, stderr)", "puts(text)",
        "perror(nil)",
        "FileHandle.standardOutput.write(data)", "FileHandle.standardError.write(data)",
        "StreamLogHandler.standardError(label: label)", "write(STDOUT_FILENO, bytes, count)", "NSLog(text)",
    ])
    func `printing elsewhere is found`(line: String) {
        #expect(!Self.violations(line, in: "Sources/peerd/Commands/RunCommand.swift").isEmpty)
        #expect(Self.violations(line, in: TerminalRules.file).isEmpty)
        #expect(Self.violations(line, in: "Sources/Simulator/Main.swift").isEmpty)
    }

    @Test(arguments: ["output.print(text)", "blueprint(x)", "FileHandle.standardInput", "// print(text)"])
    func `other words are allowed`(line: String) {
        #expect(Self.violations(line, in: "Sources/peerd/Commands/RunCommand.swift").isEmpty)
    }

    private static func violations(_ line: String, in path: String) -> [String] {
        TerminalRules.violations(in: SourceFile(path: path, text: line))
    }
}
