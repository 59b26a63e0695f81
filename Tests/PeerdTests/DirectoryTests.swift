import CRDTCore
import Engine
import Foundation
import PeerCrypto
import PeerTransport
import PeerdKit
import Testing

@testable import peerd

@Suite struct DirectoryPathsTests {
    private func chosen(_ option: String?, _ environment: [String: String]) throws -> String {
        try DirectoryPaths.chosen(option: option, environment: environment, currentDirectory: "/here").directory
    }

    @Test func `the option comes before the environment, and that before the defaults`() throws {
        let environment = ["PEERD_DIR": "/named", "XDG_STATE_HOME": "/state", "HOME": "/people/me"]
        #expect(try self.chosen("/option", environment) == "/option")
        #expect(try self.chosen(nil, environment) == "/named")
        #expect(try self.chosen(nil, environment.merging(["PEERD_DIR": ""]) { $1 }) == "/state/peerd")
        #expect(try self.chosen(nil, ["HOME": "/people/me"]) == "/people/me/.local/state/peerd")
    }

    @Test func `a relative path is made absolute`() throws {
        #expect(try self.chosen("data/", [:]) == "/here/data")
        #expect(try self.chosen(nil, ["XDG_STATE_HOME": "relative", "HOME": "/h"]) == "/h/.local/state/peerd")
    }

    @Test func `without any place there is a usage error`() {
        #expect { try self.chosen(nil, [:]) } throws: { ($0 as? CommandFailure)?.status == .usage }
        #expect { try self.chosen("", ["HOME": "/h"]) } throws: { ($0 as? CommandFailure)?.status == .usage }
    }
}

@Suite struct KeyFileTests {
    @Test func `keys come back as they were written, and only their owner may read them`() async throws {
        try await TemporaryDirectory.with { directory in
            let paths = DirectoryPaths(directory: directory + "/new/data")
            try PrivateFile.makeDirectory(paths.directory)
            var entropy = try TemporaryDirectory.entropy()
            guard let identity = DeviceIdentity.founding(name: "laptop", entropy: &entropy) else {
                Issue.record("no identity")
                return
            }
            #expect(!paths.hasWorkspace)
            try KeyFile.create(identity, at: paths)
            #expect(paths.hasWorkspace)
            #expect(PrivateFile.mode(of: paths.keys) == 0o600)
            #expect(PrivateFile.mode(of: paths.directory) == 0o700)
            let loaded = try KeyFile.load(paths)
            #expect(loaded.name == "laptop")
            #expect(loaded.device == identity.device)
            #expect(loaded.workspace == identity.workspace)
            #expect(try FileManager.default.contentsOfDirectory(atPath: paths.directory) == ["keys"])
        }
    }

    @Test func `keys that are there are not replaced`() async throws {
        try await TemporaryDirectory.with { directory in
            let path = directory + "/keys"
            try KeyFile.create(SecretBytes([1, 2, 3]), at: path)
            #expect {
                try KeyFile.create(SecretBytes([4]), at: path)
            } throws: {
                ($0 as? PeerdError)?.code == .workspaceExists
            }
            let content = try KeyFile.read(path)
            let isEqual = content.isEqual(to: SecretBytes([1, 2, 3]))
            #expect(isEqual)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["keys"])
        }
    }

    @Test(arguments: [[UInt8](), Array("peerd-keys".utf8), Array(repeating: 7, count: 200)])
    func `what is no key file is refused`(bytes: [UInt8]) async throws {
        try await TemporaryDirectory.with { directory in
            let paths = DirectoryPaths(directory: directory)
            try bytes.withUnsafeBytes { try PrivateFile.write($0, to: paths.keys) }
            #expect { _ = try KeyFile.load(paths) } throws: { ($0 as? PeerdError)?.code == .damaged }
        }
    }
}

@Suite struct TokenFileTests {
    private func content(_ paths: DirectoryPaths) throws -> [UInt8] {
        [UInt8](try #require(FileManager.default.contents(atPath: paths.token)))
    }

    @Test func `each open to write has a new token, and knows the one before`() async throws {
        try await TemporaryDirectory.with { directory in
            let paths = DirectoryPaths(directory: directory)
            let first = try TokenFile.open(paths, renews: true)
            #expect(first.accepted.isEmpty && first.next.count == 16)
            try first.settle()
            #expect(try self.content(paths) == first.next)
            #expect(PrivateFile.mode(of: paths.token) == 0o600)
            let second = try TokenFile.open(paths, renews: true)
            #expect(second.accepted == [first.next] && second.next != first.next)
            #expect(try self.content(paths) == first.next + second.next)
            try second.settle()
            #expect(try self.content(paths) == second.next)
        }
    }

    @Test func `after an open that was cut short the database may have either token`() async throws {
        try await TemporaryDirectory.with { directory in
            let paths = DirectoryPaths(directory: directory)
            let first = try TokenFile.open(paths, renews: true)
            try first.settle()
            let cut = try TokenFile.open(paths, renews: true)
            let next = try TokenFile.open(paths, renews: false)
            #expect(next.accepted == [first.next, cut.next])
            #expect(!next.accepted.contains(next.next))
            try next.settle()
            #expect(try self.content(paths) == next.next)
            for _ in 0..<100 { _ = try TokenFile.open(paths, renews: true) }
            #expect(try self.content(paths).count <= 64 * 16)
        }
    }

    @Test func `whoever only reads leaves the token as it is, unless it is lost or spoiled`() async throws {
        try await TemporaryDirectory.with { directory in
            let paths = DirectoryPaths(directory: directory)
            try TokenFile.open(paths, renews: true).settle()
            let before = try self.content(paths)
            let reader = try TokenFile.open(paths, renews: false)
            #expect(reader.accepted == [before] && reader.next == before)
            try reader.settle()
            #expect(try self.content(paths) == before)
            try Array(before.dropLast()).withUnsafeBytes { try PrivateFile.write($0, to: paths.token) }
            let spoiled = try TokenFile.open(paths, renews: false)
            #expect(spoiled.accepted.isEmpty && spoiled.next != before)
        }
    }
}

@Suite struct SettingsTests {
    @Test func `settings come back, and unreadable ones are empty`() async throws {
        try await TemporaryDirectory.with { directory in
            let paths = DirectoryPaths(directory: directory)
            #expect(try Settings.load(paths) == Settings())
            try Settings.update(paths) { $0.listen = "0.0.0.0:7400" }
            #expect(try Settings.load(paths) == Settings(listen: "0.0.0.0:7400"))
            try Array("{".utf8).withUnsafeBytes { try PrivateFile.write($0, to: paths.settings) }
            #expect(try Settings.load(paths) == Settings())
        }
    }

    @Test func `a daemon listens where it did last, and elsewhere if nobody asked`() throws {
        let asked = try ListenChoice(option: "127.0.0.1:1", remembered: "0.0.0.0:2")
        #expect(asked.address.description == "127.0.0.1:1")
        #expect(!asked.isRemembered)
        let remembered = try ListenChoice(option: nil, remembered: "0.0.0.0:2")
        #expect(remembered.address.description == "0.0.0.0:2")
        #expect(remembered.isRemembered)
        #expect(try ListenChoice(option: nil, remembered: "nonsense").address.description == "0.0.0.0:0")
        #expect { try ListenChoice(option: "7400", remembered: nil) } throws: {
            ($0 as? CommandFailure)?.status == .usage
        }
    }
}

/// A directory that goes away with the test.
enum TemporaryDirectory {
    static func with<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let path = try self.make()
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await body(path)
    }

    static func entropy() throws -> EntropyStream {
        guard let entropy = EntropyStream(seed: SecretBytes(Array(repeating: 42, count: 32))) else {
            throw CommandFailure(.failure, "no entropy")
        }
        return entropy
    }

    private static func make() throws -> String {
        let path = NSTemporaryDirectory() + "peerd-tests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }
}
