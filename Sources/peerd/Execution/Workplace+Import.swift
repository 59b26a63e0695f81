internal import Foundation
internal import LocalAPI
internal import NIOConcurrencyHelpers
internal import PeerdKit
internal import Persistence

extension Workplace {
    /// Takes in the objects of a file.
    func importObjects(from file: ImportSource) async throws {
        var request = APIRequest(.post, "api", "import", query: try await self.branchQuery)
        request.body = .pieces(file.next)
        let report: ImportAnswer
        do {
            report = try await self.work(request)
        } catch {
            throw file.failure ?? error
        }
        for note in report.notes { try self.output.note(note) }
        let count = PlainText.count(report.objects, "object")
        try self.output.show(report, "imported \(count); \"peerd undo\" takes that back")
    }
}

/// A file to import, or standard input.
///
/// What another program still writes is copied first: a daemon does not wait for that. Devices are refused, since they
/// need not end, and named pipes, since nobody need ever write to them.
final class ImportSource: Sendable {
    private let path: String
    /// Nil for standard input, and for a copy.
    private let file: RegularFile?
    private let descriptor: Int32
    private let readFailure = NIOLockedValueBox<CommandFailure?>(nil)

    private static let pieceByteCount = 256 << 10

    /// Opens a file of at most `byteCountMax` bytes; a copy of it is a temporary file in `directory`.
    init(
        path: String,
        keptIn directory: String,
        upTo byteCountMax: Int = APILimits.importByteCountMax
    ) throws(CommandFailure) {
        self.path = path
        let source: Int32
        var pipe: Int32?
        defer { if let pipe { close(pipe) } }
        do throws(RegularFile.Failure) {
            guard path != "-" else { throw .notRegular("standard input") }
            let file = try RegularFile(path, followsLinks: true)
            source = file.descriptor
            self.file = consume file
        } catch {
            guard case .notRegular = error else { throw CommandFailure(.failure, error.sentence(path)) }
            if path != "-" { pipe = try Self.pipe(path) }
            source = pipe ?? 0
            self.file = nil
        }
        var status = stat()
        guard fstat(source, &status) == 0 else { throw Self.unreadable(path) }
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            guard status.st_size <= byteCountMax else { throw Self.tooLong(path, byteCountMax) }
            self.descriptor = source
        case S_IFIFO, S_IFSOCK: self.descriptor = try Self.copy(source, path, to: directory, upTo: byteCountMax)
        case S_IFCHR where isatty(source) == 1:
            self.descriptor = try Self.copy(source, path, to: directory, upTo: byteCountMax)
        default:
            throw CommandFailure(.failure, "\(path) is a device or a folder; name a file, or - for standard input.")
        }
    }

    deinit { if self.file == nil, self.descriptor > 0 { close(self.descriptor) } }

    /// Opens a pipe that another program has, such as /dev/stdin, or a terminal.
    private static func pipe(_ path: String) throws(CommandFailure) -> Int32 {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw self.unreadable(path) }
        var status = stat()
        var name = [CChar](repeating: 0, count: Self.pipeName.count)
        let isPipe = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
        let isNameless =
            readlink("/proc/self/fd/\(descriptor)", &name, name.count) == name.count && name == Self.pipeName
        guard isNameless || !isPipe else {
            close(descriptor)
            throw CommandFailure(
                .failure,
                "\(path) is a named pipe, to which nobody need ever write; name a file, or - for standard input."
            )
        }
        // From here on it is waited for.
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
        return descriptor
    }

    /// How the system calls a pipe without a name.
    private static let pipeName = "pipe:[".utf8.map { CChar($0) }

    private static func unreadable(_ path: String) -> CommandFailure {
        CommandFailure(
            .failure,
            "The file \(path) cannot be read: \(SystemText.ofErrno()). Check the path and the permissions."
        )
    }

    private static func tooLong(_ path: String, _ byteCountMax: Int) -> CommandFailure {
        CommandFailure(.failure, "\(path) has more than \(byteCountMax >> 20) MiB, which is the limit.")
    }

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
        guard count >= 0 else { throw self.unreadable(path) }
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
                close(copy)
                throw self.tooLong(path, byteCountMax)
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
