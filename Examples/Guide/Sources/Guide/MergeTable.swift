import PeerdKit

/// The rows of the table in the article "What merges how": two edits that are made apart, and what comes of them.
enum MergeTable {
    /// Where a row happens: an object and two folders of its own.
    private struct Place: Sendable {
        var object: ObjectID
        var left: ObjectID
        var right: ObjectID
    }

    private typealias Edit = @Sendable (inout WriteTransaction, Place) throws -> Void

    private struct Row: Sendable {
        var statement: String
        var onLaptop: Edit
        var onPhone: Edit
        /// Looks at the object, the number of its conflicts, and the place.
        var holds: @Sendable (Object, Int, Place) throws -> Bool
    }

    private static let propertyRows = [
        Row(
            statement: "two properties are both set",
            onLaptop: { try $0.set(title, to: "Milk", on: $1.object) },
            onPhone: { try $0.set(done, to: true, on: $1.object) },
            holds: { object, conflicts, _ in try object[title] == "Milk" && object[done] == true && conflicts == 0 }
        ),
        Row(
            statement: "of two values the later one wins, and the other is a conflict",
            onLaptop: { try $0.set(title, to: "Milk", on: $1.object) },
            onPhone: { try $0.set(title, to: "Bread", on: $1.object) },
            holds: { object, conflicts, _ in try object[title] == "Bread" && conflicts == 1 }
        ),
        Row(
            statement: "the same value is no conflict",
            onLaptop: { try $0.set(title, to: "Milk", on: $1.object) },
            onPhone: { try $0.set(title, to: "Milk", on: $1.object) },
            holds: { object, conflicts, _ in try object[title] == "Milk" && conflicts == 0 }
        ),
        Row(
            statement: "the later removal wins, and the value is a conflict",
            onLaptop: { try $0.set(title, to: "Milk", on: $1.object) },
            onPhone: { try $0.unset(title, on: $1.object) },
            holds: { object, conflicts, _ in try object[title] == nil && conflicts == 1 }
        ),
        Row(
            statement: "one document wins as a whole",
            onLaptop: { try $0.update(settings, on: $1.object, default: Settings()) { $0.weekStart = 1 } },
            onPhone: { try $0.update(settings, on: $1.object, default: Settings()) { $0.theme = "dark" } },
            holds: { object, conflicts, _ in
                let found = try object[settings]
                return found?.theme == "dark" && found?.weekStart == nil && conflicts == 1
            }
        ),
    ]

    private static let treeRows = [
        Row(
            statement: "a deleted folder stays with what was moved into it",
            onLaptop: { try $0.delete($1.left) },
            onPhone: { try $0.move($1.object, to: $1.left) },
            holds: { object, conflicts, place in object.parent == place.left && conflicts == 0 }
        ),
        Row(
            statement: "of two moves the later one wins, and the other is a conflict",
            onLaptop: { try $0.move($1.object, to: $1.left) },
            onPhone: { try $0.move($1.object, to: $1.right) },
            holds: { object, conflicts, place in object.parent == place.right && conflicts == 1 }
        ),
        Row(
            statement: "two objects at one place are both there",
            onLaptop: { _ = try $0.create("entry", in: $1.object) },
            onPhone: { _ = try $0.create("entry", in: $1.object) },
            holds: { object, conflicts, _ in object.childCount == 2 && conflicts == 0 }
        ),
    ]

    /// Makes the edits of both machines apart, and looks at what both have afterwards.
    static func run(_ pair: Pair) async throws {
        let rows = Self.propertyRows + Self.treeRows
        let places = try await pair.laptop.write { transaction in
            var places: [Place] = []
            for _ in rows {
                let object = try transaction.create("row")
                let (left, right) = (try transaction.create("folder"), try transaction.create("folder"))
                places.append(Place(object: object, left: left, right: right))
            }
            return places
        }
        try await pair.meet()
        await pair.part()
        for (row, place) in zip(rows, places) {
            try await pair.laptop.write { try row.onLaptop(&$0, place) }
            try await aMomentLater()
            try await pair.phone.write { try row.onPhone(&$0, place) }
        }
        try await pair.meet()
        for (row, place) in zip(rows, places) {
            for machine in [pair.laptop, pair.phone] {
                let object = try await machine.object(place.object)
                let conflicts = try await machine.conflicts(in: .object(place.object)).count
                try expect(try object.map { try row.holds($0, conflicts, place) } ?? false, row.statement)
            }
        }
    }
}
