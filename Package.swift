// swift-tools-version:6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

/// The merge core is also held to strict memory safety: every unsafe expression in it is marked `unsafe`.
let coreSettings = settings + [.strictMemorySafety(), .enableExperimentalFeature("Lifetimes")]

let nio = "swift-nio"

let package = Package(
    name: "peerd",
    products: [
        .executable(name: "peerd", targets: ["peerd"]),
        .executable(name: "Simulator", targets: ["Simulator"]),
        .library(name: "PeerdKit", targets: ["PeerdKit"]),
        .library(name: "PeerdEngine", targets: ["CRDTCore", "PeerCrypto", "SyncProtocol", "Engine"]),
        .library(name: "PeerdShells", targets: ["Persistence", "PeerTransport"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        // The dashboard and other files that the local server has within itself.
        .target(name: "CWebFiles", exclude: ["web"]),
        // What Swift's overlay of the C library leaves out.
        .target(name: "CProgramMemory"),
        .target(name: "CRDTCore", swiftSettings: coreSettings),
        .target(name: "PeerCrypto", dependencies: ["CSodium"], swiftSettings: settings),
        .target(name: "SyncProtocol", dependencies: ["CRDTCore", "PeerCrypto", "CZstd"], swiftSettings: settings),
        .target(name: "Engine", dependencies: ["CRDTCore", "PeerCrypto", "SyncProtocol"], swiftSettings: settings),
        .target(
            name: "Persistence",
            dependencies: [
                "CRDTCore",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PeerTransport",
            dependencies: [
                .product(name: "NIOConcurrencyHelpers", package: nio),
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PeerdKit",
            dependencies: [
                "CRDTCore", "Engine", "PeerCrypto", "PeerTransport", "Persistence", "SyncProtocol",
                .product(name: "NIOConcurrencyHelpers", package: nio),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "LocalAPI",
            dependencies: [
                "CQREncode", "CRDTCore", "CWebFiles", "Engine", "PeerCrypto", "PeerdKit", "Persistence",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "NIOWebSocket", package: nio),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "peerd",
            dependencies: [
                "CProgramMemory", "CRDTCore", "Engine", "LocalAPI", "PeerCrypto", "PeerTransport", "PeerdKit",
                "Persistence", "SyncProtocol",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: nio),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .target(name: "MergeModel", dependencies: ["CRDTCore"], swiftSettings: settings),
        .target(
            name: "Simulation",
            dependencies: [
                "CRDTCore", "Engine", "MergeModel", "PeerCrypto", "PeerdKit", "Persistence", "SyncProtocol",
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "Simulator",
            dependencies: [
                "CRDTCore", "MergeModel", "Simulation",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "Workbench",
            dependencies: ["CRDTCore", "PeerCrypto", "Persistence", "SyncProtocol"],
            path: "Benchmarks/Workbench",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "BareServer",
            dependencies: [
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "NIOPosix", package: nio),
            ],
            path: "Benchmarks/BareServer",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "BulkSyncReader",
            dependencies: ["PeerdKit"],
            path: "Benchmarks/BulkSyncReader",
            packageAccess: false,
            swiftSettings: settings
        ),
        .target(
            name: "DecoderExercises",
            dependencies: ["CRDTCore", "Engine", "PeerCrypto", "SyncProtocol"],
            path: "Fuzz/DecoderExercises",
            swiftSettings: settings
        ),
        .testTarget(
            name: "CRDTCoreTests",
            dependencies: ["CRDTCore", "MergeModel", "PeerCrypto"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "EngineTests",
            dependencies: ["CRDTCore", "Engine", "MergeModel", "PeerCrypto", "SyncProtocol"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "LocalAPITests",
            dependencies: [
                "CRDTCore", "LocalAPI", "PeerdKit",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOHTTP1", package: nio),
            ],
            swiftSettings: settings
        ),
        .testTarget(name: "NoiseTests", dependencies: ["PeerCrypto", "SyncProtocol"], swiftSettings: settings),
        .testTarget(name: "PeerCryptoTests", dependencies: ["PeerCrypto"], swiftSettings: settings),
        .testTarget(
            name: "PeerTransportTests",
            dependencies: ["PeerTransport", .product(name: "NIOConcurrencyHelpers", package: nio)],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PeerdTests",
            dependencies: [
                "CRDTCore", "Engine", "LocalAPI", "PeerCrypto", "PeerTransport", "PeerdKit", "SyncProtocol", "peerd",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: nio),
            ],
            swiftSettings: settings
        ),
        .testTarget(name: "PeerdKitTests", dependencies: ["PeerdKit", "peerd"], swiftSettings: settings),
        .testTarget(
            name: "PersistenceTests",
            dependencies: ["CRDTCore", "MergeModel", "Persistence", "SyncProtocol"],
            swiftSettings: settings
        ),
        .testTarget(name: "RepositoryTests", swiftSettings: settings),
        .testTarget(
            name: "SimulatorTests",
            dependencies: [
                "CRDTCore", "Engine", "MergeModel", "Persistence", "Simulation", "Simulator",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            exclude: ["LEDGER.md", "Lives", "Scenarios"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "StoreAgreementTests",
            dependencies: ["CRDTCore", "MergeModel", "Persistence"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "SyncProtocolTests",
            dependencies: ["CRDTCore", "DecoderExercises", "PeerCrypto", "SyncProtocol"],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
