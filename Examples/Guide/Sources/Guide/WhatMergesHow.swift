import Foundation
import PeerdKit

/// The code of the article "What merges how".
enum WhatMergesHow {
    /// A list with two items, and two folders, on both machines.
    private struct Groceries {
        var list: ObjectID
        var milk: ObjectID
        var eggs: ObjectID
        var fruit: ObjectID
        var vegetables: ObjectID
    }

    static func run(in place: URL) async throws {
        let pair = try await Pair(in: place)
        let groceries = try await pair.laptop.write { transaction in
            let list = try transaction.create("list", key: "groceries")
            return Groceries(
                list: list,
                milk: try transaction.create("item", in: list),
                eggs: try transaction.create("item", in: list),
                fruit: try transaction.create("folder", key: "fruit"),
                vegetables: try transaction.create("folder", key: "vegetables")
            )
        }
        try await pair.meet()
        try await MergeTable.run(pair)
        try await Self.writeTheSameProperty(pair.laptop, pair.phone, groceries, pair)
        try await Self.count(pair.laptop, pair.phone, pair)
        try await Self.closeCycle(pair.laptop, pair.phone, groceries, pair)
        try await Self.deleteAndEdit(pair.laptop, pair.phone, groceries, pair)
        await pair.close()
    }

    private static func writeTheSameProperty(
        _ laptop: Workspace,
        _ phone: Workspace,
        _ groceries: Groceries,
        _ pair: Pair
    ) async throws {
        let (list, milk) = (groceries.list, groceries.milk)
        await pair.part()
        try await laptop.write { try $0.set(title, to: "Oat milk", on: milk) }
        try await aMomentLater()
        try await phone.write { try $0.set(title, to: "Soy milk", on: milk) }
        try await phone.write { try $0.set(done, to: true, on: milk) }
        try await pair.meet()
        try expect(try await laptop.object(milk)?[title] == "Soy milk", "the later write wins")
        try expect(try await laptop.object(milk)?[done] == true, "writes to different properties both count")
        try expect(try await laptop.conflicts(in: .object(milk)).count == 1, "the other write is a conflict")

        for conflict in try await laptop.conflicts(in: .subtree(list)) {
            for loser in conflict.losers { print(loser.author.name, loser.content, loser.date) }
            if let loser = conflict.losers.first { try await laptop.resolve(conflict, with: loser.content) }
        }

        try await pair.meet()
        try expect(try await phone.object(milk)?[title] == "Oat milk", "the loser was put in force")
        try expect(try await phone.conflicts(in: .object(milk)).isEmpty, "the conflict has ended everywhere")
    }

    private static func drink(_ workspace: Workspace) async throws {
        try await workspace.write { transaction in
            let day = try transaction.create("day", key: "2026-01-31")
            try transaction.create("glass", in: day)
        }
    }

    private static func count(_ laptop: Workspace, _ phone: Workspace, _ pair: Pair) async throws {
        let conflicts = try await phone.conflicts()
        await pair.part()
        for machine in [laptop, phone] { try await Self.drink(machine) }
        try await pair.meet()
        let glasses = try await phone.count(.objects(type: "glass"))
        try expect(glasses == 2, "objects without a key are two")
        try expect(try await phone.count(.objects(type: "day")) == 1, "objects with one key are one")
        try expect(try await phone.conflicts() == conflicts, "neither is a conflict")
    }

    private static func closeCycle(
        _ laptop: Workspace,
        _ phone: Workspace,
        _ groceries: Groceries,
        _ pair: Pair
    ) async throws {
        let (fruit, vegetables) = (groceries.fruit, groceries.vegetables)
        await pair.part()
        try await laptop.write { try $0.move(fruit, to: vegetables) }
        try await aMomentLater()
        try await phone.write { try $0.move(vegetables, to: fruit) }
        try await pair.meet()
        try expect(try await phone.object(fruit)?.parent == vegetables, "the earlier move holds")
        try expect(try await phone.object(vegetables)?.parent == nil, "the later move has no effect")
        let undone = try await laptop.movesWithoutEffect().map(\.object)
        try expect(undone == [vegetables], "it is listed on the other machine, too")
    }

    private static func deleteAndEdit(
        _ laptop: Workspace,
        _ phone: Workspace,
        _ groceries: Groceries,
        _ pair: Pair
    ) async throws {
        let (list, milk, eggs) = (groceries.list, groceries.milk, groceries.eggs)
        await pair.part()
        try await laptop.write { try $0.delete(list) }
        try await phone.write { try $0.set(done, to: false, on: milk) }
        try await pair.meet()
        try expect(try await laptop.object(milk)?[title] == "Oat milk", "the edited item stays, with all properties")
        try expect(try await laptop.object(list) != nil, "what is above it stays")
        try expect(try await laptop.object(eggs) == nil, "what nobody edited is deleted")
    }
}
