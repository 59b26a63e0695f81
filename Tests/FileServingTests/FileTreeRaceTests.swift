import Foundation
import Synchronization
import Testing

@testable import FileServing

/// Somebody swaps a folder with a link to another place, again and again, while requests are under way.
@Suite(.serialized) struct FileTreeRaceTests {
    private let folder: TestFolder

    init() throws { self.folder = try TestFolder() }

    private static let attemptCountMax = 1_000_000

    /// Runs `attempt` until it has succeeded and failed often enough, while another thread swaps `name` with a link.
    private func race(_ name: String, _ attempt: () throws -> Void) throws {
        let swapper = try Swapper(
            path: self.folder.root + "/" + name,
            target: self.folder.outside + "/" + (name as NSString).lastPathComponent
        )
        let swapped = DispatchGroup()
        swapped.enter()
        Thread.detachNewThread {
            while !swapper.isOver.withLock({ $0 }) { swapper.swap() }
            swapped.leave()
        }
        defer {
            swapper.isOver.withLock { $0 = true }
            swapped.wait()
        }
        var counts = (successes: 0, failures: 0)
        while counts.successes < 500 || counts.failures < 500 {
            try #require(counts.successes + counts.failures < Self.attemptCountMax, "\(counts)")
            do {
                try attempt()
                counts.successes += 1
            } catch let error as FileTreeError {
                try #require([.notFound, .notAFolder, .notRegular].contains(error), "\(error)")
                counts.failures += 1
            }
        }
    }

    /// Swaps two names in one step, so that there is always either the real thing or the link.
    private final class Swapper: Sendable {
        typealias Rename = @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32

        let isOver = Mutex(false)
        private let path: String
        private let rename: Rename
        private static let exchange: UInt32 = 2

        init(path: String, target: String) throws {
            self.path = path
            // Linux has it; Swift's module of the C library does not declare it.
            let symbol = try #require(dlsym(nil, "renameat2"))
            self.rename = unsafeBitCast(symbol, to: Rename.self)
            try #require(symlink(target, path + ".other") == 0)
            self.swap()
            var status = stat()
            try #require(lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
            self.swap()
        }

        func swap() { _ = self.rename(AT_FDCWD, self.path, AT_FDCWD, self.path + ".other", Self.exchange) }
    }

    @Test func `reading never gets through a link`() throws {
        try self.folder.write("own", to: "a/b/c")
        try self.folder.write("secret", toPath: self.folder.outside + "/b/c")
        let tree = try self.folder.tree()
        try self.race("a/b") {
            let text = try tree.text("a/b/c")
            #expect(text == "own")
        }
    }

    @Test func `the last name is not followed, either`() throws {
        try self.folder.write("own", to: "a/c")
        try self.folder.write("secret", toPath: self.folder.outside + "/c")
        let tree = try self.folder.tree()
        try self.race("a/c") {
            let text = try tree.text("a/c")
            #expect(text == "own")
        }
    }

    @Test func `writing, deleting and listing never reach beyond a link`() throws {
        try self.folder.makeFolder("a/b")
        try self.folder.write("secret", toPath: self.folder.outside + "/b/c")
        let tree = try self.folder.tree()
        try self.race("a/b") {
            let names = try tree.names("a/b")
            #expect(!names.contains("c"))
            try tree.write("own", to: "a/b/d")
            try tree.delete("a/b/d")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.outside + "/b") == ["c"])
        #expect(FileManager.default.contents(atPath: self.folder.outside + "/b/c") == Data("secret".utf8))
    }
}
