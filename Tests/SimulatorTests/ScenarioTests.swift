import Foundation
import Testing

@testable import Simulation
@testable import Simulator

struct ScenarioTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Scenarios")

    static func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: self.folder.path).filter { $0.hasSuffix(".scn") }.sorted()
    }

    static func text(of name: String) throws -> String {
        try String(contentsOf: self.folder.appendingPathComponent(name), encoding: .utf8)
    }

    @Test func `an expectation that is not met is reported with its line`() throws {
        let scenario = try ScenarioParser.parse("peers A B\nA: set k.v \"1\"\nsettle\nexpect k.v \"2\"\n")
        #expect(ScenarioRunner.run(scenario).failure?.line == 4)
    }
}

struct ScenarioParserTests {
    @Test func `what stands in a block is done so often, and blocks may stand in each other`() throws {
        let text = "peers A B\nrepeat 3 times\nA: kill\nrepeat 2 times\nB: kill\nend\nend\nsettle"
        let words = try ScenarioParser.parse(text).lines.dropFirst()
        #expect(words.map { $0.contains("A:") ? "A" : $0.contains("B:") ? "B" : $0 }.joined() == "ABBABBABBsettle")
    }

    @Test(
        arguments: [
            ("A: kill", 1, "the first line says who the peers are"),
            ("peers A B\n\nC: kill", 3, "“C” is not a peer"),
            ("peers A B\nA: set k.v text", 2, "a text in quotes is missing"),
            ("peers A B\nA: set k.v \"text", 2, "a text has no end"),
            ("peers A B\nA: clock 10y", 2, "“10y” is not how far a clock can be off"),
            ("peers A B\nwait 10", 2, "“10” is not a length of time"),
            ("peers A B\nfly A B", 2, "“fly” is not a statement"),
            ("peers A B\nheal now", 2, "“now” is too much"),
            ("peers A B\nexpect seen something", 2, "“something” is not a mark"),
            ("peers A A", 1, "two peers have one name"),
            ("peers A B\nseed -1", 2, "“-1” is not a seed"),
            ("peers A B\nfaults partition", 2, "“partition” is not a fault that lasts"),
            ("peers A B\nat 3s A: kill\nat 2s B: kill", 3, "“at 2s” comes after “at 3s”"),
            ("peers A B\nA: kill\nat 2s B: kill", 3, "“at” comes after a line without a time"),
            ("peers A B\nat 1s settle\nat 2s B: kill", 3, "“at” comes after “settle”"),
            ("peers A B\nat 1s expect o1 exists", 2, "“expect” is not a statement"),
            ("peers A B\nA: clock drift fast", 2, "“fast” is not how fast a clock can be"),
            ("peers A B\nA: disk fails often", 2, "“often” is not a kind of store call"),
            ("peers A B\nrepeat 20000 A: kill", 2, "20000 times is too often"),
            ("peers A B\nrepeat 2 times\nA: kill", 3, "“end” is missing"),
            ("peers A B\nend", 2, "“end” ends nothing"),
            ("peers A B\nrepeat 2 times\nat 3s A: kill\nend", 4, "a time in a block"),
            ("peers A B\nexpect delivered at most few bytes", 2, "a number of bytes is not a number: “few”"),
            ("peers A B\nA: disk full after 10 bytes 3s", 2, "“for” is missing"),
            ("peers A B\nwait 900000y", 2, "“900000y” is not a length of time"),
            ("peers A B\nperson A", 2, "the first peer is that of who founds the workspace"),
            ("peers A B\nperson", 2, "a peer is missing"),
            ("peers A B\nA: shares o1 with B as owner", 2, "“owner” is not a role"),
            ("peers A B\nA: shares o1 with B as reader of done", 2, "only a writer may be one of some properties"),
            ("peers A B\nA: unshares o1 with B", 2, "“from” is missing"),
            ("# nothing", 1, "“peers” is missing"),
        ]
    )
    func `what cannot be read is reported with its line`(_ text: String, _ line: Int, _ message: String) {
        #expect(throws: ScenarioError(line: line, message: message)) { try ScenarioParser.parse(text) }
    }

    @Test func `a line that is repeated is there as often as it says`() throws {
        let scenario = try ScenarioParser.parse("peers A\nrepeat 3 A: set o1.title\nsettle")
        #expect(scenario.lines == ["peers A"] + Array(repeating: "A: set o1.title", count: 3) + ["settle"])
    }

    @Test func `peers that no group of a cut names are a group of their own`() throws {
        let scenario = try ScenarioParser.parse("peers A B C D\ncut A|B\n")
        #expect(scenario.statements.map(\.content) == [.action(.network(.partition([[0], [1], [2, 3]])))])
    }
}
