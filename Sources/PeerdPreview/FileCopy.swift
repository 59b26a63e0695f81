internal import CRDTCore
internal import Foundation
internal import PeerdKit
internal import Persistence

/// Copies of files that only the user may read.
enum FileCopy {
    /// The request `FICLONE`: the copy shares the blocks of the original until one of them is written to.
    private static let cloneRequest: UInt = 0x4004_9409
    private static let pieceByteCount = 1 << 20

    /// Copies a file that nobody has open as a database to a path where there is none.
    static func copy(_ source: String, to target: String) throws {
        let file = try RegularFile.open(source, for: .readingUnnoticed)
        let input = file.descriptor
        let output = try self.make(target)
        defer { close(output) }
        if ioctl(output, self.cloneRequest, input) == 0 { return }
        var piece = [UInt8](repeating: 0, count: self.pieceByteCount)
        while true {
            let count = read(input, &piece, piece.count)
            if count == 0 { return }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw PrivateFile.failure(source, "cannot be read") }
            try self.append(piece[..<count], to: output, target)
        }
    }

    /// Copies a database, which this process may have open elsewhere, to a path where there is none.
    static func copyDatabase(_ source: String, to target: String) throws {
        let output = try self.make(target)
        defer { close(output) }
        do {
            let bytes = try DatabaseBytes(source)
            var offset: Int64 = 0
            while case let piece = try bytes.read(self.pieceByteCount, at: offset), !piece.isEmpty {
                try self.append(piece[...], to: output, target)
                offset += Int64(piece.count)
            }
        } catch let error as StoreError {
            throw PeerdError(error)
        }
    }

    /// Writes a small file to a path where there is none.
    static func write(_ content: [UInt8], to target: String) throws {
        let output = try self.make(target)
        defer { close(output) }
        try self.append(content[...], to: output, target)
    }

    private static func make(_ path: String) throws -> Int32 {
        let descriptor = Foundation.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, PrivateFile.fileMode)
        guard descriptor >= 0 else { throw self.failure(path) }
        return descriptor
    }

    private static func append(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, _ path: String) throws {
        guard bytes.withUnsafeBytes({ OpenFile.write($0, to: descriptor) }) else { throw self.failure(path) }
    }

    /// The error of a copy that cannot be written.
    static func failure(_ path: String) -> PeerdError {
        guard [ENOSPC, EDQUOT].contains(errno) else { return PrivateFile.failure(path, "cannot be written") }
        return ScratchDirectory.isFull
    }
}
