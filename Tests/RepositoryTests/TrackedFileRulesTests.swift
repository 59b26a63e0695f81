import Testing

@Suite struct TrackedFileRulesTests {
    @Test(.enabled("this is no git checkout") { try Repository.trackedPaths() != nil })
    func `no artifact is tracked`() throws {
        let paths = try #require(try Repository.trackedPaths())
        #expect(!paths.isEmpty)
        #expect(paths.filter(TrackedFileRules.isArtifact).isEmpty)
    }

    @Test func `no file speaks of the machine it was written on`() throws {
        let extensions: Set<String> = ["swift", "py", "sh", "sql", "md", "txt", "json", "h", "modulemap", "sha256"]
        let named: Set<String> = ["Makefile", ".ci/run", ".gitignore", ".swift-format"]
        let ours = try Repository.files(withExtensions: extensions)
        let others = try Repository.paths().filter(named.contains).map {
            SourceFile(path: $0, text: try Repository.text($0))
        }
        #expect(others.count == named.count)
        for file in ours + others {
            let found = TrackedFileRules.privatePaths(in: file.text)
            #expect(found.isEmpty, "\(file.path): \(found)")
        }
    }

    @Test(arguments: [
        "Package.resolved", "Examples/Habits/Package.resolved", ".build-checked/release/peerd",
        ".build-venv/bin/python", "Tests/System/__pycache__/run.cpython-311.pyc", ".swiftpm/configuration/x.json",
    ])
    func `an artifact is found`(path: String) {
        #expect(TrackedFileRules.isArtifact(path))
    }

    @Test(arguments: ["Package.swift", "Sources/peerd/Build.swift", ".ci/run", "Tests/System/conftest.py"])
    func `a source is no artifact`(path: String) {
        #expect(!TrackedFileRules.isArtifact(path))
    }

    @Test func `a private path is found, a relative one is not`() {
        #expect(!TrackedFileRules.privatePaths(in: "see /" + "work/main/README.md").isEmpty)
        #expect(TrackedFileRules.privatePaths(in: "see network/mainland and a work/around").isEmpty)
    }
}
