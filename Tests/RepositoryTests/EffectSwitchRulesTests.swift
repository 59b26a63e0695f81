import Testing

@Suite struct EffectSwitchRulesTests {
    @Test func `no driver skips effects it does not name`() throws {
        let violations = try Repository.swiftFiles().flatMap(EffectSwitchRules.violations)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    /// A driver whose switch the rule cannot see, or that nobody has listed, would be one without a rule.
    @Test func `the modules with a switch over effects are the drivers`() throws {
        let files = try Repository.swiftFiles().filter { !EffectSwitchRules.effectSwitches(in: $0.code).isEmpty }
        #expect(Set(files.compactMap(\.module)).subtracting(["Engine"]) == EffectSwitchRules.drivers)
    }

    @Test(arguments: [
        "switch effect { case .send: a()\ndefault: b() }",
        "switch effect { case .send: a()\n@unknown default: b() }",
        "switch consume effect { case .send: a()\ncase _: b() }",
        "switch self.nextEffect { case .send: a()\ncase let other: b(other) }",
        "switch (effect) { case .send: if x { y() }\ndefault : b() }",
    ])
    func `a catch-all is found`(source: String) {
        #expect(EffectSwitchRules.violations(in: Self.driverFile(source)).count == 1)
    }

    @Test(arguments: [
        "switch effect { case .send: a()\ncase .commit(let x): b(x) }",
        "switch effect { case .send: switch x { default: a() }\ncase .commit: b() }",
        "switch event { case .tick: a()\ndefault: b() }",
        "switch effect { case .send: a() }\nswitch event { default: b() }",
        "// switch effect { default: a() }",
    ])
    func `a switch that names every effect is allowed`(source: String) {
        #expect(EffectSwitchRules.violations(in: Self.driverFile(source)).isEmpty)
    }

    private static func driverFile(_ source: String) -> SourceFile {
        SourceFile(path: "Sources/PeerdKit/NodeDriver.swift", text: source)
    }
}
