import Testing

@testable import Simulation
@testable import Simulator

/// What is written of a run is all of it: read back, it is the same run.
struct ScenarioTextTests {
    private func text(_ recipe: Recipe) -> String { recipe.scenario.lines.joined(separator: "\n") }

    @Test func `a thousand plans that are written down are read back as they were`() throws {
        var limits = PlanLimits()
        limits.faults = Fault.allCases
        for seed in 0..<1_000 as Range<UInt64> {
            limits.usesAll = seed % 5 == 0
            limits.editsPerSecond = seed % 7 == 0 ? 3 : nil
            limits.isShared = seed % 3 == 0 ? true : nil
            var recipe = Recipe(seed: seed, limits: limits)
            recipe.isNetworkPlain = seed % 2 == 0
            let text = self.text(recipe)
            let scenario = try ScenarioParser.parse(text)
            let isSame = Recipe(scenario) == recipe && scenario.lines == recipe.scenario.lines
            #expect(isSame, "seed \(seed)")
            if !isSame { return }
        }
    }

    @Test(arguments: [3, 8, 12] as [UInt64])
    func `a plan that was written down and read back runs as it did, to the last event`(_ seed: UInt64) throws {
        let recipe = Recipe(seed: seed, limits: PlanLimits())
        let drawn = Simulation.run(seed: seed)
        let read = ScenarioRunner.run(try ScenarioParser.parse(self.text(recipe)))
        #expect(read.hash == drawn.hash)
        #expect(read.eventCount == drawn.eventCount)
        // Of plans that are drawn, only some have their past read, and their log merged anew.
        let past: Set<Mark> = [.pastRead, .pastReadByTime, .pastDropped, .comparedWithReplay, .comparedWithRebuilt]
        #expect(read.record.marks.subtracting(past) == drawn.record.marks.subtracting(past))
    }

    @Test(arguments: try ScenarioTests.names())
    func `a scenario that is written anew means the same`(_ name: String) throws {
        for variant in try ScenarioParser.variants(of: try ScenarioTests.text(of: name)) {
            let again = try ScenarioParser.parse(variant.scenario.lines.joined(separator: "\n"))
            #expect(again.lines == variant.scenario.lines)
            #expect(again.meaningHash == variant.scenario.meaningHash)
        }
    }

    @Test func `remarks, names and spaces do not change what a scenario means, and everything else does`() throws {
        let plain = try ScenarioParser.parse("peers A B\nA: set k.v \"1\"\nsettle\n").meaningHash
        let other = "# why\npeers left right\n\nleft:   set key.v \"1\" # now\nsettle left right\n"
        let same = try ScenarioParser.parse(other)
        #expect(same.meaningHash == plain)
        for other in ["A: set k.v \"2\"", "B: set k.v \"1\"", "A: set k.w \"1\"", "A: set k.v \"1\"\nwait 1us"] {
            #expect(try ScenarioParser.parse("peers A B\n\(other)\nsettle\n").meaningHash != plain)
        }
    }

    @Test(
        arguments: [
            ("0s", 0), ("1us", 1), ("1500us", 1_500), ("20ms", 20_000), ("2.5s", 2_500_000), ("119s", 119_000_000),
            ("2m", 120_000_000), ("121s", 121_000_000), ("1d", 86_400_000_000), ("10y", 315_360_000_000_000),
        ] as [(String, UInt64)]
    )
    func `lengths of time are written as they are read`(_ word: String, _ microseconds: UInt64) {
        #expect(VirtualTime(word: word[...]) == .microseconds(microseconds))
        #expect(VirtualTime(word: VirtualTime.microseconds(microseconds).word[...]) == .microseconds(microseconds))
        if microseconds % 1_000 == 0 { #expect(VirtualTime.microseconds(microseconds).word == word) }
    }

    @Test(arguments: ["", "s", "1", "-1s", "1.5m", "1.s", "1.1234567s", "101y", "99999999999999999999s", "1 s", "½s"])
    func `other words are no lengths of time`(_ word: String) { #expect(VirtualTime(word: word[...]) == nil) }
}

/// Scenarios that are run more than once.
struct ScenarioVariantTests {
    @Test func `a loop makes a run of each value, and two loops of each pair`() throws {
        let text = "for k in 0 5..7\nfor who in A B\npeers A B\n$who: set o1.title \"$k\"\nsettle"
        let variants = try ScenarioParser.variants(of: text)
        #expect(variants.count == 8)
        #expect(variants[3].label == " k=5 who=B")
        let written = Scenario.Content.action(.write(peer: 1, [.assign(1, name: "title", text: "5")]))
        #expect(variants[3].scenario.statements[0] == Scenario.Statement(line: 4, content: written))
    }

    @Test func `orders are all there, each once`() throws {
        let text = "orders first second third of A B \"A B\"\npeers A B C\ncut $first|C\ncut $second|C\ncut $third|C"
        let variants = try ScenarioParser.variants(of: text)
        #expect(variants.count == 6)
        #expect(Set(variants.map(\.scenario.lines)).count == 6)
        #expect(Set(variants.flatMap(\.scenario.lines)) == ["peers A B C", "cut A|C|B", "cut B|C|A", "cut A B|C"])
    }

    @Test(
        arguments: [
            ("for k\npeers A", 1, "“in” is missing"),
            ("for k in\npeers A", 1, "a value is missing"),
            ("peers A\nfor k in 9..1", 2, "“9..1” is not a row of numbers"),
            ("for k in 1..100\nfor j in 1..100\npeers A", 2, "more than a thousand runs"),
            ("orders a b of 1 2 3\npeers A", 1, "as many values as names are wanted, and not more than six"),
            ("for k in 1 x\npeers A\nwait $ks", 3, "“xs” is not a length of time"),
        ]
    )
    func `what cannot be read of a loop is reported with its line`(_ text: String, _ line: Int, _ message: String) {
        #expect(throws: ScenarioError(line: line, message: message)) { try ScenarioParser.variants(of: text) }
    }
}
