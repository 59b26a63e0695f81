// swift-tools-version:6.2
import PackageDescription

let package = Package(
    name: "Guide",
    dependencies: [.package(name: "peerd", path: "../..")],
    targets: [
        .executableTarget(
            name: "Guide",
            dependencies: [.product(name: "PeerdKit", package: "peerd")]
        )
    ]
)
