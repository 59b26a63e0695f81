import FileServing
import NIOHTTP1
import Testing

@testable import LocalAPI

/// The paths of files in the targets of requests: they are divided, then decoded, then checked.
@Suite struct FilePathRouteTests {
    private static func path(_ text: String) throws -> (path: FilePath, isFolder: Bool) {
        let head = try RequestHead(method: .GET, target: "/api/file/\(text)", headers: [:], entryPoint: .socket)
        var request = Request(head: head, body: .empty)
        request.parameters = Array(head.path.dropFirst(2))
        return try FileRoutes.path(of: request)
    }

    @Test(
        arguments: [
            ("", []), ("a", ["a"]), ("a/", ["a"]), ("a/b/c.m4a", ["a", "b", "c.m4a"]), ("a%20b", ["a b"]),
            ("a+b", ["a+b"]), ("%C3%A9", ["é"]), ("...", ["..."]), ("..a", ["..a"]), ("a..", ["a.."]),
            (".a", [".a"]), ("a:b", ["a:b"]), ("%25", ["%"]), ("%252e%252e", ["%2e%2e"]), ("%7E", ["~"]),
            ("~", ["~"]), ("peerd-upload-1", ["peerd-upload-1"]), ("a/.peerd", ["a", ".peerd"]),
            ("e%CC%81", ["e\u{301}"]),
        ] as [(String, [String])]
    )
    func `a path is split and decoded`(text: String, components: [String]) throws {
        let (path, isFolder) = try Self.path(text)
        // As bytes: two spellings of a letter are equal as strings.
        #expect(path.components.map { Array($0.utf8) } == components.map { Array($0.utf8) })
        #expect(isFolder == (text.isEmpty || text.hasSuffix("/")))
    }

    @Test(
        arguments: [
            ("/", .emptyComponent), ("//", .emptyComponent), ("/a", .emptyComponent), ("a//b", .emptyComponent),
            ("a//", .emptyComponent), ("/%CC%81", .emptyComponent), (".", .dots), ("..", .dots), ("a/..", .dots),
            ("../a", .dots), ("a/../b", .dots), ("a/./b", .dots), ("%2e", .dots), ("%2E%2e", .dots),
            (".%2e/a", .dots), ("a/%2e%2e/b", .dots), ("../", .dots), ("a%2fb", .separator), ("a%2Fb", .separator),
            ("%2e%2e%2f", .separator), ("a%5Cb", .separator), ("a\\b", .separator), ("..%5c..", .separator),
            ("%00", .controlCharacter), ("a%00b", .controlCharacter), ("a%0Ab", .controlCharacter),
            ("%1F", .controlCharacter), ("%7F", .controlCharacter), ("%C2%80", .controlCharacter),
            ("%C2%9F", .controlCharacter), (".peerd-upload-0123456789abcdef", .reserved),
            ("a/.peerd-upload-x", .reserved), ("%2epeerd-upload-", .reserved),
        ] as [(String, FilePath.Objection)]
    )
    func `a path that could lead elsewhere is refused`(text: String, objection: FilePath.Objection) throws {
        let problem = try #require(throws: Problem.self) { try Self.path(text) }
        #expect(problem.detail == "This cannot be the path of a file: \(objection.text).")
    }

    @Test(arguments: [
        "%FF", "%C0%AE%C0%AE", "%C0%AF", "%C3", "%ED%A0%80", "%F4%90%80%80", "%E0%80%AF", "%", "%2", "%2g", "%%41",
        "a%2/b", "%u002e", String(repeating: "%", count: 1_000_000),
    ])
    func `what is not UTF-8 in percent-encoding is refused`(text: String) {
        #expect(throws: Problem.self) { try Self.path(text) }
    }
}
