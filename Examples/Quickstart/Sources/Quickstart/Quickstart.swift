import Foundation
import PeerdKit

/// Two workspaces in one program: what is written in one is in the other.
@main struct Quickstart {
    static func main() async throws {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("quickstart-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: place) }
        let title = Property<String>("title")

        let laptop = try await Workspace.create(at: place.appendingPathComponent("laptop"), name: "laptop")
        let milk = try await laptop.write { transaction in
            let list = try transaction.create("list", key: "groceries")
            let milk = try transaction.create("item", in: list)
            try transaction.set(title, to: "Milk", on: milk)
            return milk
        }
        try await laptop.startSync(discovers: false)
        let invite = try await laptop.invite()

        let desk = try await Workspace.join(invite, at: place.appendingPathComponent("desk"), name: "desk")
        let report = try await desk.sync(timeout: .seconds(30))
        print("desk has pulled \(report.pulled) operations, and", try await desk.object(milk)?[title] ?? "nothing")

        var changes = try laptop.changes(of: .object(milk)).makeAsyncIterator()
        _ = try await changes.next()  // The state so far.
        try await desk.write { try $0.set(title, to: "Oat milk", on: milk) }
        try await desk.sync(timeout: .seconds(30))
        if let delta = try await changes.next(), let entry = delta.objects.first {
            print("laptop hears of", entry.changed, "by", delta.authors.map(\.name))
        }
        let objects = (try await laptop.page(.all).objects, try await desk.page(.all).objects)
        guard objects.0 == objects.1, try await laptop.object(milk)?[title] == "Oat milk" else {
            fatalError("not equal")
        }
        print("both have", objects.0.count, "objects, and they are equal")

        await desk.close()
        await laptop.close()
    }
}
