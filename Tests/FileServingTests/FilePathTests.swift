import Testing

@testable import FileServing

@Suite struct FilePathTests {
    private static func objection(_ text: String) -> FilePath.Objection? {
        do throws(FilePath.Objection) {
            _ = try FilePath(percentEncoded: text)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            ("", []), ("a", ["a"]), ("a/", ["a"]), ("a/b/c.m4a", ["a", "b", "c.m4a"]), ("a%20b", ["a b"]),
            ("a+b", ["a+b"]),
            ("%C3%A9", ["é"]), ("...", ["..."]), ("..a", ["..a"]), ("a..", ["a.."]), (".a", [".a"]), ("a:b", ["a:b"]),
            ("%25", ["%"]), ("%252e%252e", ["%2e%2e"]), ("%7E", ["~"]), ("~", ["~"]),
            ("peerd-upload-1", ["peerd-upload-1"]),
            ("a/.peerd", ["a", ".peerd"]), ("e%CC%81", ["e\u{301}"]), ("/%CC%81", ["", "\u{301}"]),
        ] as [(String, [String])]
    )
    func `a path is split and decoded`(text: String, components: [String]) throws {
        if components.first == "" {
            // A combining letter behind a slash does not hide the slash.
            #expect(Self.objection(text) == .emptyComponent)
        } else {
            let path = try FilePath(percentEncoded: text)
            // As bytes: two spellings of a letter are equal as strings.
            #expect(path.components.map { Array($0.utf8) } == components.map { Array($0.utf8) })
        }
    }

    @Test(
        arguments: [
            ("/", .emptyComponent), ("//", .emptyComponent), ("/a", .emptyComponent), ("a//b", .emptyComponent),
            ("a//", .emptyComponent), (".", .dots), ("..", .dots), ("a/..", .dots), ("../a", .dots), ("a/../b", .dots),
            ("a/./b", .dots), ("%2e", .dots), ("%2E%2e", .dots), (".%2e/a", .dots), ("a/%2e%2e/b", .dots),
            ("../", .dots),
            ("a%2fb", .separator), ("a%2Fb", .separator), ("%2e%2e%2f", .separator), ("a%5Cb", .separator),
            ("a\\b", .separator),
            ("..%5c..", .separator), ("%00", .controlCharacter), ("a%00b", .controlCharacter),
            ("a%0Ab", .controlCharacter),
            ("%1F", .controlCharacter), ("%7F", .controlCharacter), ("%C2%80", .controlCharacter),
            ("%C2%9F", .controlCharacter), ("%FF", .invalidUTF8), ("%C0%AE%C0%AE", .invalidUTF8),
            ("%C0%AF", .invalidUTF8),
            ("%C3", .invalidUTF8), ("%ED%A0%80", .invalidUTF8), ("%F4%90%80%80", .invalidUTF8),
            ("%E0%80%AF", .invalidUTF8),
            ("%", .invalidPercentEncoding), ("%2", .invalidPercentEncoding), ("%2g", .invalidPercentEncoding),
            ("%%41", .invalidPercentEncoding), ("a%2/b", .invalidPercentEncoding), ("%u002e", .invalidPercentEncoding),
            (".peerd-upload-0123456789abcdef", .reserved), ("a/.peerd-upload-x", .reserved),
            ("%2epeerd-upload-", .reserved),
        ] as [(String, FilePath.Objection)]
    )
    func `a path that could lead elsewhere is refused`(text: String, objection: FilePath.Objection) {
        #expect(Self.objection(text) == objection)
    }

    @Test func `lengths and depth have limits`() throws {
        func name(_ count: Int) -> String { String(repeating: "a", count: count) }
        func path(_ count: Int, of name: String) -> String {
            Array(repeating: name, count: count).joined(separator: "/")
        }
        #expect(Self.objection(name(255)) == nil)
        #expect(Self.objection(name(256)) == .nameTooLong)
        #expect(Self.objection(String(repeating: "%C3%A9", count: 127)) == nil)
        #expect(Self.objection(String(repeating: "%C3%A9", count: 128)) == .nameTooLong)
        #expect(Self.objection(path(64, of: "a")) == nil)
        #expect(Self.objection(path(65, of: "a")) == .tooDeep)
        #expect(Self.objection(path(16, of: name(255))) == nil)  // 16 × 255 + 15 = 4095
        #expect(Self.objection(path(16, of: name(255)) + "/b") == .pathTooLong)  // 4097
        #expect(Self.objection(path(15, of: name(255)) + "/" + name(253) + "/bb") == nil)  // 4096
        #expect(Self.objection(String(repeating: "%", count: 1_000_000)) == .pathTooLong)
    }

    @Test func `the same holds for names that come decoded`() throws {
        #expect(try FilePath(components: [Array("a/b".utf8)].map { $0.filter { $0 != 0x2F } }).components == ["ab"])
        for bad in ["", ".", "..", "a/b", "a\\b", "a\0b", "\n"] {
            #expect(throws: FilePath.Objection.self) { try FilePath(components: [Array(bad.utf8)]) }
        }
        #expect(throws: FilePath.Objection.invalidUTF8) { try FilePath(components: [[0xFF]]) }
    }

    @Test func `a folder is named by a slash at the end`() throws {
        #expect(FilePath.namesFolder("") && FilePath.namesFolder("a/"))
        #expect(!FilePath.namesFolder("a"))
        #expect(try FilePath.of("a/b").parent == .of("a"))
        #expect(try FilePath.of("a").parent == .root)
        #expect(FilePath.root.parent == .root && FilePath.root.name == nil)
    }
}
