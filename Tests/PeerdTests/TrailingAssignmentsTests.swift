import Testing

@testable import peerd

/// Command lines with more assignments than the parser can take in reasonable time.
@Suite struct TrailingAssignmentsTests {
    private static let assignments = (0..<1_000).map { "p\($0)=\($0)" }

    @Test func `what stands at the end is set aside, in order`() {
        let (parsed, rest) = TrailingAssignments.divided(["create", "note", "--kind", "a=b"] + Self.assignments)
        #expect(parsed.count < 70 && parsed.prefix(4) == ["create", "note", "--kind", "a=b"])
        #expect(parsed + rest == ["create", "note", "--kind", "a=b"] + Self.assignments)
    }

    @Test(arguments: [
        ["create", "note", "a=1", "b=2"], ["log"], [], ["create", "note"] + Self.assignments + ["--json"],
        ["get"] + Self.assignments,
    ])
    func `what the parser can take, or must see, is left to it`(arguments: [String]) {
        let (parsed, rest) = TrailingAssignments.divided(arguments)
        #expect(parsed == arguments && rest.isEmpty)
    }
}
