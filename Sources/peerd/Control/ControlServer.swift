internal import Dispatch
internal import Foundation
internal import Logging
internal import NIOConcurrencyHelpers
internal import PeerdKit

/// Listens on the data directory's socket and has the requests that come in carried out.
final class ControlServer: Sendable {
    private let paths: DirectoryPaths
    private let performer: any RequestPerformer
    private let logger: Logger
    private let listener: Int32
    /// Which file the socket is, so that only our own is removed.
    private let inode: ino_t
    private let acceptQueue = DispatchQueue(label: "peerd.control")
    private let connections = NIOLockedValueBox(Connections())

    private struct Connections {
        var open: [ObjectIdentifier: LocalSocket] = [:]
        /// Requests that are being carried out.
        var busyCount = 0
        var isStopped = false
    }

    private static let connectionCountMax = 64
    /// How long requests that are being carried out may take to end when the daemon does.
    private static let stopPatience = Duration.seconds(2)
    private static let stopInterval = Duration.milliseconds(10)

    /// Makes the socket.
    ///
    /// The caller holds the directory's lock, so a socket file that is there is a dead one.
    init(paths: DirectoryPaths, performer: any RequestPerformer, logger: Logger) throws {
        self.paths = paths
        self.performer = performer
        self.logger = logger
        self.listener = try LocalSocketAddress.listen(paths.socket)
        var status = stat()
        self.inode = lstat(paths.socket, &status) == 0 ? status.st_ino : 0
    }

    deinit { close(self.listener) }

    /// Begins to accept callers.
    func start() {
        self.acceptQueue.async { self.acceptCallers() }
    }

    /// Removes the socket, lets requests that are being carried out end, and hangs up on everyone.
    func stop() async {
        self.connections.withLockedValue { $0.isStopped = true }
        var status = stat()
        if lstat(self.paths.socket, &status) == 0, status.st_ino == self.inode { unlink(self.paths.socket) }
        shutdown(self.listener, Int32(SHUT_RDWR))
        let patience = ContinuousClock.now + Self.stopPatience
        while self.connections.withLockedValue({ $0.busyCount > 0 }), ContinuousClock.now < patience {
            try? await Task.sleep(for: Self.stopInterval)
        }
        for socket in self.connections.withLockedValue({ Array($0.open.values) }) { socket.shutDown() }
    }

    private var isStopped: Bool { self.connections.withLockedValue(\.isStopped) }

    private func acceptCallers() {
        while !self.isStopped {
            let descriptor = accept(self.listener, nil, nil)
            guard descriptor >= 0 else {
                // Out of descriptors, most likely: callers wait in the backlog meanwhile.
                if !self.isStopped, errno != EINTR, errno != ECONNABORTED { usleep(50_000) }
                continue
            }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            let socket = LocalSocket(descriptor: descriptor)
            let isWelcome = self.connections.withLockedValue { connections in
                guard !connections.isStopped, connections.open.count < Self.connectionCountMax else { return false }
                connections.open[ObjectIdentifier(socket)] = socket
                return true
            }
            Task {
                if isWelcome {
                    await self.serve(socket)
                    self.connections.withLockedValue { _ = $0.open.removeValue(forKey: ObjectIdentifier(socket)) }
                } else {
                    let failure = CommandFailure(.busy, "The daemon has too many callers at once; try again.")
                    try? await socket.write(ControlCodec.line(Reply.failed(failure)))
                }
            }
        }
    }

    /// Answers one request after the other until the caller hangs up.
    private func serve(_ socket: LocalSocket) async {
        var reader = LineReader(byteCountMax: ControlCodec.requestByteCountMax)
        do {
            while true {
                if let line = try reader.next() {
                    self.connections.withLockedValue { $0.busyCount += 1 }
                    defer { self.connections.withLockedValue { $0.busyCount -= 1 } }
                    try await self.answer(line, to: socket)
                    continue
                }
                let bytes = try await socket.read()
                if bytes.isEmpty { return }
                reader.append(bytes)
            }
        } catch ControlError.notUnderstood, ControlError.tooLong {
            let failure = CommandFailure(
                .busy,
                "The daemon did not understand the request; restart it with this version of peerd."
            )
            try? await socket.write(ControlCodec.line(Reply.failed(failure)))
        } catch {
            self.logger.debug("a caller went away", metadata: ["reason": "\(error)"])
        }
    }

    private func answer(_ line: [UInt8], to socket: LocalSocket) async throws {
        let version = try ControlCodec.value(EnvelopeVersion.self, from: line).version
        guard version == RequestEnvelope.currentVersion else {
            let failure = CommandFailure(
                .busy,
                "The daemon is another version of peerd (\(Version.text)); stop it and start the new one."
            )
            return try await socket.write(ControlCodec.line(Reply.failed(failure)))
        }
        let envelope = try ControlCodec.value(RequestEnvelope.self, from: line)
        let output = CommandOutput(format: envelope.format) { piece in
            let reply: Reply =
                switch piece {
                case .data(let bytes): ControlCodec.reply(output: bytes)
                case .qrCode(let text): .qrCode(text)
                case .progress(let text): .progress(text)
                case .note(let text): .note(text)
                }
            try await socket.write(ControlCodec.line(reply))
        }
        let last: Reply
        do {
            let completion = try await self.performer.perform(envelope.request, output: output)
            try await output.flush()
            last = .finished(completion)
        } catch {
            guard let failure = CommandFailure(error) else { throw error }
            try await output.flush()
            last = .failed(failure)
        }
        try await socket.write(ControlCodec.line(last))
    }
}

/// The part of an envelope that every version has.
private struct EnvelopeVersion: Codable {
    var version: Int
}

/// Carries out requests in a workspace.
protocol RequestPerformer: Sendable {
    /// - Throws: `CommandFailure`, or what `output` threw.
    func perform(_ request: Request, output: CommandOutput) async throws -> Completion
}
