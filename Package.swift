// swift-tools-version:6.2
import PackageDescription

/// The build that is tested (`scripts/checked.sh` sets this): optimised as users get it, and checking itself.
///
/// It changes no constant. Its condition `CHECKED` adds assertions and invariants. The tests themselves are not
/// optimised, which saves time.
let isChecked = Context.environment["PEERD_CHECKED"] == "1"

let commonSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]
let checkedSettings: [SwiftSetting] = [
    .define("CHECKED"),
    // Of what a debugger reads, lines are all that a trap needs to tell.
    .unsafeFlags(["-gline-tables-only", "-num-threads", "2"]),
]
let settings =
    commonSettings
    + (isChecked ? checkedSettings + [.unsafeFlags(["-assert-config", "Debug", "-enable-testing"])] : [])
let testSettings = commonSettings + (isChecked ? checkedSettings + [.unsafeFlags(["-Onone"])] : [])

/// The merge core is also held to strict memory safety: every unsafe expression in it is marked `unsafe`.
let coreSettings = settings + [.strictMemorySafety(), .enableExperimentalFeature("Lifetimes")]

let nio = "swift-nio"

let package = Package(
    name: "peerd",
    products: [
        .executable(name: "peerd", targets: ["peerd"]),
        .executable(name: "Simulator", targets: ["Simulator"]),
        .library(name: "PeerdKit", targets: ["PeerdKit"]),
        .library(name: "PeerdPreview", targets: ["PeerdPreview"]),
        .library(name: "PeerdEngine", targets: ["CRDTCore", "PeerCrypto", "SyncProtocol", "Engine"]),
        .library(name: "PeerdShells", targets: ["Persistence", "PeerTransport"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        // The dashboard and other files that the local server has within itself.
        .target(name: "CWebFiles", exclude: ["web"]),
        // What Swift's overlay of the C library leaves out.
        .target(name: "CProgramMemory"),
        .target(name: "CRDTCore", exclude: ["README.md"], swiftSettings: coreSettings),
        .target(name: "PeerCrypto", dependencies: ["CSodium"], swiftSettings: settings),
        .target(name: "SyncProtocol", dependencies: ["CRDTCore", "PeerCrypto", "CZstd"], swiftSettings: settings),
        .target(
            name: "Engine",
            dependencies: ["CRDTCore", "PeerCrypto", "SyncProtocol"],
            exclude: ["README.md"],
            swiftSettings: settings
        ),
        .target(
            name: "Persistence",
            dependencies: ["CRDTCore", "CSQLite", "Engine"],
            exclude: ["README.md"],
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
            exclude: ["README.md"],
            swiftSettings: settings
        ),
        // What a sync of some devices would do, computed from their data directories.
        .target(
            name: "PeerdPreview",
            dependencies: ["CRDTCore", "Engine", "PeerCrypto", "PeerdKit", "Persistence", "SyncProtocol"],
            exclude: ["README.md"],
            swiftSettings: settings
        ),
        // The folder “files” over HTTP: paths, ranges, conditions, uploads, and movies with their index in front.
        .target(name: "FileServing", swiftSettings: settings),
        .target(
            name: "LocalAPI",
            dependencies: [
                "CQREncode", "CRDTCore", "CWebFiles", "Engine", "FileServing", "PeerCrypto", "PeerdKit", "Persistence",
                .product(name: "NIOConcurrencyHelpers", package: nio),
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOHTTP1", package: nio),
                .product(name: "NIOPosix", package: nio),
                .product(name: "NIOWebSocket", package: nio),
            ],
            exclude: ["README.md"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "peerd",
            dependencies: [
                "CProgramMemory", "CRDTCore", "Engine", "LocalAPI", "PeerCrypto", "PeerTransport", "PeerdKit",
                "PeerdPreview", "Persistence", "SyncProtocol",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: nio),
            ],
            swiftSettings: settings
        ),
        .target(name: "MergeModel", dependencies: ["CRDTCore"], swiftSettings: settings),
        .target(
            name: "Simulation",
            dependencies: [
                "CRDTCore", "CSQLite", "Engine", "MergeModel", "PeerCrypto", "PeerdKit", "Persistence", "SyncProtocol",
            ],
            exclude: ["README.md"],
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
        // As packages of others they have manifests of their own, which `make hunt` builds.
        .executableTarget(
            name: "Guide",
            dependencies: ["PeerdKit"],
            path: "Examples/Guide/Sources/Guide",
            packageAccess: false
        ),
        .target(
            name: "HabitsModel",
            dependencies: ["PeerdKit"],
            path: "Examples/Habits/Sources/HabitsModel",
            packageAccess: false
        ),
        .executableTarget(
            name: "Habits",
            dependencies: ["HabitsModel"],
            path: "Examples/Habits/Sources/Habits",
            packageAccess: false
        ),
        .executableTarget(
            name: "HabitsWidget",
            dependencies: ["HabitsModel"],
            path: "Examples/Habits/Sources/HabitsWidget",
            packageAccess: false
        ),
        .executableTarget(
            name: "Quickstart",
            dependencies: ["PeerdKit"],
            path: "Examples/Quickstart/Sources/Quickstart",
            packageAccess: false
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
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "EngineTests",
            dependencies: ["CRDTCore", "Engine", "MergeModel", "PeerCrypto", "SyncProtocol"],
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "FileServingTests",
            dependencies: ["FileServing", "MergeModel"],
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "LocalAPITests",
            dependencies: [
                "CRDTCore", "FileServing", "LocalAPI", "MergeModel", "PeerdKit",
                .product(name: "NIOCore", package: nio),
                .product(name: "NIOHTTP1", package: nio),
            ],
            swiftSettings: testSettings
        ),
        .testTarget(name: "NoiseTests", dependencies: ["PeerCrypto", "SyncProtocol"], swiftSettings: testSettings),
        .testTarget(name: "PeerCryptoTests", dependencies: ["PeerCrypto"], swiftSettings: testSettings),
        .testTarget(
            name: "PeerTransportTests",
            dependencies: ["PeerTransport", .product(name: "NIOConcurrencyHelpers", package: nio)],
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "PeerdTests",
            dependencies: [
                "CRDTCore", "Engine", "LocalAPI", "PeerCrypto", "PeerTransport", "PeerdKit", "SyncProtocol", "peerd",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: nio),
            ],
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "PeerdKitTests",
            dependencies: ["Engine", "MergeModel", "PeerdKit", "PeerdPreview", "peerd"],
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "PersistenceTests",
            dependencies: ["CRDTCore", "Engine", "MergeModel", "Persistence", "SyncProtocol"],
            exclude: ["Fixture.dump"],
            swiftSettings: testSettings
        ),
        // These read all sources, which takes twice the time without optimisation.
        .testTarget(name: "RepositoryTests", swiftSettings: commonSettings + (isChecked ? checkedSettings : [])),
        .testTarget(
            name: "SimulatorTests",
            dependencies: [
                "CRDTCore", "Engine", "MergeModel", "Persistence", "Simulation", "Simulator", "SyncProtocol",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            exclude: ["LEDGER.md", "Lives", "Scenarios"],
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "StoreAgreementTests",
            dependencies: ["CRDTCore", "Engine", "MergeModel", "Persistence", "SyncProtocol"],
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "SyncProtocolTests",
            dependencies: ["CRDTCore", "MergeModel", "DecoderExercises", "PeerCrypto", "SyncProtocol"],
            swiftSettings: testSettings
        ),
    ],
    swiftLanguageModes: [.v6]
)
