internal import Foundation
internal import LocalAPI
internal import Logging
internal import PeerdKit

/// How a daemon serves the local API.
struct HTTPChoice: Sendable {
    /// Whether it serves programs and pages over loopback, and not only over its Unix socket.
    var servesLoopback: Bool
    /// The port that was asked for; nil for 8080 or the next that is free.
    var port: UInt16?
    /// Origins of pages that may use the API with the token.
    var allowedOrigins: [String]
    /// The folder of the user's own pages; nil for none.
    var pagesDirectory: String?

    private static let firstPort: UInt16 = 8080
    private static let triedPortCount: UInt16 = 100

    /// Starts to serve.
    func start(_ executor: Executor, _ paths: DirectoryPaths, _ logger: Logger) async throws -> LocalServer {
        var server = ServerDescription(
            version: Version.text,
            platform: Self.platform,
            listen: executor.daemon?.listen,
            reachableHosts: executor.daemon?.reachableHosts ?? [],
            filesDirectory: paths.files
        )
        server.pagesDirectory = self.pagesDirectory
        var (access, reservation): (Access?, LoopbackReservation?)
        if self.servesLoopback {
            reservation = try self.reserve()
            let token = try Endpoint.token(paths)
            let port = reservation?.port ?? 0
            server.origins = ["http://127.0.0.1:\(port)", "http://localhost:\(port)", "http://[::1]:\(port)"]
            access = Access(token: token, port: port, allowedOrigins: self.allowedOrigins)
            try Endpoint(url: server.origins[0], token: token).save(paths)
        } else {
            unlink(paths.api)
        }
        let api = LocalServer(APIService(executor.workspace, server, access: access))
        try await api.serve(socket: try LocalSocketAddress.listen(paths.apiSocket), at: paths.apiSocket)
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

    private static var platform: String {
        var name = utsname()
        guard uname(&name) == 0 else { return "Linux" }
        func text<Content>(_ content: Content) -> String {
            withUnsafeBytes(of: content) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        return "\(text(name.sysname)) \(text(name.machine))"
    }
}

extension LocalSocketAddress {
    private static let backlog: Int32 = 64

    /// Makes a socket that only its owner can connect to, in the place of one that was left behind.
    static func listen(_ path: String) throws -> Int32 {
        unlink(path)
        // Nobody else may connect in the moment before its mode could be changed.
        let mask = umask(~PrivateFile.fileMode & 0o777)
        defer { umask(mask) }
        do {
            return try self.open(path) { descriptor, address, length in
                guard bind(descriptor, address, length) == 0 else { return -1 }
                return Foundation.listen(descriptor, self.backlog)
            }
        } catch let failure as SocketFailure {
            throw CommandFailure(
                .storage,
                "The socket \(path) cannot be made: \(SystemText.ofErrno(failure.code))."
            )
        }
    }
}
