import Testing

@testable import FileServing

@Suite struct FilePathTests {
    private static func objection(_ text: String) -> FilePath.Objection? {
        do throws(FilePath.Objection) {
            _ = try FilePath.of(text)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            (["/"], .separator), (["a/b"], .separator), (["a\\b"], .separator), (["..\\.."], .separator),
            (["", "a"], .emptyComponent), (["a", "", "b"], .emptyComponent), (["", "\u{301}"], .emptyComponent),
            (["."], .dots), ([".."], .dots), (["a", "..", "b"], .dots), (["a", ".", "b"], .dots),
            (["\0"], .controlCharacter), (["a\0b"], .controlCharacter), (["a\nb"], .controlCharacter),
            (["\u{1f}"], .controlCharacter), (["\u{7f}"], .controlCharacter), (["\u{80}"], .controlCharacter),
            (["\u{9f}"], .controlCharacter), ([".peerd-upload-0123456789abcdef"], .reserved),
            (["a", ".peerd-upload-x"], .reserved), ([".peerd-upload-"], .reserved),
        ] as [([String], FilePath.Objection)]
    )
    func `names that could lead elsewhere are refused`(names: [String], objection: FilePath.Objection) {
        #expect(throws: objection) { try FilePath(components: names.map { Array($0.utf8) }) }
    }

    @Test(
        arguments: [
            [0xFF], [0xC0, 0xAE, 0xC0, 0xAE], [0xC0, 0xAF], [0xC3], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
            [0xE0, 0x80, 0xAF],
        ] as [[UInt8]]
    )
    func `a name that is not UTF-8 is refused`(name: [UInt8]) {
        #expect(throws: FilePath.Objection.invalidUTF8) { try FilePath(components: [name]) }
    }

    @Test func `lengths and depth have limits`() throws {
        func name(_ count: Int) -> String { String(repeating: "a", count: count) }
        func path(_ count: Int, of name: String) -> String {
            Array(repeating: name, count: count).joined(separator: "/")
        }
        #expect(Self.objection(name(255)) == nil)
        #expect(Self.objection(name(256)) == .nameTooLong)
        #expect(Self.objection(String(repeating: "é", count: 127)) == nil)
        #expect(Self.objection(String(repeating: "é", count: 128)) == .nameTooLong)
        #expect(Self.objection(path(64, of: "a")) == nil)
        #expect(Self.objection(path(65, of: "a")) == .tooDeep)
        #expect(Self.objection(path(16, of: name(255))) == nil)  // 16 × 255 + 15 = 4095
        #expect(Self.objection(path(16, of: name(255)) + "/b") == .pathTooLong)  // 4097
        #expect(Self.objection(path(15, of: name(255)) + "/" + name(253) + "/bb") == nil)  // 4096
    }

    @Test func `the folder around a path has all names but the last`() throws {
        let root = try FilePath.root
        #expect(try FilePath.of("a/b").parent == .of("a"))
        #expect(try FilePath.of("a").parent == root)
        #expect(root.parent == root && root.name == nil)
    }
}
