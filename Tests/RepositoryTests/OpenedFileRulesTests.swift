import Testing

@Suite struct OpenedFileRulesTests {
    @Test func `files are opened where it is known that none is a database in use`() throws {
        let files = try Repository.swiftFiles()
        let violations = files.flatMap(OpenedFileRules.violations)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
        let missing = Set(OpenedFileRules.places.keys).subtracting(files.map(\.path))
        #expect(missing.isEmpty, "listed, and not there: \(missing.sorted())")
    }

    @Test(arguments: [
        "let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)", "fopen(path, mode)", "mmap(nil, count, 1, 1, fd, 0)",
        "FileHandle(forReadingFrom: url)", "try Data(contentsOf: url)", "FileManager.default.contents(atPath: path)",
        "try FileManager.default.copyItem(at: a, to: b)", "try RegularFile(path, for: .updating)",
        "try RegularFile.open(path)", "try RegularFile.content(of: path, atMost: 64)",
    ])
    func `a new place that opens a file is found`(line: String) {
        #expect(Self.violations(line, in: "Sources/PeerdKit/Diagnosis/Diagnosis.swift").count == 1)
        #expect(Self.violations(line, in: "Sources/PeerdKit/Directory/KeyFile.swift").isEmpty)
        #expect(Self.violations(line, in: "Tests/PeerdKitTests/BackupTests.swift").isEmpty)
    }

    @Test(arguments: ["access(path, R_OK)", "Workspace.open(at: directory)", "contentsOfDirectory(atPath: a)"])
    func `what opens no file is allowed`(line: String) {
        #expect(Self.violations(line, in: "Sources/PeerdKit/Diagnosis/Diagnosis.swift").isEmpty)
    }

    private static func violations(_ line: String, in path: String) -> [String] {
        OpenedFileRules.violations(in: SourceFile(path: path, text: line))
    }
}
