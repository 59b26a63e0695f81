import Testing

@Suite struct PlantedBugRulesTests {
    @Test func `nothing of a planted bug is in a build that is not made for it`() throws {
        let violations = try Repository.swiftFiles().filter { $0.module != nil }.flatMap(PlantedBugRules.violations)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test func `each bug that is listed is planted, and no other`() throws {
        let files = try Repository.swiftFiles().filter { $0.module != nil }
        let list = try #require(files.first { $0.path == PlantedBugRules.list })
        let listed = PlantedBugRules.names(listedIn: list)
        #expect(listed.count >= 40)
        #expect(Set(files.flatMap(PlantedBugRules.names(plantedIn:))) == Set(listed))
    }

    @Test(arguments: [
        "if PlantedBug.a.isPlanted { return }",
        "#if DEBUG\nif PlantedBug.a.isPlanted { return }\n#endif",
        "#if !PLANTED_BUGS\nif PlantedBug.a.isPlanted { return }\n#endif",
        "#if PLANTED_BUGS\n#else\nif PlantedBug.a.isPlanted { return }\n#endif",
        "#if PLANTED_BUGS\n#endif\nif PlantedBug.a.isPlanted { return }",
    ])
    func `a bug outside of its condition is found`(source: String) {
        #expect(PlantedBugRules.violations(in: Self.file(source)).count == 1)
    }

    @Test(arguments: [
        "    #if PLANTED_BUGS\n    if PlantedBug.a.isPlanted { return }\n    #endif",
        "#if PLANTED_BUGS\n#if DEBUG\nif PlantedBug.a.isPlanted { return }\n#endif\n#endif",
        "// PlantedBug.a.isPlanted",
    ])
    func `a bug within its condition is allowed`(source: String) {
        #expect(PlantedBugRules.violations(in: Self.file(source)).isEmpty)
    }

    private static func file(_ source: String) -> SourceFile {
        SourceFile(path: "Sources/Engine/Node.swift", text: source)
    }
}
