internal import CRDTCore
internal import LocalAPI
internal import PeerTransport
internal import PeerdKit

/// Where a command has its requests answered: by the daemon of the directory, or in this process if none runs.
struct Workplace {
    let caller: any APICaller
    let output: CommandOutput
    let paths: DirectoryPaths
    /// What is open in this process; nil if a daemon runs.
    private let runtime: WorkspaceRuntime?

    var daemonRuns: Bool { self.runtime == nil }

    /// Opens the workplace of a directory, and closes it behind `body`.
    ///
    /// `mayWrite`: whether one of the requests may.
    static func with<Result>(
        _ paths: DirectoryPaths,
        _ format: OutputFormat,
        mayWrite: Bool,
        _ body: (Workplace) async throws -> Result
    ) async throws -> Result {
        try paths.requireWorkspace()
        let workplace = try await self.open(paths, CommandOutput.standard(format), mayWrite: mayWrite)
        do {
            let result = try await body(workplace)
            try await workplace.output.flush()
            await workplace.runtime?.stop()
            return result
        } catch {
            // What was there to say before is said before the reason.
            try? await workplace.output.flush()
            await workplace.runtime?.stop()
            throw error
        }
    }

    /// Has output gathered, and prints it when it is complete.
    func printWhole(_ body: (Spool) async throws -> Void) async throws {
        let spool = Spool(directory: self.paths.directory)
        try await body(spool)
        try await spool.drain(to: self.output)
    }

    /// Has work done that may take long, and shows how far it is.
    func work(_ request: APIRequest) async throws -> JSON {
        var isShown = false
        let result = try await self.caller.work(request) { text in
            isShown = true
            try await self.output.progress(text)
        }
        if isShown { try await self.output.progress("") }
        return result
    }

    private static func open(
        _ paths: DirectoryPaths,
        _ output: CommandOutput,
        mayWrite: Bool
    ) async throws -> Workplace {
        if let workplace = try await self.ofDaemon(paths, output) { return workplace }
        do {
            return try await self.openLocally(paths, output, mayWrite: mayWrite)
        } catch let error as PeerdError where error.code == .alreadyOpen {
            // The process that has the directory may be a daemon that was just starting.
            if let workplace = try await self.ofDaemon(paths, output) { return workplace }
            throw error
        }
    }

    private static func ofDaemon(_ paths: DirectoryPaths, _ output: CommandOutput) async throws -> Workplace? {
        guard try await paths.hasDaemon else { return nil }
        return Workplace(caller: APIClient(path: paths.socket), output: output, paths: paths, runtime: nil)
    }

    private static func openLocally(
        _ paths: DirectoryPaths,
        _ output: CommandOutput,
        mayWrite: Bool
    ) async throws -> Workplace {
        let runtime = try await WorkspaceRuntime.openStoreAlone(paths, mayWrite: mayWrite) { notice in
            if let text = NoticeText.warning(notice) { StandardStreams.note(text) }
        }
        // An invite names the place where the daemon was last, and will be again.
        let last = Settings.load(paths).listen.flatMap { try? PeerAddress.parse($0) }
        let server = ServerDescription(
            version: Version.text,
            platform: HTTPChoice.platform,
            listen: nil,
            reachableHosts: last.map { ListenAddress.reachableHosts($0.host) } ?? [],
            invitePort: last?.port,
            filesDirectory: paths.files
        )
        let service = APIService(try Workspace(runtime, at: paths), server, access: nil, servesPages: false)
        return Workplace(caller: ProcessCaller(service), output: output, paths: paths, runtime: runtime)
    }
}

extension DirectoryPaths {
    /// Whether a daemon of the directory takes requests.
    var hasDaemon: Bool {
        get async throws {
            do {
                return try await APIClient(path: self.socket).isListenedTo()
            } catch let failure as SocketFailure {
                throw CommandFailure(.busy, "The daemon's socket \(self.socket) cannot be used: \(failure.reason).")
            }
        }
    }

    private static let startPatience = Duration.seconds(3)
    private static let startInterval = Duration.milliseconds(50)

    /// The same, for commands that need a daemon: it may have been started a moment ago.
    var hasDaemonSoon: Bool {
        get async throws {
            let patience = ContinuousClock.now + Self.startPatience
            while true {
                if try await self.hasDaemon { return true }
                if ContinuousClock.now >= patience { return false }
                try await Task.sleep(for: Self.startInterval)
            }
        }
    }
}

extension CommandOutput {
    /// Output on this process's own streams.
    static func standard(_ format: OutputFormat) -> CommandOutput {
        CommandOutput(format: format) { piece in
            switch piece {
            case .data(let bytes): try StandardStreams.output(bytes)
            case .qrCode(let text): try StandardStreams.draw(qrCodeOf: text)
            case .progress(let text): StandardStreams.progress(text)
            case .note(let text): StandardStreams.note(text)
            }
        }
    }
}
