import CRDTCore
import Testing

@testable import peerd

@Suite struct ValueArgumentTests {
    @Test(arguments: [
        ("null", Value.null),
        ("true", .bool(true)),
        ("-5", .int(-5)),
        ("1.0", .double(1.0)),
        ("-0.0", .double(-0.0)),
        ("-0", .double(-0.0)),
        ("0e-999", .double(0)),
        ("5e-324", .double(.leastNonzeroMagnitude)),
        ("9223372036854775807", .int(.max)),
        ("-9223372036854775808", .int(.min)),
        ("\"5\"", .string("5")),
        ("[1, 2]", .document("[1,2]")),
        ("{\"$bytes\":\"00ff\"}", .bytes([0, 255])),
    ])
    func `what is JSON is taken as JSON`(text: String, value: Value) throws {
        #expect(try Value(argument: text) == value)
    }

    @Test(arguments: ["", "Buy seeds", "05", "NaN", "True", "{not json", "'x'", "a=b", "ä", "1e400 km", "[1e400"])
    func `anything else is a string`(text: String) throws {
        #expect(try Value(argument: text) == .string(text))
    }

    @Test(arguments: [
        "1e400", "-1e999", "[1, 1e309]", String(repeating: "[", count: 130), "9223372036854775808",
        "-9223372036854775809", "10000000000000000000", "[{\"a\":18446744073709551615}]", "1e-400", "-0.1e-999",
    ])
    func `JSON that no value can hold is refused, and not taken for a string`(text: String) {
        #expect(throws: CommandFailure.self) { try Value(argument: text) }
    }

    @Test func `an assignment is split at the first equals sign`() throws {
        let assignment = try #require(Assignment(argument: "title=a = b"))
        #expect(assignment.name == "title")
        #expect(assignment.value == "a = b")
        #expect(Assignment(argument: "empty=")?.value == "")
    }

    @Test(arguments: ["", "name", "=value"])
    func `what is no assignment is a usage error`(argument: String) {
        #expect(Assignment(argument: argument) == nil)
        #expect { try Assignment.parse([argument]) } throws: { ($0 as? CommandFailure)?.status == .usage }
    }
}

@Suite struct LeadingOptionsTests {
    @Test(arguments: [
        (["--dir", "/d", "status"], ["status", "--dir", "/d"]),
        (["--json", "--dir=/d", "get", "x"], ["get", "--json", "--dir=/d", "x"]),
        (["status", "--dir", "/d"], ["status", "--dir", "/d"]),
        (["--dir", "/d", "backup", "verify", "f"], ["backup", "verify", "--dir", "/d", "f"]),
        (["--json", "backup", "--dir", "/d", "restore"], ["backup", "restore", "--json", "--dir", "/d"]),
        (["--json", "backup", "f"], ["backup", "--json", "f"]),
        (["backup", "--dir", "/d", "f"], ["backup", "--dir", "/d", "f"]),
        (["--help"], ["--help"]),
        (["--dir"], ["--dir"]),
        (["--dir", "/d"], ["--dir", "/d"]),
        (["--json", "--version"], ["--json", "--version"]),
    ])
    func `options before the verb count as behind it`(given: [String], moved: [String]) {
        #expect(LeadingOptions.movedBehindVerb(given) == moved)
    }
}
