import Foundation
import Testing

@testable import FileServing

@Suite struct FileTreeTests {
    private let folder: TestFolder

    init() throws { self.folder = try TestFolder() }

    private static func error(_ body: () throws -> some Any) -> FileTreeError? {
        do {
            _ = try body()
            return nil
        } catch {
            return error as? FileTreeError
        }
    }

    @Test func `a file is read with its size and tag`() throws {
        try self.folder.write("hello", to: "a/b.txt")
        let tree = try self.folder.tree()
        let file = try tree.file("a/b.txt")
        #expect(file.length == 5)
        #expect(try file.read(100, at: 0) == Array("hello".utf8))
        #expect(try file.read(2, at: 3) == Array("lo".utf8))
        #expect(try file.read(2, at: 5) == [])
        #expect(try file.read(2, at: .max) == [])
        #expect(try file.read(0, at: 0) == [])
        #expect(file.version.entityTag?.isWeak == false)
        #expect(try file.hasSameContent())
        try self.folder.write("other", to: "a/b.txt")
        #expect(try tree.version("a/b.txt") != file.version)
    }

    @Test func `a file that is changed in place is noticed`() throws {
        try self.folder.write("hello", to: "a")
        let file = try self.folder.tree().file("a")
        let handle = try #require(FileHandle(forWritingAtPath: self.folder.root + "/a"))
        try handle.write(contentsOf: Data("HELLO, WORLD".utf8))
        try handle.close()
        #expect(try !file.hasSameContent())
    }

    @Test func `a file that is replaced or deleted stays what it is for those who have it open`() throws {
        let tree = try self.folder.tree()
        for name in ["replaced", "deleted"] {
            try self.folder.write("hello", to: name)
            let file = try tree.file(name)
            if name == "replaced" {
                try self.folder.write("other", to: "new")
                try FileManager.default.removeItem(atPath: self.folder.root + "/replaced")
                try FileManager.default.moveItem(
                    atPath: self.folder.root + "/new",
                    toPath: self.folder.root + "/replaced"
                )
                #expect(self.folder.text(of: name) == "other")
            } else {
                try tree.delete(.of(name), now: .later)
            }
            #expect(try file.hasSameContent())
            #expect(try file.read(5, at: 0) == Array("hello".utf8))
        }
    }

    @Test func `what is not there, folders and files in the place of folders are told apart`() throws {
        try self.folder.write("hello", to: "a/b.txt")
        let tree = try self.folder.tree()
        #expect(Self.error { try tree.open(.of("x")) } == .notFound)
        #expect(Self.error { try tree.open(.of("a/x")) } == .notFound)
        #expect(Self.error { try tree.open(.of("x/y")) } == .notFound)
        #expect(Self.error { try tree.open(.of("a/b.txt/c")) } == .notAFolder)
        #expect(Self.error { try tree.list(.of("a/b.txt"), limit: 1) } == .notAFolder)
        #expect(Self.error { try tree.list(.of("x"), limit: 1) } == .notFound)
        for path in ["", "a"] {
            guard case .folder = try tree.open(.of(path)) else {
                Issue.record("\(path) is a folder")
                continue
            }
        }
    }

    @Test func `no link is followed, wherever it stands and leads`() throws {
        try self.folder.write("secret", toPath: self.folder.outside + "/secret.txt")
        try self.folder.write("own", to: "real/own.txt")
        try self.folder.link("file", to: self.folder.outside + "/secret.txt")
        try self.folder.link("folder", to: self.folder.outside)
        try self.folder.link("relative", to: "../outside")
        try self.folder.link("inner", to: "real")
        try self.folder.link("innerFile", to: "real/own.txt")
        try self.folder.link("dangling", to: "nothing")
        try self.folder.link("loop", to: "loop")
        let tree = try self.folder.tree()
        for path in ["file", "folder", "relative", "inner", "innerFile", "dangling", "loop"] {
            #expect(Self.error { try tree.open(.of(path)) } == .notRegular, "\(path)")
            #expect(Self.error { try tree.write("new", to: path) } == .notRegular, "\(path)")
            #expect(Self.error { try tree.delete(path) } == .notRegular, "\(path)")
            #expect(Self.error { try tree.list(.of(path), limit: 9) } == .notAFolder, "\(path)")
        }
        for path in ["folder/secret.txt", "relative/secret.txt", "inner/own.txt", "loop/a", "dangling/a"] {
            #expect(Self.error { try tree.open(.of(path)) } == .notAFolder, "\(path)")
            #expect(Self.error { try tree.write("new", to: path) } == .notAFolder, "\(path)")
            #expect(Self.error { try tree.delete(path) } == .notAFolder, "\(path)")
        }
        #expect(try tree.names() == ["real"])
        #expect(FileManager.default.contents(atPath: self.folder.outside + "/secret.txt") == Data("secret".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.outside) == ["secret.txt"])
    }

    @Test func `a root that is a link is refused`() throws {
        try FileManager.default.removeItem(atPath: self.folder.root)
        try FileManager.default.createSymbolicLink(
            atPath: self.folder.root,
            withDestinationPath: self.folder.outside
        )
        #expect(Self.error { try self.folder.tree() } == .notAFolder)
    }

    @Test func `a root that is not there is made, for its owner alone`() throws {
        try FileManager.default.removeItem(atPath: self.folder.root)
        let tree = try self.folder.tree()
        #expect(try tree.names() == [])
        #expect(try self.folder.mode(of: ".") == 0o700)
    }

    @Test func `pipes and sockets are refused without waiting, and not listed`() throws {
        #expect(mkfifo(self.folder.root + "/pipe", 0o600) == 0)
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array((self.folder.root + "/socket").utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        let tree = try self.folder.tree()
        for name in ["pipe", "socket"] {
            #expect(Self.error { try tree.open(.of(name)) } == .notRegular)
            #expect(Self.error { try tree.write("x", to: name) } == .notRegular)
            #expect(Self.error { try tree.delete(name) } == .notRegular)
        }
        #expect(try tree.names() == [])
    }

    @Test func `a hard link is a file`() throws {
        try self.folder.write("text", toPath: self.folder.outside + "/a")
        try FileManager.default.linkItem(
            atPath: self.folder.outside + "/a",
            toPath: self.folder.root + "/b"
        )
        #expect(try self.folder.tree().text("b") == "text")
        // Writing replaces the name here and leaves the other one alone.
        try self.folder.tree().write("new", to: "b")
        #expect(FileManager.default.contents(atPath: self.folder.outside + "/a") == Data("text".utf8))
    }

    @Test func `two spellings of one letter are two files`() throws {
        let tree = try self.folder.tree()
        try tree.write("composed", to: "%C3%A9")
        try tree.write("combining", to: "e%CC%81")
        #expect(try tree.text("%C3%A9") == "composed")
        #expect(try tree.text("e%CC%81") == "combining")
        #expect(try tree.list(.root, limit: 10).entries.count == 2)
    }

    @Test func `a folder is listed in pages, sorted by bytes`() throws {
        let names = ["B", "Z", "a", "a.b", "aa", "b", "é", "z", "\u{10000}", "\u{FFFD}x", "10", "9"]
        for name in names { try self.folder.write(name, to: name) }
        try self.folder.makeFolder("sub")
        try self.folder.write("x", to: ".peerd-upload-0000000000000000x/inner")
        let tree = try self.folder.tree()
        let expected = (names + ["sub"]).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for limit in 1...14 {
            var listed: [String] = []
            var last: String?
            repeat {
                let page = try tree.list(.root, after: last, limit: limit)
                #expect(page.entries.count <= limit)
                listed += page.entries.map(\.name)
                last = page.next
            } while last != nil
            #expect(listed == expected, "limit \(limit)")
        }
        let entries = try tree.list(.root, limit: 100).entries
        #expect(entries.first { $0.name == "sub" }?.isFolder == true)
        #expect(entries.first { $0.name == "a.b" }?.size == 3)
        #expect(entries.first { $0.name == "a.b" }.map { $0.modifiedMilliseconds > 1_500_000_000_000 } == true)
    }

    @Test func `a folder with more names than are kept at once is listed whole`() throws {
        let count = 4 * FileTree.pageEntryCountMax + 500
        for number in 0..<count { close(creat(self.folder.root + "/\(number)", 0o600)) }
        let tree = try self.folder.tree()
        var listed: [String] = []
        var last: String?
        repeat {
            let page = try tree.list(.root, after: last, limit: .max)
            #expect(page.entries.count <= FileTree.pageEntryCountMax)
            listed += page.entries.map(\.name)
            last = page.next
        } while last != nil
        #expect(listed == (0..<count).map(String.init).sorted())
    }

    @Test func `names that no path can hold are not listed`() throws {
        for name: [UInt8] in [[0x61, 0xFF], [0x61, 0x0A], Array("a\\b".utf8), Array(".peerd-upload-1".utf8)] {
            let path = Array(self.folder.root.utf8) + [0x2F] + name + [0]
            let number = path.withUnsafeBytes {
                open($0.assumingMemoryBound(to: CChar.self).baseAddress!, O_CREAT, 0o600)
            }
            #expect(close(number) == 0)
        }
        try self.folder.write("x", to: "good")
        #expect(try self.folder.tree().names() == ["good"])
    }

    @Test func `files and empty folders are deleted`() throws {
        try self.folder.write("x", to: "a/b")
        let tree = try self.folder.tree()
        #expect(Self.error { try tree.delete("a") } == .folderNotEmpty)
        #expect(Self.error { try tree.delete("") } == .isRoot)
        #expect(Self.error { try tree.delete("a/c") } == .notFound)
        try tree.delete("a/b")
        try tree.delete("a")
        #expect(try self.folder.content() == [])
    }

    @Test func `a deletion can depend on the state`() throws {
        try self.folder.write("x", to: "a")
        try self.folder.makeFolder("f")
        let tree = try self.folder.tree()
        let tag = try #require(try tree.version("a").entityTag).text
        #expect(Self.error { try tree.delete("a", if: Preconditions(ifMatch: ["\"x\""])) } == .preconditionFailed)
        #expect(Self.error { try tree.delete("a", if: Preconditions(ifNoneMatch: [tag])) } == .preconditionFailed)
        #expect(
            Self.error { try tree.delete("a", if: Preconditions(ifMatch: ["x"])) } == .malformedPrecondition("If-Match")
        )
        #expect(Self.error { try tree.delete("f", if: Preconditions(ifMatch: [tag])) } == .preconditionFailed)
        #expect(try tree.names() == ["a", "f"])
        try tree.delete("a", if: Preconditions(ifMatch: [tag]))
        try tree.delete("f", if: Preconditions(ifMatch: ["*"]))
        #expect(try tree.names() == [])
    }

    @Test func `each failure says what happened and what to do`() {
        let all: [FileTreeError] = [
            .notFound, .isFolder, .notAFolder, .notRegular, .folderNotEmpty, .isRoot, .preconditionFailed,
            .malformedPrecondition("If-Match"), .tooLarge, .uploadEnded, .diskFull, .permissionDenied,
            .tooManyOpenFiles, .system(code: EIO),
        ]
        #expect(Set(all.map(\.detail)).count == all.count)
        #expect(all.filter { $0.advice == nil } == [.notFound, .notAFolder, .isRoot, .tooLarge])
    }
}
