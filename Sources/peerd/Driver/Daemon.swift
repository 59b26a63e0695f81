internal import Engine
internal import Foundation
internal import LocalAPI
internal import Logging
internal import PeerTransport
internal import PeerdKit

/// A daemon that listens for peers and for the local API, until it is told to end.
struct Daemon {
    /// Where it listens.
    let address: PeerAddress
    private let runtime: WorkspaceRuntime
    private let workspace: Workspace
    private let socket: SocketFile
    private let api: LocalServer
    private let logger: Logger

    /// Starts everything; when this returns, peers and commands are answered.
    static func start(
        _ paths: DirectoryPaths,
        listen: ListenChoice,
        staticAddresses: [NetworkAddress],
        discovers: Bool,
        http: HTTPOptions,
        logger: Logger
    ) async throws -> Daemon {
        let inbox = NodeInbox()
        let transport = TCPTransport(events: { inbox.post(Event($0)) })
        let log = NoticeLog(logger, now: { SystemClock.now().monotonicMilliseconds })
        var address = listen.address
        let runtime = try await WorkspaceRuntime.open(
            paths,
            transport: transport,
            inbox: inbox,
            report: { notice in log.write(notice) },
            participation: {
                address = try await self.bind(transport, listen, logger)
                return Participation(
                    listenPort: address.port,
                    staticAddresses: staticAddresses,
                    discovers: discovers
                )
            }
        )
        do {
            let server = ServerDescription(
                version: Version.text,
                platform: Version.platform,
                listen: NetworkAddress(host: address.host, port: address.port),
                filesDirectory: paths.files
            )
            let socket = try SocketFile(listeningAt: paths.socket)
            let workspace = try Workspace(runtime, at: paths)
            let api = try await http.start(workspace, server, socket, logger)
            runtime.keepAddress(address.description, in: paths)
            return Daemon(
                address: address,
                runtime: runtime,
                workspace: workspace,
                socket: socket,
                api: api,
                logger: logger
            )
        } catch {
            await runtime.stop()
            throw error
        }
    }

    /// How often it is looked whether the directory is in its place.
    private static let placeInterval = Duration.seconds(1)

    /// Waits for a signal, then ends in order.
    ///
    /// Throws if it ended because its directory was moved or deleted.
    func run(until signals: AsyncStream<Int32>) async throws(PeerdError) {
        let memory = Task { await ProgramMemory.giveBackWhenIdle() }
        let backups = Task { [workspace, logger] in
            await workspace.makeScheduledBackups { Self.log($0, to: logger) }
        }
        let failure = await self.wait(for: signals)
        memory.cancel()
        backups.cancel()
        self.logger.debug("ending")
        self.socket.remove()
        await self.api.stop()
        await backups.value
        await self.runtime.stop()
        if let failure { throw failure }
    }

    /// Returns nil after a signal, or what is wrong with the place of the directory.
    private func wait(for signals: AsyncStream<Int32>) async -> PeerdError? {
        await withTaskGroup(of: PeerdError?.self) { [workspace] group in
            group.addTask {
                for await _ in signals { break }
                return nil
            }
            group.addTask {
                while (try? await Task.sleep(for: Self.placeInterval)) != nil {
                    do throws(PeerdError) {
                        try workspace.requirePlace()
                    } catch {
                        return error
                    }
                }
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    private static func log(_ backup: Result<Backup, PeerdError>, to logger: Logger) {
        switch backup {
        case .success(let backup):
            logger.info("Wrote a backup to \(backup.file.path).")
            if let warning = backup.warning { logger.warning("The backup is there, but \(warning).") }
        case .failure(let error): logger.error("No backup was made. \(CommandFailure(error).message)")
        }
    }

    private static func bind(
        _ transport: TCPTransport,
        _ listen: ListenChoice,
        _ logger: Logger
    ) async throws -> PeerAddress {
        do throws(ListenError) {
            return try await transport.listen(on: listen.address)
        } catch {
            guard listen.isRemembered else {
                throw CommandFailure(.failure, "\(error.description) Choose another with --listen HOST:PORT.")
            }
            logger.notice("\(error.description) This daemon listened there last; it uses any free port instead.")
        }
        do throws(ListenError) {
            return try await transport.listen(on: PeerAddress(host: listen.address.host, port: 0))
        } catch {
            throw CommandFailure(.failure, error.description)
        }
    }
}
