import Testing

@Suite struct PlantedBugRulesTests {
    @Test func `nothing of a planted bug is in the sources`() throws {
        let violations = try Repository.swiftFiles().filter { $0.module != nil }.flatMap(PlantedBugRules.violations)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test func `each bug that is listed is planted by a patch, and no other`() throws {
        let list = try #require(Repository.swiftFiles().first { $0.path == PlantedBugRules.list })
        let listed = PlantedBugRules.names(listedIn: list)
        #expect(listed.count >= 40)
        let patches = try Repository.files(withExtensions: ["patch"])
        #expect(Set(patches.flatMap(PlantedBugRules.names(plantedBy:))) == Set(listed))
    }

    @Test func `a bug in a source is found`() {
        let source = SourceFile(path: "Sources/Engine/Node.swift", text: "if PlantedBug.a.isPlanted { return }")
        #expect(PlantedBugRules.violations(in: source).count == 1)
    }
}
