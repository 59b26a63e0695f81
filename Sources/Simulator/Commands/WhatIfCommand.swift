import ArgumentParser
internal import CRDTCore
internal import Foundation
internal import Synchronization

/// `whatif`: what would happen if these devices met.
struct WhatIfCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "whatif",
        abstract: "Tells what would happen if the devices of some data directories met; changes nothing.",
        discussion: """
            The directories are copied into memory, and the devices meet there, two at a time, in every order (above \
            four devices, in orders drawn from a seed) until all hold the same. The directories stay as they are to \
            the byte. No daemon may run on them meanwhile.

            Exit codes: 0 all end the same and nothing is in conflict, 1 there are conflicts to look at, 2 devices \
            would differ or something would be lost, 64 the command line is not understood, 65 the directories cannot \
            be compared, 75 a process has one of them.
            """
    )

    @Argument(help: ArgumentHelp("The data directories of the devices.", valueName: "dir"))
    var directories: [String]
    @Option(help: "The link to estimate the time for: lan, wifi, mobile or satellite.")
    var link = "wifi"
    @Option(help: ArgumentHelp("The bandwidth of the link in kbit/s, instead of its usual one.", valueName: "kbit/s"))
    var bandwidth: UInt64?
    @Option(help: ArgumentHelp("The latency of the link each way, instead of its usual one.", valueName: "ms"))
    var latency: UInt64?
    @Option(help: "Draw so many orders of meetings instead of trying all, or 100 above four devices.")
    var orders: Int?
    @Option(help: "The seed to draw orders from.")
    var seed: UInt64 = 1
    @Flag(help: "Print the answer as JSON.")
    var json = false

    func run() throws {
        guard self.directories.count > 1 else { throw ValidationError("Name two data directories or more.") }
        if let orders, orders < 1 { throw ValidationError("At least one order has to be drawn.") }
        let options = WhatIf.Options(
            link: try self.chosenLink(),
            now: WallTime(milliseconds: UInt64(max(0, Date().timeIntervalSince1970 * 1_000))),
            orderCount: self.orders,
            seed: self.seed
        )
        let progress = MeetingProgress()
        let report: WhatIfReport
        do throws(WhatIfFailure) {
            report = try WhatIf.report(on: self.directories, options) { progress.advance($0) }
        } catch {
            StandardError.write("Simulator: \(error)")
            throw ExitCode(error.status.rawValue)
        }
        print(self.json ? report.json : report.text)
        if report.verdict != .same { throw ExitCode(report.verdict.rawValue) }
    }

    private func chosenLink() throws -> Link {
        guard var link = Link.usual.first(where: { $0.name == self.link }) else {
            throw ValidationError("There is no link “\(self.link)”: lan, wifi, mobile, satellite.")
        }
        if let bandwidth {
            guard (1...100_000_000).contains(bandwidth) else { throw ValidationError("--bandwidth is out of range.") }
            link.bytesPerSecond = bandwidth * 1_000 / 8
        }
        if let latency {
            guard latency <= 60_000 else { throw ValidationError("--latency is out of range.") }
            link.latency = .milliseconds(latency)
        }
        if self.bandwidth != nil || self.latency != nil { link.name += ", changed" }
        return link
    }
}

/// Says on standard error how many meetings were held, every two seconds.
private final class MeetingProgress: Sendable {
    private let state = Mutex((meetingCount: 0, shown: WallClock.seconds()))

    private static let interval = 2.0

    func advance(_ count: Int) {
        let line = self.state.withLock { state -> String? in
            state.meetingCount += count
            let now = WallClock.seconds()
            guard now - state.shown >= MeetingProgress.interval else { return nil }
            state.shown = now
            return "\(state.meetingCount) meetings held"
        }
        if let line { StandardError.write(line) }
    }
}
