internal import ArgumentParser
internal import CRDTCore
internal import Foundation
internal import LocalAPI
internal import PeerdKit

/// Options of a daemon for the local API.
struct HTTPOptions: ParsableArguments {
    @Option(
        name: .customLong("http-port"),
        help: ArgumentHelp(
            "The port of loopback on which the dashboard and the local API are.",
            discussion: "Default: 8080, or the next that is free.",
            valueName: "port"
        )
    )
    var port: UInt16?

    @Flag(name: .customLong("no-http"), help: "Serve no dashboard, and the local API on the Unix socket only.")
    var hasNoHTTP = false

    @Option(
        name: .customLong("allow-origin"),
        help: ArgumentHelp(
            "Let pages of this origin use the local API with its token; may be repeated.",
            valueName: "origin"
        )
    )
    var allowedOrigins: [String] = []

    @Option(
        name: .customLong("serve"),
        help: ArgumentHelp(
            "Serve the pages of this folder at /app/, with the rights of the dashboard.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var pagesDirectory: String?

    /// Throws for a folder that is not there, and for what is no origin.
    func check() throws(CommandFailure) {
        if let folder = self.pagesDirectory {
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
                throw CommandFailure(.usage, "There is no folder \(folder) to serve.")
            }
        }
        for origin in self.allowedOrigins {
            guard let url = URL(string: origin), let scheme = url.scheme, ["http", "https"].contains(scheme),
                url.host() != nil, url.path().isEmpty, url.query() == nil
            else {
                throw CommandFailure(
                    .usage,
                    "\"\(origin)\" is not an origin; write one like https://example.org, without a path."
                )
            }
        }
    }
}

struct APICommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "api",
        abstract: "Print where the local API is, and its token.",
        discussion: """
            The token is a secret: any program that has it can read and change the workspace. A shell keeps it out of \
            the list of processes like this: curl -H @<(peerd api --header) "$(peerd api --url)/api/status". On the \
            Unix socket no token is needed: curl --unix-socket "$(peerd api --socket)" http://localhost/api/status.
            """
    )

    @OptionGroup var options: DataOptions

    @Flag(name: .customLong("url"), help: "Print the address alone.")
    var printsURL = false

    @Flag(name: .customLong("header"), help: "Print a header field with the token, for curl.")
    var printsHeader = false

    @Flag(name: .customLong("socket"), help: "Print the path of the Unix socket.")
    var printsSocket = false

    func run() async throws {
        let paths = try self.options.directory.paths
        try paths.requireWorkspace()
        let output = CommandOutput(isJSON: self.options.isJSON)
        if self.printsSocket {
            try output.line(paths.socket)
            return try output.flush()
        }
        let isRunning = try await paths.hasDaemonSoon
        guard isRunning, let endpoint = Endpoint.load(paths) else {
            throw CommandFailure(
                .busy,
                isRunning
                    ? "The daemon serves only its Unix socket; start it without --no-http."
                    : "No daemon runs for \(paths.directory); start \"peerd run\" first."
            )
        }
        if self.options.isJSON {
            let json = JSON.object([
                "url": .string(endpoint.url), "token": .string(endpoint.token), "socket": .string(paths.socket),
            ])
            try output.json(json)
        } else if self.printsURL {
            try output.line(endpoint.url)
        } else if self.printsHeader {
            try output.line("Authorization: Bearer \(endpoint.token)")
        } else {
            try output.table([
                ["url", endpoint.url], ["token", endpoint.token], ["socket", paths.socket],
            ])
        }
        try output.flush()
    }
}

struct OpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "open",
        abstract: "Open the dashboard in the browser.",
        discussion: """
            Prints a link that lets one browser in. It works once, within two minutes: if it is used a second time, \
            both browsers are signed out. If there is a desktop, the browser opens it, by a file that only you can \
            read. A browser stays signed in until the daemon ends; "peerd sessions" lists the browsers.
            """
    )

    @OptionGroup var options: DataOptions

    @Flag(name: .customLong("print"), help: "Print the link, and open nothing.")
    var onlyPrints = false

    func run() async throws {
        let paths = try self.options.directory.paths
        try paths.requireWorkspace()
        guard let link: LinkAnswer = try await paths.answerOfDaemon(APIRequest(.post, "api", "links")) else {
            throw CommandFailure(.busy, "No daemon runs for \(paths.directory); start \"peerd run\" first.")
        }
        try self.options.show(link, link.url)
        guard !self.onlyPrints, !self.options.isJSON, StandardStreams.hasDesktop else { return }
        try Array(Self.page(leadingTo: link.url).utf8).withUnsafeBytes {
            try PrivateFile.write($0, to: paths.openPage)
        }
        StandardStreams.openInDesktop(path: paths.openPage)
    }

    /// The link is of hexadecimal digits, and needs no escapes.
    private static func page(leadingTo url: String) -> String {
        """
        <!doctype html><meta charset="utf-8"><title>peerd</title><meta name="referrer" content="no-referrer">
        <meta http-equiv="refresh" content="0;url=\(url)"><p><a href="\(url)">Open the dashboard</a></p>

        """
    }
}

struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "sessions",
        abstract: "List the browsers that are signed in.",
        discussion: """
            "peerd sessions end ID" signs one out, and "peerd sessions end all" all of them. When the daemon ends, \
            all are.
            """,
        exitCodes: ExitStatus.commonWithObject
    )

    @OptionGroup var options: DataOptions

    @Argument(help: "end, to sign a browser out.")
    var action: String?

    @Argument(help: "The browser to sign out, by its id in the list, or all.")
    var id: String?

    func run() async throws {
        let paths = try self.options.directory.paths
        try paths.requireWorkspace()
        guard self.action == nil || (self.action == "end" && self.id?.isEmpty == false) else {
            throw CommandFailure(
                .usage,
                "This is not understood; write \"peerd sessions\", or \"peerd sessions end\" with an id or all."
            )
        }
        guard let daemon = try await paths.daemon() else {
            throw CommandFailure(.busy, "No daemon runs for \(paths.directory), so no browser is signed in.")
        }
        if let id = self.id {
            let all = APIRequest(.delete, "api", "sessions")
            try await daemon.send(id == "all" ? all : APIRequest(.delete, "api", "sessions", id))
        }
        let list: SessionList = try await daemon.answer(APIRequest(.get, "api", "sessions"))
        let output = CommandOutput(isJSON: self.options.isJSON)
        if self.options.isJSON {
            try output.json(list.sessions.map { JSON($0) })
        } else if list.sessions.isEmpty {
            try output.line("No browser is signed in.")
        } else {
            try output.table(list.sessions.map(\.row))
        }
        try output.flush()
    }
}

extension SessionAnswer {
    fileprivate var row: [String] {
        [
            self.id, "since \(PlainText.time(self.begunMs))", "last asked \(PlainText.time(self.lastAskedMs))",
            self.agent.isEmpty ? "unnamed" : self.agent,
        ]
    }
}
