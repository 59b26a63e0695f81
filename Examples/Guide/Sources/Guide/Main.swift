import Foundation

/// The code of the articles about PeerdKit and of the README, run with checks of what they say.
///
/// `Tests/RepositoryTests` checks that each block of code in them is found here.
@main struct Main {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        if let role = arguments.first, let path = arguments.last, arguments.count == 2 {
            return try await Embedding.play(role, at: URL(fileURLWithPath: path))
        }
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("guide-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: place) }
        do {
            for (name, run) in Self.articles {
                print("\(name):")
                try await run(place.appendingPathComponent(name))
            }
            print("All is as the articles say.")
        } catch {
            print(error)
            try? FileManager.default.removeItem(at: place)
            exit(1)
        }
    }

    private static let articles: [(name: String, run: @Sendable (URL) async throws -> Void)] = [
        ("readme", { try await ReadMe.run(in: $0) }),
        ("first", { try await FirstWorkspace.run(in: $0) }),
        ("observing", { try await Observing.run(in: $0) }),
        ("merges", { try await WhatMergesHow.run(in: $0) }),
        ("offline", { try await BeingOffline.run(in: $0) }),
        ("history", { try await History.run(in: $0) }),
        ("embedding", { try await Embedding.run(in: $0) }),
    ]
}
