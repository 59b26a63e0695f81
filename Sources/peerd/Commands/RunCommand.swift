internal import ArgumentParser
internal import CRDTCore
internal import Engine
internal import Glibc
internal import Logging
internal import PeerTransport
internal import PeerdKit

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "run",
        abstract: "Run the daemon: listen, find the other machines, and stay in sync with them.",
        discussion: """
            Stops cleanly on SIGTERM or SIGINT. Prints its address on standard output, and its log on standard error. \
            Other commands for the same directory work through the daemon.
            """,
        exitCodes: [.success, .failure, .usage, .workspace, .busy, .storage]
    )

    @OptionGroup var options: DataOptions

    @Option(
        name: .customLong("listen"),
        help: ArgumentHelp(
            "The address to listen on; with port 0 the system chooses a port.",
            discussion: "Default: the last address of this daemon, else 0.0.0.0:0. The host * means IPv6 and IPv4.",
            valueName: "host:port"
        )
    )
    var listen: String?

    @Option(
        name: .customLong("peer"),
        help: ArgumentHelp("An address to stay connected to; may be repeated.", valueName: "host:port")
    )
    var peers: [String] = []

    @Flag(name: .customLong("no-discovery"), help: "Send no beacons on the local network, and listen for none.")
    var hasNoDiscovery = false

    @OptionGroup var http: HTTPOptions

    @Option(
        name: .customLong("log-level"),
        help: "The lowest level to log: trace, debug, info, notice, warning, error or critical."
    )
    var logLevel = Logger.Level.info.rawValue

    func run() async throws {
        let paths = try self.options.directory.paths
        guard let level = Logger.Level(rawValue: self.logLevel) else {
            throw CommandFailure(.usage, "\"\(self.logLevel)\" is not a log level; see \"peerd help run\".")
        }
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler(label: label, stream: LogStream())
            handler.logLevel = level
            return handler
        }
        let logger = Logger(label: "peerd")
        let peers = try self.peers.map { try Self.address($0) }
        let listen = try ListenChoice(option: self.listen, remembered: try Settings.load(paths).listen)
        try paths.requireWorkspace()
        if let damage = try Settings.damage(paths) { logger.warning("\(damage): \(Settings.damageAdvice).") }
        guard try await paths.daemon() == nil else {
            throw CommandFailure(.busy, "A daemon already runs for \(paths.directory); stop it first.")
        }
        try self.http.check()
        // From here on a signal is heard, and ends the daemon in order once it has started.
        let signals = await TrappedSignals.trap(SIGTERM, SIGINT, SIGHUP)
        let daemon = try await Daemon.start(
            paths,
            listen: listen,
            staticAddresses: peers.map { NetworkAddress(host: $0.host, port: $0.port) },
            discovers: !self.hasNoDiscovery,
            http: self.http,
            logger: logger
        )
        let json = JSON.object([
            "event": .string("listening"), "address": .string(daemon.address.description),
            "host": .string(daemon.address.host), "port": .int(Int64(daemon.address.port)),
        ])
        try self.options.show(json, "listening on \(daemon.address)", hasEffect: true)
        try await daemon.run(until: signals)
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
        let former = option == nil ? remembered.flatMap { try? PeerAddress.parse($0) } : nil
        let named = try option.map { try RunCommand.address($0) } ?? former
        (self.address, self.isRemembered) = (named ?? PeerAddress(host: "0.0.0.0", port: 0), former != nil)
    }
}
