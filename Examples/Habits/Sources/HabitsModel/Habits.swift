public import PeerdKit

/// The application on one machine.
public struct Habits: Sendable {
    /// The workspace that everything is in.
    public let workspace: Workspace

    /// Makes the application of a workspace.
    public init(_ workspace: Workspace) { self.workspace = workspace }

    /// Makes what everybody begins with, at the first launch on whichever machine.
    ///
    /// Machines that launch at once, apart, make the same objects. Later launches find the seed, so that a routine that
    /// the user has deleted stays deleted.
    public func launch() async throws {
        try await self.workspace.write { transaction in
            let app = try transaction.create(Schema.app, key: "habits")
            guard try transaction.children(of: app).isEmpty else { return }
            try transaction.create(Schema.seed, in: app, key: "1")
            for (routine, tasks) in Schema.templates.sorted(by: { $0.key < $1.key }) {
                let template = try transaction.create(Schema.routine, kind: routine, in: app, key: routine)
                for task in tasks {
                    try transaction.create(Schema.task, kind: task, in: template, key: "\(routine)/\(task)")
                }
            }
        }
    }

    /// Makes a day of each routine, with an entry for each task; what is there already is left as it is.
    public func prepare(_ date: String) async throws {
        let templates = try await self.workspace.read { transaction in
            try transaction.page(.objects(type: Schema.routine), limit: 1_000).objects.map { routine in
                let children = try transaction.page(.children(of: routine.id), limit: 1_000).objects
                return (routine, tasks: children.filter { $0.type == Schema.task })
            }
        }
        try await self.workspace.write { transaction in
            for (routine, tasks) in templates where try transaction.contains(routine.id) {
                let key = "\(routine.kind)/\(date)"
                let day = try transaction.create(Schema.day, kind: date, in: routine.id, key: key)
                for task in tasks {
                    try transaction.create(Schema.entry, kind: task.kind, in: day, key: "\(key)/\(task.kind)")
                }
            }
        }
    }

    /// Says that a task was done.
    public func finish(_ task: String, of routine: String, on date: String) async throws {
        try await self.edit(task, of: routine, on: date) { entry, transaction in
            try transaction.set(Schema.isDone, to: true, on: entry)
        }
    }

    /// Adds a set to an exercise; two that are added apart are two.
    public func addSet(
        _ repetitions: Int,
        kilograms: Double,
        to task: String,
        of routine: String,
        on date: String
    ) async throws {
        try await self.edit(task, of: routine, on: date) { entry, transaction in
            let added = try transaction.create(Schema.workoutSet, in: entry)
            try transaction.set(Schema.repetitions, to: repetitions, on: added)
            try transaction.set(Schema.kilograms, to: kilograms, on: added)
        }
    }

    private func edit(
        _ task: String,
        of routine: String,
        on date: String,
        _ body: @escaping @Sendable (ObjectID, inout WriteTransaction) throws -> Void
    ) async throws {
        try await self.workspace.write { transaction in
            // The key finds the entry, or makes it.
            let entry = try transaction.create(Schema.entry, kind: task, key: "\(routine)/\(date)/\(task)")
            try body(entry, &transaction)
        }
    }

    /// Changes the settings, as the first version of the application does.
    public func updateSettings(_ change: @escaping @Sendable (inout Settings) -> Void) async throws {
        try await self.workspace.write { transaction in
            let app = try transaction.create(Schema.app, key: "habits")
            try transaction.update(Settings.property, on: app, default: Settings(), change)
        }
    }

    /// Changes the settings, as a later version does.
    public func updateLaterSettings(_ change: @escaping @Sendable (inout LaterSettings) -> Void) async throws {
        try await self.workspace.write { transaction in
            let app = try transaction.create(Schema.app, key: "habits")
            try transaction.update(LaterSettings.property, on: app, default: LaterSettings(), change)
        }
    }

    /// The settings, as the later version reads them.
    public func settings() async throws -> LaterSettings {
        let app = try await self.workspace.page(.objects(type: Schema.app)).objects.first
        return try app?[LaterSettings.property] ?? LaterSettings()
    }
}
