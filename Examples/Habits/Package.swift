// swift-tools-version:6.2
import PackageDescription

let package = Package(
    name: "Habits",
    // Elsewhere: .package(url: …) instead of the path.
    dependencies: [.package(name: "peerd", path: "../..")],
    targets: [
        .target(name: "HabitsModel", dependencies: [.product(name: "PeerdKit", package: "peerd")]),
        .executableTarget(name: "Habits", dependencies: ["HabitsModel"]),
        .executableTarget(name: "HabitsWidget", dependencies: ["HabitsModel"]),
    ]
)
