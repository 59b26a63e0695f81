import Foundation
import HabitsModel
import PeerdKit

/// Something that is not as the example promises.
struct Failure: Error {
    let message: String

    init(_ message: String) { self.message = message }
}

/// A phone, a laptop and a tablet with the same habits, apart and together.
@main struct Main {
    private static let date = "2026-01-31"

    static func main() async throws {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("habits-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: place) }
        let phone = Habits(try await Workspace.create(at: place.appendingPathComponent("phone"), name: "phone"))
        try await phone.workspace.startSync(discovers: false)
        var others: [Habits] = []
        for name in ["laptop", "tablet"] {
            let invite = try await phone.workspace.invite()
            let directory = place.appendingPathComponent(name)
            others.append(Habits(try await Workspace.join(invite, at: directory, name: name)))
        }
        let (laptop, tablet) = (others[0], others[1])

        try await self.useApart([phone, laptop, tablet])
        try await self.meet(phone, laptop, tablet)
        try await self.changeSettings(phone, laptop)
        try await self.showWidget(phone, laptop)
        for habits in [tablet, laptop, phone] { await habits.workspace.close() }
    }

    /// The first launch on all machines at once, and a day on each, while none hears of the others.
    private static func useApart(_ machines: [Habits]) async throws {
        try await withThrowingTaskGroup { group in
            for habits in machines {
                group.addTask {
                    try await habits.launch()
                    try await habits.prepare(Self.date)
                    try await habits.launch()
                }
            }
            try await group.waitForAll()
        }
        try await machines[0].finish("stretch", of: "morning", on: self.date)
        try await machines[1].addSet(8, kilograms: 60, to: "squats", of: "workout", on: self.date)
        try await machines[2].addSet(6, kilograms: 62.5, to: "squats", of: "workout", on: self.date)
    }

    /// All that was done apart is there once, and nothing conflicts.
    private static func meet(_ phone: Habits, _ laptop: Habits, _ tablet: Habits) async throws {
        for habits in [laptop, tablet, laptop] { try await habits.workspace.sync(timeout: .seconds(30)) }
        let today = try await self.today(phone)
        print(today.text, terminator: "\n\n")
        for habits in [laptop, tablet] {
            guard try await self.today(habits) == today else { throw Failure("the machines differ") }
        }
        guard today.entries.count == 4, today.entries.filter(\.isDone).map(\.task) == ["stretch"],
            today.entries.first(where: { $0.task == "squats" })?.sets == ["6 × 62.5 kg", "8 × 60.0 kg"]
        else { throw Failure("something is missing, or there twice") }
        guard try await phone.workspace.conflicts().isEmpty else { throw Failure("something conflicts") }
    }

    /// The laptop has a later version of the application, which knows a setting that the phone's does not.
    private static func changeSettings(_ phone: Habits, _ laptop: Habits) async throws {
        try await laptop.updateLaterSettings { $0.weekStart = 1 }
        try await laptop.workspace.sync(timeout: .seconds(30))
        try await phone.updateSettings { $0.theme = "dark" }
        try await laptop.workspace.sync(timeout: .seconds(30))
        let settings = try await laptop.settings()
        guard settings.theme == "dark", settings.weekStart == 1 else { throw Failure("a setting is lost") }
        print("theme \(settings.theme), week starts on day \(settings.weekStart ?? 0)\n")
    }

    /// Another process shows what comes to the phone, until all is done.
    private static func showWidget(_ phone: Habits, _ laptop: Habits) async throws {
        let widget = Process()
        let programs = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        widget.executableURL = programs.appendingPathComponent("HabitsWidget")
        widget.arguments = [phone.workspace.directory.path, self.date]
        let pipe = Pipe()
        widget.standardOutput = pipe
        try widget.run()
        let tasks = try await self.today(laptop).entries
        for entry in tasks where !entry.isDone {
            try await laptop.finish(entry.task, of: entry.routine, on: self.date)
            try await laptop.workspace.sync(timeout: .seconds(30))
        }
        widget.waitUntilExit()
        let shown = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let last = try await self.today(phone).text
        guard widget.terminationStatus == 0, shown.hasSuffix(last + "\n\n") else {
            throw Failure("the widget has shown \(shown)")
        }
        print("the widget's last sight:", last, separator: "\n")
    }

    private static func today(_ habits: Habits) async throws -> Today {
        try await habits.workspace.read { try Today(Self.date, in: $0) }
    }
}
