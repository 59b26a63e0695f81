import Testing

@Suite struct ImportRulesTests {
    @Test func `each module imports only what its layer allows`() throws {
        let violations = try Repository.swiftFiles().flatMap(ImportRules.violations)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test(arguments: [
        ("CRDTCore", "import Foundation"),
        ("CRDTCore", "import struct Foundation.Date"),
        ("CRDTCore", "import PeerCrypto"),
        ("CRDTCore", "import Synchronization"),
        ("PeerCrypto", "import CRDTCore"),
        ("PeerCrypto", "public import Foundation"),
        ("SyncProtocol", "import CSodium"),
        ("SyncProtocol", "@preconcurrency import NIOCore"),
        ("SyncProtocol", "import Engine"),
        ("Engine", "  internal import Dispatch"),
        ("Engine", "import CZstd"),
        ("Engine", "import Persistence"),
        ("Persistence", "import NIOCore"),
        ("Persistence", "import SQLite3"),
        ("Persistence", "import PeerTransport"),
        ("PeerTransport", "import CSQLite"),
        ("PeerTransport", "import CSodium"),
        ("PeerTransport", "import peerd"),
        ("PeerdKit", "import ArgumentParser"),
        ("PeerdKit", "import CQREncode"),
        ("PeerdKit", "import CSQLite"),
        ("PeerdKit", "import peerd"),
        ("peerd", "import NIOPosix"),
        ("peerd", "import CSQLite"),
        ("Workbench", "import PeerTransport"),
        ("BulkSyncReader", "import Persistence"),
        ("Newcomer", "import Swift"),
    ])
    func `an import against the arrows is found`(module: String, line: String) {
        let file = SourceFile(path: "Sources/\(module)/Example.swift", text: "// why\n\(line)\n")
        #expect(ImportRules.violations(in: file).count == 1)
    }

    @Test(arguments: [
        ("CRDTCore", "import OrderedCollections"),
        ("CRDTCore", "// import Foundation"),
        ("CRDTCore", "let text = \"import Foundation\""),
        ("PeerCrypto", "import CSodium"),
        ("SyncProtocol", "package import CRDTCore"),
        ("Engine", "package import SyncProtocol"),
        ("Persistence", "import CSQLite"),
        ("PeerTransport", "import NIOPosix"),
        ("PeerdKit", "import Persistence"),
        ("peerd", "import ArgumentParser"),
        ("LocalAPI", "import CQREncode"),
        ("peerd", "import PeerdKit"),
        ("Workbench", "import Persistence"),
        ("BulkSyncReader", "import PeerdKit"),
    ])
    func `an import along the arrows is allowed`(module: String, line: String) {
        let file = SourceFile(path: "Sources/\(module)/Folder/Example.swift", text: line)
        #expect(ImportRules.violations(in: file).isEmpty)
    }

    @Test func `the sources are really read`() throws {
        let modules = Set(try Repository.swiftFiles().compactMap(\.module))
        #expect(modules.isSuperset(of: ["CRDTCore", "PeerCrypto", "Workbench"]))
    }

    @Test func `a file of the benchmarks is part of a module if it is Swift`() {
        #expect(SourceFile(path: "Benchmarks/Workbench/Workload.swift", text: "").module == "Workbench")
        #expect(SourceFile(path: "Benchmarks/Beside/verbs.py", text: "").module == nil)
        #expect(SourceFile(path: "Tests/RepositoryTests/Repository.swift", text: "").module == nil)
    }
}
