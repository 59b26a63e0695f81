import Foundation
import Testing

@testable import FileServing

@Suite struct FileUploadTests {
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

    @Test func `a file is written in pieces and appears at the commit`() throws {
        let tree = try self.folder.tree()
        let upload = try tree.upload(.of("a/b/c.bin"), now: .later)
        try upload.append(Array("one ".utf8))
        try upload.append([])
        try upload.append(Array("two".utf8))
        #expect(Self.error { try tree.open(.of("a/b/c.bin")) } == .notFound)
        #expect(try tree.names("a/b") == [])
        let committed = try upload.commit(now: .later)
        #expect(committed.isNew)
        #expect(try tree.text("a/b/c.bin") == "one two")
        #expect(try tree.version("a/b/c.bin") == committed.version)
        #expect(try self.folder.content() == ["a", "a/b", "a/b/c.bin"])
        #expect(try self.folder.mode(of: "a/b/c.bin") == 0o600)
        #expect(try self.folder.mode(of: "a/b") == 0o700)
        #expect(Self.error { try upload.append([1]) } == .uploadEnded)
        #expect(Self.error { try upload.commit(now: .later) } == .uploadEnded)
        upload.abort()
        #expect(try tree.text("a/b/c.bin") == "one two")
    }

    @Test func `a reader keeps the old content while the new one comes`() throws {
        let tree = try self.folder.tree()
        let first = try tree.write("old", to: "a")
        let open = try tree.file("a")
        let second = try tree.write("newer", to: "a")
        #expect(!second.isNew)
        #expect(first.version.entityTag != second.version.entityTag)
        #expect(try open.read(10, at: 0) == Array("old".utf8))
        #expect(try tree.text("a") == "newer")
    }

    @Test func `an upload that is aborted or dropped leaves nothing, not even folders`() throws {
        try self.folder.makeFolder("there")
        let tree = try self.folder.tree()
        for ending in 0..<2 {
            do {
                let upload = try tree.upload(.of("there/new/deep/c"), now: .later)
                try upload.append([1, 2, 3])
                #expect(try self.folder.content().count == 4)
                if ending == 0 { upload.abort() }
            }
            #expect(try self.folder.content() == ["there"])
        }
    }

    @Test func `folders of an aborted upload stay if something else is in them`() throws {
        let tree = try self.folder.tree()
        let upload = try tree.upload(.of("a/b/c"), now: .later)
        try tree.write("x", to: "a/d")
        upload.abort()
        #expect(try self.folder.content() == ["a", "a/d"])
    }

    @Test func `over the limit, nothing is left`() throws {
        let tree = try self.folder.tree()
        let upload = try tree.upload(.of("a/b"), now: .later, byteCountMax: 4)
        try upload.append([1, 2, 3, 4])
        #expect(Self.error { try upload.append([5]) } == .tooLarge)
        #expect(try self.folder.content() == [])
        #expect(Self.error { try upload.append([]) } == .uploadEnded)
    }

    @Test func `a folder is not replaced, nor is the root`() throws {
        try self.folder.makeFolder("a/b")
        let tree = try self.folder.tree()
        #expect(Self.error { try tree.write("x", to: "a") } == .isFolder)
        #expect(Self.error { try tree.write("x", to: "") } == .isRoot)
        // It becomes a folder while the file is written.
        let upload = try tree.upload(.of("c"), now: .later)
        try self.folder.makeFolder("c")
        #expect(Self.error { try upload.commit(now: .later) } == .isFolder)
        #expect(try self.folder.content() == ["a", "a/b", "c"])
    }

    @Test func `what becomes a link while a file is written is not replaced`() throws {
        try self.folder.write("secret", toPath: self.folder.outside + "/s")
        let tree = try self.folder.tree()
        let upload = try tree.upload(.of("a"), now: .later)
        try self.folder.link("a", to: self.folder.outside + "/s")
        #expect(Self.error { try upload.commit(now: .later) } == .notRegular)
        #expect(FileManager.default.contents(atPath: self.folder.outside + "/s") == Data("secret".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.root) == ["a"])
    }

    @Test func `a write can depend on the state before`() throws {
        let tree = try self.folder.tree()
        let absent = Preconditions(ifNoneMatch: ["*"])
        let present = Preconditions(ifMatch: ["*"])
        #expect(Self.error { try tree.write("x", to: "a", if: present) } == .preconditionFailed)
        let first = try tree.write("one", to: "a", if: absent)
        #expect(first.isNew)
        #expect(Self.error { try tree.write("x", to: "a", if: absent) } == .preconditionFailed)
        let tag = Preconditions(ifMatch: [try #require(first.version.entityTag).text])
        #expect(!(try tree.write("two", to: "a", if: tag).isNew))
        #expect(Self.error { try tree.write("x", to: "a", if: tag) } == .preconditionFailed)
        #expect(
            Self.error { try tree.write("x", to: "a", if: Preconditions(ifNoneMatch: ["a"])) }
                == .malformedPrecondition("If-None-Match")
        )
        #expect(try tree.text("a") == "two")
        #expect(try self.folder.content() == ["a"])
    }

    @Test func `what counts is the state at the commit`() throws {
        let tree = try self.folder.tree()
        let absent = Preconditions(ifNoneMatch: ["*"])
        let late = try tree.upload(.of("a"), if: absent, now: .later)
        try late.append(Array("late".utf8))
        let first = try tree.write("first", to: "a", if: absent)
        #expect(Self.error { try late.commit(if: absent, now: .later) } == .preconditionFailed)

        let tag = Preconditions(ifMatch: [try #require(first.version.entityTag).text])
        let stale = try tree.upload(.of("a"), if: tag, now: .later)
        try tree.write("second", to: "a")
        #expect(Self.error { try stale.commit(if: tag, now: .later) } == .preconditionFailed)
        #expect(try tree.text("a") == "second")
        #expect(try self.folder.content() == ["a"])
    }

    @Test func `of many writers that want to be first, one is`() async throws {
        let tree = try self.folder.tree()
        let absent = Preconditions(ifNoneMatch: ["*"])
        for round in 0..<20 {
            let winners = try await withThrowingTaskGroup(of: String?.self) { group in
                for writer in 0..<8 {
                    group.addTask {
                        let upload = try tree.upload(.of("d/\(round)"), now: .later)
                        try upload.append(Array("\(writer)".utf8))
                        do {
                            return try upload.commit(if: absent, now: .later).isNew ? "\(writer)" : nil
                        } catch FileTreeError.preconditionFailed {
                            return nil
                        }
                    }
                }
                return try await group.reduce(into: [String]()) { if let writer = $1 { $0.append(writer) } }
            }
            #expect(winners.count == 1)
            #expect(try tree.text("d/\(round)") == winners.first)
        }
        #expect(try tree.names("d").count == 20)
    }

    @Test func `of many writers that know the same state, one replaces it`() async throws {
        let tree = try self.folder.tree()
        for _ in 0..<20 {
            let before = try tree.write("before", to: "a")
            let tag = Preconditions(ifMatch: [try #require(before.version.entityTag).text])
            let count = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let upload = try tree.upload(.of("a"), now: .later)
                        do {
                            _ = try upload.commit(if: tag, now: .later)
                            return 1
                        } catch FileTreeError.preconditionFailed {
                            return 0
                        }
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(count == 1)
        }
    }

    @Test func `folders that aborted uploads remove are made again by others`() async throws {
        let tree = try self.folder.tree()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    for round in 0..<100 {
                        let upload = try tree.upload(.of("a/b/c/\(writer)"), now: .later)
                        try upload.append([UInt8(round)])
                        if writer > 0 || round < 99 { upload.abort() } else { _ = try upload.commit(now: .later) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try self.folder.content() == ["a", "a/b", "a/b/c", "a/b/c/0"])
    }

    @Test func `what a killed process left behind is neither served nor listed, and removed`() async throws {
        let root: String = self.folder.root
        await #expect(processExitsWith: .signal(SIGKILL)) { [root = root as String] in
            let tree = try FileTree(path: root)
            let uploads = try ["top", "a/b/deep"].map { try tree.upload(.of($0), now: .later) }
            for upload in uploads { try upload.append(Array("unfinished".utf8)) }
            try tree.write("done", to: "a/done")
            kill(getpid(), SIGKILL)
            withExtendedLifetime(uploads) {}
        }
        let left = try self.folder.content().filter { $0.contains(FilePath.uploadPrefix) }
        #expect(left.count == 2)
        let tree = try self.folder.tree()
        #expect(try self.folder.content() == ["a", "a/b", "a/done"])
        #expect(try tree.text("a/done") == "done")
    }

    @Test func `only files are removed as leftovers, and no link is followed`() throws {
        let name = FilePath.uploadPrefix + "0123456789abcdef"
        try self.folder.write("keep", toPath: self.folder.outside + "/" + name)
        try self.folder.link("link", to: self.folder.outside)
        try self.folder.link(name, to: self.folder.outside + "/" + name)
        try self.folder.makeFolder("a/" + name)
        try self.folder.write("leftover", to: "a/b/" + name)
        _ = try self.folder.tree()
        #expect(try self.folder.content() == [name, "a", "a/" + name, "a/b", "link"])
        #expect(FileManager.default.contents(atPath: self.folder.outside + "/" + name) == Data("keep".utf8))
    }
}
