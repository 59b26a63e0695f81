import Testing

@testable import peerd

/// Command lines with more assignments than the parser can take in reasonable time.
@Suite struct SetAsideAssignmentsTests {
    private static let assignments = (0..<1_000).map { "p\($0)=\($0)" }

    @Test func `what stands at the end is set aside, in order`() {
        let (parsed, rest) = SetAsideAssignments.divided(["create", "note", "--kind", "a=b"] + Self.assignments)
        #expect(parsed.count < 70 && parsed.prefix(4) == ["create", "note", "--kind", "a=b"])
        #expect(parsed + rest == ["create", "note", "--kind", "a=b"] + Self.assignments)
    }

    @Test(arguments: [["--json"], ["--dir", "place", "--kind", "k=v"], ["z=1", "--json", "y=2"]])
    func `what stands before options is set aside as well`(end: [String]) {
        let (parsed, rest) = SetAsideAssignments.divided(["create", "note"] + Self.assignments + end)
        #expect(parsed.count < 80)
        let options = Array(end.drop { $0.contains("=") })
        #expect(Array(parsed.suffix(options.count)) == options)
        #expect(Set(parsed + rest) == Set(["create", "note"] + Self.assignments + end))
        #expect(parsed.count + rest.count == 2 + Self.assignments.count + end.count)
    }

    @Test(arguments: [["create", "note", "a=1", "b=2"], ["log"], [], ["get"] + Self.assignments])
    func `what the parser can take, or must see, is left to it`(arguments: [String]) {
        let (parsed, rest) = SetAsideAssignments.divided(arguments)
        #expect(parsed == arguments && rest.isEmpty)
    }
}
