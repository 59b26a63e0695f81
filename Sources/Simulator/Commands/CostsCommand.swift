internal import ArgumentParser
internal import CRDTCore
internal import Engine
internal import Foundation
internal import Simulation

/// `costs`: what an honest device pays for what a hostile member sends.
struct CostsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "costs",
        abstract: "Measures what a hostile member can cost an honest device.",
        discussion: """
            Measures each kind of message and operation, in the arrangements that are known to cost most. A row has \
            the bytes that the member sends; the processor time, memory and disk that the honest device spends on \
            them, in total and per byte; and the duration of two small writes of its own afterwards. The device is the \
            production node with its database in a directory. Each row runs in a process of its own. Time spent \
            waiting for the disk is not counted.

            Exit codes: 0 all were measured, 1 one of them failed, 64 the command line is not understood.
            """
    )

    @Option(help: "Only the rows with this text in their names.")
    var only = ""
    @Option(help: .hidden)
    var row: Int?

    func run() throws {
        if let row = self.row { return try self.measure(Expense.all[row]) }
        let titles = ["kB sent", "ms", "µs/B", "MB", "B/B", "MB disk", "B/B", "own, ms", "next, ms"]
        // At once, before the rows that other processes write.
        Foundation.FileHandle.standardOutput.write(Data((Self.line("what is sent", titles) + "\n").utf8))
        for (number, expense) in Expense.all.enumerated() {
            guard self.only.isEmpty || expense.name.contains(self.only) else { continue }
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            process.arguments = ["costs", "--row", String(number)]
            try process.run()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw ExitCode.failure }
        }
    }

    private func measure(_ expense: Expense) throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("costs-\(UUID())")
        try FileManager.default.createDirectory(
            at: directory,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        defer { try? FileManager.default.removeItem(at: directory) }
        let device = try MeasuredDevice(directory: directory.path)
        _ = device.write(.create(.init(id: .given(Expense.object(999_999)), type: "note")))
        let members = try (0..<UInt64(expense.peerCount)).map { try CostlyMember(of: device, number: $0) }
        for member in members {
            try member.connect()
            member.send(try expense.prepared(member))
        }
        device.sleep(milliseconds: 1_000)
        let messages = try members.map { try expense.measured($0) }
        let before = (Self.residentByteCount, Self.diskByteCount(directory), device.nanoseconds)
        let sentBefore = members.reduce(0) { $0 + $1.sentByteCount }
        for (member, messages) in zip(members, messages) { member.send(messages, oneByOne: expense.isDripped) }
        let sent = Double(members.reduce(0) { $0 + $1.sentByteCount } - sentBefore)
        let time = Double(device.nanoseconds - before.2)
        let memory = Double(max(0, Self.residentByteCount - before.0))
        let disk = Double(Self.diskByteCount(directory) - before.1)
        let own = device.write(.set(Expense.object(999_999), name: "own", value: .int(1)))
        let next = device.write(.set(Expense.object(999_999), name: "own", value: .int(2)))
        let name = members.compactMap(\.refusal).first.map { expense.name + " (\($0))" } ?? expense.name
        let columns = [
            sent / 1_000, time / 1_000_000, time / 1_000 / sent, memory / 1_000_000, memory / sent, disk / 1_000_000,
            disk / sent, Double(own) / 1_000_000, Double(next) / 1_000_000,
        ]
        print(Self.line(name, columns.map { Self.text($0) }))
    }

    private static func line(_ name: String, _ columns: [String]) -> String {
        let cells = columns.map { String(repeating: " ", count: max(1, 9 - $0.count)) + $0 }
        return name.padding(toLength: max(66, name.count), withPad: " ", startingAt: 0) + cells.joined()
    }

    private static func text(_ number: Double) -> String {
        String(format: number < 1 ? "%.2f" : number < 100 ? "%.1f" : "%.0f", number)
    }

    private static var residentByteCount: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0) * 4096
    }

    private static func diskByteCount(_ directory: URL) -> Int {
        let files = (try? FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)) ?? []
        return files.reduce(0) { sum, file in
            let size = try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
            return sum + (size ?? 0)
        }
    }
}
