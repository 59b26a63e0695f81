internal import Foundation
internal import LocalAPI
internal import NIOConcurrencyHelpers
internal import PeerdKit

extension Workplace {
    /// Takes in the objects of a file.
    func importObjects(from file: ImportSource) async throws {
        var request = APIRequest(.post, "api", "import", query: try self.branchQuery)
        request.body = .pieces(try file.pieces(keptIn: self.paths.directory))
        let report: ImportAnswer
        do {
            report = try await self.work(request)
        } catch {
            throw file.failure ?? error
        }
        for note in report.notes { try await self.output.note(note) }
        if self.output.format.isJSON { return try await self.output.json(report) }
        try await self.output.line("imported \(PlainText.count(report.objects, "object"))")
    }
}

/// A file to import, or standard input.
final class ImportSource: Sendable {
    private let path: String
    private let descriptor: Int32
    private let readFailure = NIOLockedValueBox<CommandFailure?>(nil)

    private static let pieceByteCount = 256 << 10

    init(path: String) throws {
        self.path = path
        self.descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
        if self.descriptor < 0 { throw self.unreadable() }
    }

    deinit { if self.descriptor > 0 { close(self.descriptor) } }

    /// Why it could not be read to its end; nil if it could.
    var failure: CommandFailure? { self.readFailure.withLockedValue { $0 } }

    /// Returns a function that reads the next piece.
    ///
    /// What another program still writes is gathered first: a daemon does not wait for that. It may need a temporary
    /// file in `directory`. More than `byteCountMax` bytes of that are refused, since it may never end.
    func pieces(keptIn directory: String, upTo byteCountMax: Int = .max) throws -> @Sendable () async throws -> [UInt8]?
    {
        var status = stat()
        if fstat(self.descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG { return { try self.next() } }
        let spool = Spool(directory: directory)
        var byteCount = 0
        while let piece = try self.next() {
            byteCount += piece.count
            guard byteCount <= byteCountMax else {
                let limit = "\(byteCountMax >> 20) MiB"
                throw CommandFailure(.failure, "\(self.path) has more than \(limit), which is the limit.")
            }
            spool.write(piece)
        }
        return try spool.pieces()
    }

    private func next() throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: Self.pieceByteCount)
        var count: Int
        repeat { count = read(self.descriptor, &bytes, bytes.count) } while count < 0 && errno == EINTR
        guard count >= 0 else {
            let failure = self.unreadable()
            self.readFailure.withLockedValue { $0 = failure }
            throw failure
        }
        return count == 0 ? nil : Array(bytes.prefix(count))
    }

    private func unreadable() -> CommandFailure {
        CommandFailure(
            .failure,
            "The file \(self.path) cannot be read: \(SystemText.ofErrno()). Check the path and the permissions."
        )
    }
}
