import CRDTCore
import Glibc
import Testing

@testable import Persistence

/// What is no regular file is not opened, and not waited for.
struct RegularFileTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        self.directory = try TemporaryDirectory()
        self.path = self.directory.path + "/file"
        try self.directory.write([1, 2, 3], to: self.directory.path + "/other")
    }

    private func failure(_ purpose: RegularFile.Purpose, followsLinks: Bool = false) -> RegularFile.Failure? {
        do throws(RegularFile.Failure) {
            _ = try RegularFile(self.path, for: purpose, followsLinks: followsLinks)
            return nil
        } catch {
            return error
        }
    }

    private static let purposes: [RegularFile.Purpose] = [.reading, .readingUnnoticed, .updating, .making]

    @Test(arguments: RegularFileTests.purposes)
    func `only a regular file is opened`(purpose: RegularFile.Purpose) throws {
        #expect(mkfifo(self.path, 0o600) == 0)
        #expect(self.failure(purpose) == .notRegular("a named pipe"))
        unlink(self.path)
        #expect(mkdir(self.path, 0o700) == 0)
        #expect(self.failure(purpose) == .notRegular("a folder"))
        rmdir(self.path)
        for target in [self.directory.path + "/other", self.directory.path + "/nowhere", "/dev/zero"] {
            #expect(symlink(target, self.path) == 0)
            #expect(self.failure(purpose) == .notRegular("a symbolic link"))
            unlink(self.path)
        }
        #expect(!self.directory.exists(self.directory.path + "/nowhere"))
        #expect(self.failure(purpose) == (purpose == .making ? nil : .absent))
        #expect(self.failure(.reading) == (purpose == .making ? nil : .absent))
    }

    @Test func `a link that the user named is followed to a file, and to nothing else`() throws {
        #expect(symlink(self.directory.path + "/other", self.path) == 0)
        #expect(self.failure(.reading, followsLinks: true) == nil)
        unlink(self.path)
        #expect(symlink("/dev/zero", self.path) == 0)
        #expect(self.failure(.reading, followsLinks: true) == .notRegular("a device"))
    }

    @Test func `content that is longer than it may be is not read`() throws {
        try self.directory.write([UInt8](repeating: 7, count: 65), to: self.path)
        #expect(throws: RegularFile.Failure.tooLong) { try RegularFile.content(of: self.path, atMost: 64) }
        #expect(try RegularFile.content(of: self.path, atMost: 65).count == 65)
    }

    @Test(arguments: ["", "-wal", "-shm", "-journal"])
    func `a database is not opened beside what is no file`(suffix: String) throws {
        let origin = Hash256(bytes: Bytes32(1, 2, 3, 4))
        do {
            let store = try SQLiteStore(directory: self.directory.path, origin: origin)
            _ = consume store
        }
        let name = self.directory.database + suffix
        unlink(name)
        #expect(mkfifo(name, 0o600) == 0)
        #expect(throws: StoreError.unavailable("\(name) is not a regular file, but a named pipe.")) {
            _ = try SQLiteStore(directory: self.directory.path, origin: origin)
        }
    }
}
