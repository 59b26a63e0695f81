internal import ArgumentParser
internal import Foundation
internal import LocalAPI
internal import PeerdKit
internal import PeerdPreview

struct PreviewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "preview",
        abstract: "Tell what would happen if the devices of some data directories synced; change nothing.",
        discussion: """
            Copies the databases to a temporary directory of your own ($TMPDIR), lets the devices sync there, two at a \
            time, in every order (above four devices, in orders drawn from a seed), and removes the copies. The data \
            directories stay as they are to the byte. No daemon may run on them meanwhile.

            Ends with exit code 0 if all orders end the same and nothing needs a decision, and with 1 if there are \
            conflicts or devices would differ; the member "verdict" of the JSON is "same", "conflicts" or "diverges".
            """
    )

    @Argument(
        help: ArgumentHelp("The data directories of two or more devices of one workspace.", valueName: "dir"),
        completion: .directory
    )
    var directories: [String]

    @Option(help: "The link to measure the transfers over: lan, wifi, mobile or satellite.")
    var link = Preview.Link.wifi.name

    @Option(help: ArgumentHelp("The bandwidth of the link in kbit/s, instead of its usual one.", valueName: "kbit/s"))
    var bandwidth: UInt64?

    @Option(help: ArgumentHelp("The latency of the link each way, instead of its usual one.", valueName: "ms"))
    var latency: UInt64?

    @Option(help: "Draw so many orders instead of trying all, or 100 above four devices.")
    var orders: Int?

    @Option(help: "The seed to draw orders from.")
    var seed: UInt64 = 1

    @Flag(name: .customLong("json"), help: "Print JSON.")
    var isJSON = false

    private static let bandwidthMax: UInt64 = 100_000_000
    private static let latencyMax: UInt64 = 60_000

    func run() async throws {
        if let orders, orders < 1 { throw CommandFailure(.usage, "--orders needs a number above 0.") }
        let (link, orders, seed) = (try self.chosenLink(), self.orders, self.seed)
        let directories = self.directories.map { URL(fileURLWithPath: $0, isDirectory: true) }
        let preview = try await EndingSignals.cancelling {
            defer { StandardStreams.progress("") }
            return try await Preview.of(directories, link: link, orderCount: orders, seed: seed) { count in
                StandardStreams.progress(PlainText.count(count, "sync"))
            }
        }
        let output = CommandOutput(isJSON: self.isJSON)
        if self.isJSON {
            try output.json(preview.json)
        } else {
            for line in preview.lines { try output.line(line) }
        }
        try output.flush()
        switch preview.verdict {
        case .same: break
        case .conflicts: throw CommandFailure(.failure, "Some of it needs a decision; see above.")
        case .diverges: throw CommandFailure(.failure, "The devices would differ; see above.")
        }
    }

    private func chosenLink() throws -> Preview.Link {
        guard var link = Preview.Link.usual.first(where: { $0.name == self.link }) else {
            throw CommandFailure(.usage, "\"\(self.link)\" is no link; there are lan, wifi, mobile and satellite.")
        }
        if let bandwidth {
            guard (1...Self.bandwidthMax).contains(bandwidth) else {
                throw CommandFailure(.usage, "--bandwidth needs a number from 1 to \(Self.bandwidthMax).")
            }
            link.bytesPerSecond = bandwidth * 1_000 / 8
        }
        if let latency {
            guard latency <= Self.latencyMax else {
                throw CommandFailure(.usage, "--latency needs a number from 0 to \(Self.latencyMax).")
            }
            link.latency = .milliseconds(latency)
        }
        if self.bandwidth != nil || self.latency != nil { link.name += ", changed" }
        return link
    }
}
