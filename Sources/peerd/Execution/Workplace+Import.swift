internal import Foundation
internal import LocalAPI
internal import NIOConcurrencyHelpers
internal import PeerdKit

extension Workplace {
    /// Takes in the objects of a file.
    func importObjects(from file: ImportSource) async throws {
        var request = APIRequest(.post, "api", "import", query: try self.branchQuery)
        request.body = .pieces(file.next)
        let report: ImportAnswer
        do {
            report = try await self.work(request)
        } catch {
            throw file.failure ?? error
        }
        for note in report.notes { try self.output.note(note) }
        try self.output.show(report, "imported \(PlainText.count(report.objects, "object"))")
    }
}

/// A file to import, or standard input.
///
/// What another program still writes is copied first: a daemon does not wait for that.
final class ImportSource: Sendable {
    private let path: String
    private let descriptor: Int32
    private let readFailure = NIOLockedValueBox<CommandFailure?>(nil)

    private static let pieceByteCount = 256 << 10

    /// Opens a file; a copy of it is a temporary file in `directory`.
    ///
    /// More than `byteCountMax` bytes are not copied, since what another program writes may never end.
    init(path: String, keptIn directory: String, upTo byteCountMax: Int = .max) throws {
        self.path = path
        let source = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        if fstat(source, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
            self.descriptor = source
        } else {
            self.descriptor = try Self.copy(source, path, to: directory, upTo: byteCountMax)
        }
    }

    deinit { if self.descriptor > 0 { close(self.descriptor) } }

    /// Why it could not be read to its end; nil if it could.
    var failure: CommandFailure? { self.readFailure.withLockedValue { $0 } }

    /// Reads the next piece; nil at the end.
    @Sendable func next() throws -> [UInt8]? {
        do {
            return try Self.read(self.descriptor, self.path)
        } catch {
            self.readFailure.withLockedValue { $0 = error }
            throw error
        }
    }

    private static func read(_ descriptor: Int32, _ path: String) throws(CommandFailure) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: self.pieceByteCount)
        var count: Int
        repeat { count = Foundation.read(descriptor, &bytes, bytes.count) } while count < 0 && errno == EINTR
        guard count >= 0 else {
            throw CommandFailure(
                .failure,
                "The file \(path) cannot be read: \(SystemText.ofErrno()). Check the path and the permissions."
            )
        }
        return count == 0 ? nil : Array(bytes.prefix(count))
    }

    /// Copies all of a file to a temporary one; returns that, to be read from its beginning.
    private static func copy(
        _ source: Int32,
        _ path: String,
        to directory: String,
        upTo byteCountMax: Int
    ) throws(CommandFailure) -> Int32 {
        let copy = NamelessFile.open(in: directory)
        var byteCount = 0
        while let piece = try self.read(source, path) {
            byteCount += piece.count
            guard byteCount <= byteCountMax else {
                let limit = "\(byteCountMax >> 20) MiB"
                throw CommandFailure(.failure, "\(path) has more than \(limit), which is the limit.")
            }
            var rest = piece[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(copy, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    let reason = SystemText.ofErrno()
                    throw CommandFailure(.storage, "A temporary file in \(directory) cannot be written: \(reason).")
                }
                rest = rest.dropFirst(count)
            }
        }
        lseek(copy, 0, SEEK_SET)
        return copy
    }
}
