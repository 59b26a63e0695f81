// swift-tools-version:6.2
import PackageDescription

let package = Package(
    name: "Quickstart",
    // Elsewhere: .package(url: …) instead of the path.
    dependencies: [.package(name: "peerd", path: "../..")],
    targets: [
        .executableTarget(name: "Quickstart", dependencies: [.product(name: "PeerdKit", package: "peerd")])
    ]
)
