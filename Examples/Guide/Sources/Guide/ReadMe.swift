import Foundation
import PeerdKit

/// The code of the README.
enum ReadMe {
    static func run(in place: URL) async throws {
        let directory = place.appendingPathComponent("laptop")
        let reading = Task { try await Self.useWorkspace(at: directory) }
        try await eventually("another process reads what the README writes") {
            guard let reader = try? await Workspace.open(at: directory, access: .readOnly) else { return false }
            let items = try await reader.page(.objects(type: "item")).objects
            await reader.close()
            return try items.map { try $0[Property<String>("title")] } == ["Milk"]
        }
        // The sequence of changes ends with its task.
        reading.cancel()
        try await reading.value
    }

    private static func useWorkspace(at directory: URL) async throws {
        let title = Property<String>("title")
        let workspace = try await Workspace.create(at: directory, name: "laptop")
        let milk = try await workspace.write { transaction in
            let list = try transaction.create("list", key: "groceries")
            let milk = try transaction.create("item", in: list)
            try transaction.set(title, to: "Milk", on: milk)
            return milk
        }
        try await workspace.startSync()
        print(try await workspace.invite().text)  // For Workspace.join on another machine.
        for try await delta in try workspace.changes(of: .object(milk)) {
            print(try delta.objects.first?.state?[title] ?? "deleted", delta.authors.map(\.name))
        }
    }
}
