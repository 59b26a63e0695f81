/// Which modules each module may import: the arrows of ARCHITECTURE.md, for our own modules and everyone else's.
///
/// A name that ends in `*` stands for all names that begin like it.
enum ImportRules {
    private static let collections: Set<String> = ["Collections", "DequeModule", "HeapModule", "OrderedCollections"]
    private static let system: Set<String> = [
        "Foundation", "FoundationEssentials", "Synchronization", "Glibc", "Musl", "Darwin",
    ]
    private static let pure: Set<String> = ["CRDTCore", "PeerCrypto", "SyncProtocol", "Engine"]
    private static let shells: Set<String> = ["Persistence", "PeerTransport", "LocalAPI"]
    private static let commandLine: Set<String> = ["ArgumentParser", "Logging"]

    static let allowed: [String: Set<String>] = [
        "CRDTCore": collections,
        "PeerCrypto": ["CSodium"],
        "SyncProtocol": ["CRDTCore", "PeerCrypto", "CZstd"],
        "Engine": ["CRDTCore", "PeerCrypto", "SyncProtocol"],
        "Persistence": system.union(["CRDTCore", "CSQLite", "Dispatch", "Engine", "Logging"]),
        "PeerTransport": system.union(pure).union(["NIO*", "Logging"]),
        "FileServing": ["Glibc", "Synchronization"],
        "LocalAPI": system.union(pure).union([
            "CQREncode", "CWebFiles", "FileServing", "NIO*", "PeerdKit", "Persistence",
        ]),
        "PeerdKit": system.union(pure).union(["NIOConcurrencyHelpers", "PeerTransport", "Persistence"]),
        "PeerdPreview": system.union(pure).union(["PeerdKit", "Persistence"]),
        "peerd": system.union(pure).union(shells).union(commandLine)
            .union(["CProgramMemory", "Dispatch", "NIOConcurrencyHelpers", "PeerdKit", "PeerdPreview"]),
        "MergeModel": system.union(["CRDTCore"]),
        "Simulation": system.union(pure).union(shells).union(["CSQLite", "MergeModel", "PeerdKit"]),
        "Simulator": system.union(pure).union(["ArgumentParser", "MergeModel", "Simulation"]),
        "Workbench": system.union(pure).union(["Persistence"]),
        "BareServer": system.union(["NIO*"]),
        "BulkSyncReader": system.union(["PeerdKit"]),
    ]

    static func violations(in file: SourceFile) -> [String] {
        guard let module = file.module else { return [] }
        guard let allowed = self.allowed[module] else {
            return ["\(file.path): the import table does not say what \(module) may import"]
        }
        return self.imports(of: file.code)
            .filter { name in !allowed.contains { self.entry($0, covers: name) } }
            .map { "\(file.path): \(module) may not import \($0)" }
    }

    static func imports(of code: SwiftCode) -> [String] {
        let importLine = /^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:\w+\s+)?import\s+(?:\w+\s+)?(\w+)/
        return code.lines.compactMap { line in
            line.firstMatch(of: importLine).map { String($0.1) }
        }
    }

    private static func entry(_ entry: String, covers name: String) -> Bool {
        entry.last == "*" ? name.hasPrefix(entry.dropLast()) : name == entry
    }
}
