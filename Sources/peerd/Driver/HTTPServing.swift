internal import Foundation
internal import LocalAPI
internal import Logging
internal import PeerdKit

/// Serving the local API.
extension HTTPOptions {
    private static let firstPort: UInt16 = 8080
    private static let triedPortCount: UInt16 = 100

    /// Starts to serve.
    func start(
        _ workspace: Workspace,
        _ server: ServerDescription,
        _ socket: SocketFile,
        _ logger: Logger
    ) async throws -> LocalServer {
        let paths = workspace.paths
        var server = server
        server.pagesDirectory = self.pagesDirectory.map { URL(fileURLWithPath: $0).resolvingSymlinksInPath().path }
        var (access, reservation): (Access?, LoopbackReservation?)
        if self.hasNoHTTP {
            unlink(paths.api)
        } else {
            reservation = try self.reserve()
            let token = try Endpoint.token(paths)
            let port = reservation?.port ?? 0
            server.origins = ["http://127.0.0.1:\(port)", "http://localhost:\(port)", "http://[::1]:\(port)"]
            access = try Access(token: token, port: port, allowedOrigins: self.allowedOrigins)
            try Endpoint(url: server.origins[0], token: token).save(paths)
        }
        let api = LocalServer(APIService(workspace, server, access: access))
        try await api.serve(socket: socket.descriptor)
        if let reservation { try await api.serve(reservation) }
        if let origin = server.origins.first { logger.info("serving \(origin); \"peerd open\" opens it") }
        return api
    }

    private func reserve() throws -> LoopbackReservation {
        if let port = self.port {
            if let reservation = LoopbackReservation(port: port) { return reservation }
            throw CommandFailure(
                .failure,
                "The port \(port) of loopback is taken. Choose another with --http-port, or none with --no-http."
            )
        }
        for port in Self.firstPort..<Self.firstPort + Self.triedPortCount {
            if let reservation = LoopbackReservation(port: port) { return reservation }
        }
        if let reservation = LoopbackReservation(port: 0) { return reservation }
        throw CommandFailure(.failure, "No port of loopback is free. Run without browsers by --no-http.")
    }
}

/// The Unix socket of a daemon, as a file.
struct SocketFile: Sendable {
    let descriptor: Int32
    private let path: String
    /// Which file it is, so that only our own is removed.
    private let inode: ino_t

    /// Makes the socket.
    ///
    /// The caller holds the directory's lock, so a socket file that is there is a dead one.
    init(listeningAt path: String) throws {
        do {
            self.descriptor = try LocalSocketAddress.listen(path)
        } catch {
            throw CommandFailure(.storage, "The socket \(path) cannot be made: \(error.reason).")
        }
        self.path = path
        self.inode = Self.inode(path) ?? 0
    }

    func remove() { if Self.inode(self.path) == self.inode { unlink(self.path) } }

    private static func inode(_ path: String) -> ino_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_ino : nil
    }
}
