internal import ArgumentParser
internal import CRDTCore
internal import Engine
internal import Logging
internal import PeerTransport
internal import PeerdKit
internal import ServiceLifecycle
internal import UnixSignals

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "run",
        abstract: "Be the daemon: listen, find the other machines, and keep in step with them.",
        discussion: """
            Ends in order on SIGTERM or SIGINT. Prints where it listens on standard output, and its log on standard \
            error. Other commands for the same directory work through it.
            """,
        exitCodes: [.success, .failure, .usage, .workspace, .busy, .storage]
    )

    @OptionGroup var options: DataOptions

    @Option(
        name: .customLong("listen"),
        help: ArgumentHelp(
            "Where to listen; port 0 lets the system choose.",
            discussion: "Default: where this daemon listened last, else 0.0.0.0:0. The host * is IPv6 and IPv4.",
            valueName: "host:port"
        )
    )
    var listen: String?

    @Option(
        name: .customLong("peer"),
        help: ArgumentHelp("An address to keep a connection to; may be repeated.", valueName: "host:port")
    )
    var peers: [String] = []

    @Flag(name: .customLong("no-discovery"), help: "Send no beacons on the local network, and listen for none.")
    var hasNoDiscovery = false

    @Option(
        name: .customLong("log-level"),
        help: "What to log: trace, debug, info, notice, warning, error or critical."
    )
    var logLevel = Logger.Level.info.rawValue

    func run() async throws {
        let paths = try self.options.directory.paths
        guard let level = Logger.Level(rawValue: self.logLevel) else {
            throw CommandFailure(.usage, "\"\(self.logLevel)\" is no log level; see \"peerd help run\".")
        }
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = level
            return handler
        }
        let logger = Logger(label: "peerd")
        let peers = try self.peers.map { try Self.address($0) }
        let listen = try ListenChoice(option: self.listen, remembered: Settings.load(paths).listen)
        try paths.requireWorkspace()
        guard try ControlClient(paths: paths) == nil else {
            throw CommandFailure(.busy, "A daemon runs for \(paths.directory) already; stop that one first.")
        }
        let daemon = try await Daemon.start(
            paths,
            listen: listen,
            staticAddresses: peers.map { NetworkAddress(host: $0.host, port: $0.port) },
            discovers: !self.hasNoDiscovery,
            logger: logger
        )
        try self.announce(daemon)
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [daemon],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: Self.quiet(logger)
            )
        )
        try await group.run()
    }

    private func announce(_ daemon: Daemon) throws {
        let text: String
        if self.options.isJSON {
            let json = JSON.object([
                "event": .string("listening"),
                "address": .string(daemon.address.description),
                "host": .string(daemon.address.host),
                "port": .int(Int64(daemon.address.port)),
            ])
            text = json.canonicalText
        } else {
            text = "listening on \(daemon.address)"
        }
        try StandardStreams.output(Array((text + "\n").utf8)[...])
    }

    /// The group's own chatter is of no interest to who runs peerd.
    private static func quiet(_ logger: Logger) -> Logger {
        var logger = logger
        logger.logLevel = .warning
        return logger
    }

    static func address(_ text: String) throws -> PeerAddress {
        do throws(PeerAddressError) {
            return try PeerAddress.parse(text)
        } catch {
            throw CommandFailure(.usage, error.description)
        }
    }
}

/// Where a daemon is to listen.
struct ListenChoice: Hashable, Sendable {
    var address: PeerAddress
    /// Whether another port will do where this one is taken: nobody asked for it just now.
    var isRemembered: Bool

    init(option: String?, remembered: String?) throws {
        if let option {
            self.address = try RunCommand.address(option)
            self.isRemembered = false
        } else if let remembered, let address = try? PeerAddress.parse(remembered) {
            self.address = address
            self.isRemembered = true
        } else {
            self.address = PeerAddress(host: "0.0.0.0", port: 0)
            self.isRemembered = false
        }
    }
}
