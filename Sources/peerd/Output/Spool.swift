internal import CRDTCore
internal import Foundation
internal import LocalAPI
internal import NIOConcurrencyHelpers
internal import PeerdKit

/// Output that must come from one state of the store, gathered while the store is read and handed on afterwards.
///
/// What exceeds a few megabytes goes to a nameless file, so that memory stays bounded.
final class Spool: Sendable {
    private struct Content {
        var bytes: [UInt8] = []
        var file: Int32 = -1
        var failure: CommandFailure?
    }

    private let directory: String
    private let memoryByteCountMax: Int
    private let content = NIOLockedValueBox(Content())

    static let memoryByteCountMax = 4 << 20

    init(directory: String, memoryByteCountMax: Int = Spool.memoryByteCountMax) {
        self.directory = directory
        self.memoryByteCountMax = memoryByteCountMax
    }

    deinit {
        self.content.withLockedValue { content in
            if content.file >= 0 { close(content.file) }
        }
    }

    /// Adds bytes that programs take as they are.
    func write(_ bytes: some Sequence<UInt8>) {
        self.content.withLockedValue { content in
            content.bytes.append(contentsOf: bytes)
            if content.bytes.count >= self.memoryByteCountMax { self.spill(&content) }
        }
    }

    /// Adds text for people: one line, in which nothing breaks it or steers a terminal.
    func line(_ text: String) {
        self.write((TerminalText.line(text) + "\n").utf8)
    }

    /// Adds lines of columns for people.
    func table(_ rows: [[String]]) {
        self.write(PlainText.table(rows).utf8)
    }

    /// Hands all of it on, in order.
    func drain(to output: CommandOutput) async throws {
        let next = try self.pieces()
        while let piece = try await next() { try await output.write(piece) }
    }

    /// Returns a function that returns all of it, piece by piece, in order.
    func pieces() throws -> @Sendable () async throws -> [UInt8]? {
        let (file, tail) = try self.finished()
        let rest = NIOLockedValueBox<(offset: off_t, tail: [UInt8]?)>((0, tail))
        return {
            try rest.withLockedValue { rest in
                // The file lives as long as this object.
                guard file >= 0, let piece = try self.piece(of: file, at: rest.offset) else { return rest.tail.take() }
                rest.offset += off_t(piece.count)
                return piece
            }
        }
    }

    private func piece(of file: Int32, at offset: off_t) throws -> [UInt8]? {
        var piece = [UInt8](repeating: 0, count: CommandOutput.chunkByteCount)
        let count = pread(file, &piece, piece.count, offset)
        if count < 0 { throw CommandFailure(.storage, "A temporary file cannot be read: \(SystemText.ofErrno()).") }
        return count == 0 ? nil : Array(piece.prefix(count))
    }

    private func finished() throws -> (file: Int32, tail: [UInt8]) {
        try self.content.withLockedValue { content in
            if let failure = content.failure { throw failure }
            return (content.file, content.bytes)
        }
    }

    private func spill(_ content: inout Content) {
        guard content.failure == nil else {
            content.bytes = []
            return
        }
        if content.file < 0 {
            content.file = NamelessFile.open(in: self.directory)
        }
        var rest = content.bytes[...]
        content.bytes = []
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(content.file, $0.baseAddress, $0.count) }
            guard count > 0 else {
                if count < 0, errno == EINTR { continue }
                content.failure = CommandFailure(
                    .storage,
                    "A temporary file in \(self.directory) cannot be written: \(SystemText.ofErrno())."
                )
                return
            }
            rest = rest.dropFirst(count)
        }
    }
}
