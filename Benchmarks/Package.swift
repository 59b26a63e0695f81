// swift-tools-version:6.2
import PackageDescription

// A package of its own, so that nothing here is built with the product. The modules it measures are links to the
// product's own sources: they are one package with the benchmarks and so show them what they show each other.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]
let coreSettings = settings + [.strictMemorySafety(), .enableExperimentalFeature("Lifetimes")]

let package = Package(
    name: "peerd-benchmarks",
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0")
    ],
    targets: [
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .target(name: "CRDTCore", swiftSettings: coreSettings),
        .target(name: "PeerCrypto", dependencies: ["CSodium"], swiftSettings: settings),
        .target(name: "SyncProtocol", dependencies: ["CRDTCore", "PeerCrypto", "CZstd"], swiftSettings: settings),
        .target(
            name: "Persistence",
            dependencies: [
                "CRDTCore",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "Workbench",
            dependencies: ["CRDTCore", "PeerCrypto", "Persistence", "SyncProtocol"],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
