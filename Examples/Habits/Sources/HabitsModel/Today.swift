public import PeerdKit

/// What the routines of one day look like.
public struct Today: Hashable, Sendable {
    /// One task, with the sets that were done.
    public struct Entry: Hashable, Sendable {
        /// The routine that the task belongs to.
        public let routine: String
        /// The task.
        public let task: String
        /// Whether it was done.
        public let isDone: Bool
        /// The sets in words.
        public let sets: [String]
    }

    /// The tasks, by routine and name.
    public let entries: [Entry]

    /// Whether there is something to do, and all of it is done.
    public var isDone: Bool { !self.entries.isEmpty && self.entries.allSatisfy(\.isDone) }

    /// Reads a day at one moment.
    public init(_ date: String, in transaction: borrowing ReadTransaction) throws {
        var entries: [Entry] = []
        for day in try transaction.page(.objects(type: Schema.day).filtered(kind: date), limit: 1_000).objects {
            let routine = try day.parent.flatMap { try transaction.object($0)?.kind } ?? ""
            for entry in try transaction.page(.children(of: day.id), limit: 1_000).objects {
                let sets = try transaction.page(.children(of: entry.id), limit: 1_000).objects.map { added in
                    "\(try added[Schema.repetitions] ?? 0) × \(try added[Schema.kilograms] ?? 0) kg"
                }
                let isDone = try entry[Schema.isDone] ?? false
                entries.append(Entry(routine: routine, task: entry.kind, isDone: isDone, sets: sets.sorted()))
            }
        }
        self.entries = entries.sorted { ($0.routine, $0.task) < ($1.routine, $1.task) }
    }

    /// A line for each task.
    public var text: String {
        self.entries.map { entry in
            let mark = entry.isDone ? "x" : " "
            return (["[\(mark)] \(entry.routine): \(entry.task)"] + entry.sets).joined(separator: ", ")
        }.joined(separator: "\n")
    }
}
