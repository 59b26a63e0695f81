internal import Foundation
internal import PeerdKit

/// The command line's end of the daemon's socket.
struct ControlClient {
    private let socket: LocalSocket
    private var reader = LineReader(byteCountMax: ControlCodec.replyByteCountMax)

    /// Connects to the daemon of a directory; nil if none runs there.
    init?(paths: DirectoryPaths) throws {
        do {
            let descriptor = try LocalSocketAddress.open(paths.socket) { connect($0, $1, $2) }
            self.socket = LocalSocket(descriptor: descriptor)
        } catch let failure as SocketFailure {
            if failure.isAbsence { return nil }
            throw CommandFailure(
                .busy,
                "The daemon's socket \(paths.socket) cannot be used: \(SystemText.ofErrno(failure.code))."
            )
        } catch ControlError.failed {
            return nil
        }
    }

    /// Has one request carried out, printing as the answer comes in.
    mutating func perform(_ request: Request, output: CommandOutput) async throws -> Completion {
        do {
            let envelope = RequestEnvelope(format: output.format, request: request)
            try await self.socket.write(try ControlCodec.line(envelope))
            while true {
                switch try await self.nextReply() {
                case .text(let text): try await output.write(text.utf8)
                case .bytes(let text): try await output.write(Data(base64Encoded: text) ?? Data())
                case .qrCode(let text): try await output.qrCode(of: text)
                case .progress(let text): try await output.progress(text)
                case .note(let text): try await output.note(text)
                case .finished(let completion): return completion
                case .failed(let failure): throw failure
                }
                try await output.flush()
            }
        } catch let error as ControlError {
            throw Self.failure(error)
        }
    }

    private mutating func nextReply() async throws -> Reply {
        while true {
            if let line = try self.reader.next() { return try ControlCodec.value(Reply.self, from: line) }
            let bytes = try await self.socket.read()
            if bytes.isEmpty { throw ControlError.closed }
            self.reader.append(bytes)
        }
    }

    private static func failure(_ error: ControlError) -> CommandFailure {
        switch error {
        case .closed, .failed:
            CommandFailure(
                .busy,
                "The daemon stopped before it answered; check in the workspace whether a write was stored."
            )
        case .notUnderstood, .tooLong:
            CommandFailure(
                .busy,
                "The daemon is another version of peerd, and its answer is not understood; stop it and start this one."
            )
        }
    }
}
