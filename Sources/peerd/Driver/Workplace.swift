internal import Engine
internal import Foundation
internal import LocalAPI
internal import PeerTransport
internal import PeerdKit

/// Where a command has its requests answered: by the daemon of the directory, or in this process if none runs.
struct Workplace {
    let caller: any APICaller
    let output: CommandOutput
    let paths: DirectoryPaths
    let daemonRuns: Bool
    var branchChoice = BranchChoice.switched
    /// Closes what was opened in this process.
    private let close: () async -> Void

    private init(
        caller: any APICaller,
        output: CommandOutput,
        paths: DirectoryPaths,
        daemonRuns: Bool,
        close: @escaping () async -> Void
    ) {
        let program = ProcessInfo.processInfo.environment["PEERD_PROGRAM"] ?? ""
        self.caller = program.isEmpty ? caller : NamedCaller(caller, program: program)
        (self.output, self.paths, self.daemonRuns, self.close) = (output, paths, daemonRuns, close)
    }

    /// Does something with the workplace, and closes it.
    func perform<Result>(_ body: (Workplace) async throws -> Result) async throws -> Result {
        do {
            let result = try await body(self)
            try self.output.end()
            await self.close()
            return result
        } catch {
            // What was there to say before is said before the reason.
            try? self.output.flush()
            await self.close()
            throw self.explained(error)
        }
    }

    /// Has work done that may take long, and shows how far it is.
    func work<Content: Answer>(_ request: APIRequest) async throws -> Content {
        var isShown = false
        let result: Content = try await self.caller.work(request) { text in
            isShown = true
            try self.output.progress(text)
        }
        if isShown { try self.output.progress("") }
        return result
    }

    /// Opens the workplace of a directory.
    ///
    /// `patienceSeconds`: how long whoever calls is ready to wait; nil for as long as the work takes.
    static func open(
        _ paths: DirectoryPaths,
        _ output: CommandOutput,
        mayWrite: Bool,
        _ patienceSeconds: Int64?
    ) async throws -> Workplace {
        if let workplace = try await self.ofDaemon(paths, output, patienceSeconds) { return workplace }
        if !mayWrite, access(paths.directory, W_OK) != 0 { return try await self.openReadOnly(paths, output) }
        do {
            return try await self.openLocally(paths, output, mayWrite: mayWrite)
        } catch let error as PeerdError where error.code == .diskFull && !mayWrite {
            // Not even the lock can be noted; to read takes no room.
            return try await self.openReadOnly(paths, output)
        } catch let error as PeerdError where error.code == .alreadyOpen {
            // The process that has the directory may be a daemon that was just starting.
            if let workplace = try await self.ofDaemon(paths, output, patienceSeconds) { return workplace }
            throw error
        }
    }

    private static func ofDaemon(
        _ paths: DirectoryPaths,
        _ output: CommandOutput,
        _ patienceSeconds: Int64?
    ) async throws -> Workplace? {
        try await paths.daemon(patienceSeconds: patienceSeconds).map {
            Workplace(caller: $0, output: output, paths: paths, daemonRuns: true) {}
        }
    }

    private static func openReadOnly(_ paths: DirectoryPaths, _ output: CommandOutput) async throws -> Workplace {
        let directory = URL(fileURLWithPath: paths.directory, isDirectory: true)
        let workspace = try await Workspace.open(at: directory, access: .readOnly)
        let service = APIService(workspace, try self.serverDescription(paths), access: nil, servesPages: false)
        return Workplace(caller: ProcessCaller(service), output: output, paths: paths, daemonRuns: false) {
            await workspace.close()
        }
    }

    private static func openLocally(
        _ paths: DirectoryPaths,
        _ output: CommandOutput,
        mayWrite: Bool
    ) async throws -> Workplace {
        let runtime = try await WorkspaceRuntime.openStoreAlone(
            paths,
            mayWrite: mayWrite,
            stopsWaiting: { try await paths.daemon() != nil },
            report: { notice in
                if let text = NoticeText.warning(notice) { StandardStreams.note(text) }
            }
        )
        let server = try self.serverDescription(paths)
        let service = APIService(try Workspace(runtime, at: paths), server, access: nil, servesPages: false)
        return Workplace(caller: ProcessCaller(service), output: output, paths: paths, daemonRuns: false) {
            await runtime.stop()
        }
    }

    private static func serverDescription(_ paths: DirectoryPaths) throws -> ServerDescription {
        // An invite names the place where the daemon was last, and will be again.
        let last = try Settings.load(paths).listen.flatMap { try? PeerAddress.parse($0) }
        return ServerDescription(
            version: Version.text,
            platform: Version.platform,
            listen: nil,
            inviteAddress: last.map { NetworkAddress(host: $0.host, port: $0.port) },
            filesDirectory: paths.files
        )
    }
}

extension DirectoryPaths {
    /// The daemon of the directory; nil if nobody listens on its socket.
    ///
    /// `patienceSeconds`: how long whoever calls is ready to wait; nil for as long as the work takes.
    func daemon(patienceSeconds: Int64? = nil) async throws -> APIClient? {
        do {
            return try await APIClient.reach(path: self.socket, patienceSeconds: patienceSeconds)
        } catch let failure as SocketFailure {
            // Another user may have left it, who ran a daemon here once.
            if failure.code == EACCES, !DirectoryLock.isHeld(self) { return nil }
            throw CommandFailure(.busy, "The daemon's socket \(self.socket) cannot be used: \(failure.reason).")
        }
    }

    private static let startPatience = Duration.seconds(3)
    private static let startInterval = Duration.milliseconds(50)

    /// What the daemon answers to a request; nil if none runs, and none that was just started.
    func answerOfDaemon<Content: Answer>(_ request: APIRequest) async throws -> Content? {
        let patience = ContinuousClock.now + Self.startPatience
        while true {
            do {
                if let daemon = try await self.daemon() { return try await daemon.answer(request) }
            } catch APIConnectionError.notTaken {
                // It was ending.
            }
            if ContinuousClock.now >= patience { return nil }
            try await Task.sleep(for: Self.startInterval)
        }
    }

    /// Whether a daemon runs that serves the directory; it may have been started a moment ago.
    var hasDaemonSoon: Bool {
        get async throws {
            do {
                return try await self.answerOfDaemon(APIRequest(.get, "healthz")) as HealthAnswer? != nil
            } catch is Problem {
                // It says that something is wrong.
                return true
            }
        }
    }
}
