internal import Foundation

/// A pipe from a thread that reads one state of the store to a task that may take its time.
///
/// The thread is not kept waiting, because SQLite keeps for it what everyone else has overwritten, and others wait for
/// its connection. Beyond a megabyte, pieces go to a nameless file. Only if there is no room for that does the thread
/// wait.
final class PiecePipe: @unchecked Sendable {
    // Everything below is used under the condition's lock only, and the file also by whoever writes or reads it.
    private let condition = NSCondition()
    private let directory: String
    /// The next pieces.
    private var pieces: [[UInt8]] = []
    private var byteCount = 0
    /// The file, and how far it is written and read; what it holds comes behind the pieces.
    private var file: Int32 = -1
    private var (writtenCount, readCount): (off_t, off_t) = (0, 0)
    private var isFinished = false
    private var isCancelled = false
    private var taker: CheckedContinuation<Void, Never>?

    private static let memoryByteCountMax = 1 << 20
    private static let filePieceByteCount = 256 << 10

    /// `directory`: where the nameless file may be.
    init(directory: String) { self.directory = directory }

    deinit { if self.file >= 0 { close(self.file) } }

    /// Puts a piece in.
    func put(_ piece: [UInt8]) throws {
        let rest = try self.isInMemory() ? piece[...] : self.spill(piece)
        if !rest.isEmpty { try self.add(Array(rest)) }
        self.wake()
    }

    /// Tells that there is no more.
    func finish() {
        self.condition.withLock { self.isFinished = true }
        self.wake()
    }

    /// Tells the thread that nobody takes anything any more.
    func cancel() {
        self.condition.withLock {
            self.isCancelled = true
            self.condition.broadcast()
        }
    }

    /// The next piece; nil behind the last.
    func next() async throws -> [UInt8]? {
        while true {
            switch try self.take() {
            case .piece(let piece): return piece
            case .end: return nil
            case .nothing:
                await withCheckedContinuation { continuation in
                    if self.wait(continuation) { continuation.resume() }
                }
            }
        }
    }

    private enum Taken {
        case piece([UInt8])
        case end
        case nothing
    }

    private var isEmpty: Bool { self.pieces.isEmpty && self.readCount == self.writtenCount }

    private func isInMemory() throws -> Bool {
        try self.condition.withLock {
            if self.isCancelled { throw CancellationError() }
            return self.readCount == self.writtenCount && self.byteCount < Self.memoryByteCountMax
        }
    }

    /// Writes what the disk takes to the file; returns the rest.
    private func spill(_ piece: [UInt8]) -> ArraySlice<UInt8> {
        if self.file < 0 {
            self.file = NamelessFile.open(in: self.directory)
        }
        var rest = piece[...]
        while self.file >= 0, !rest.isEmpty {
            let offset = self.condition.withLock { self.writtenCount }
            let count = rest.withUnsafeBytes { pwrite(self.file, $0.baseAddress, $0.count, offset) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            self.condition.withLock { self.writtenCount += off_t(count) }
            rest = rest.dropFirst(count)
        }
        return rest
    }

    /// Adds a piece behind everything, as soon as it can be the next in memory.
    private func add(_ piece: [UInt8]) throws {
        try self.condition.withLock {
            while !self.isEmpty, self.readCount < self.writtenCount || self.byteCount >= Self.memoryByteCountMax {
                if self.isCancelled { throw CancellationError() }
                self.condition.wait()
            }
            self.pieces.append(piece)
            self.byteCount += piece.count
        }
    }

    private func wake() {
        let taker = self.condition.withLock { self.taker.take() }
        taker?.resume()
    }

    private func take() throws -> Taken {
        let range: Range<off_t>? = self.condition.withLock {
            self.pieces.isEmpty && self.readCount < self.writtenCount ? self.readCount..<self.writtenCount : nil
        }
        if let range { return .piece(try self.read(range)) }
        return self.condition.withLock {
            guard !self.pieces.isEmpty else { return self.isFinished && self.isEmpty ? .end : .nothing }
            let piece = self.pieces.removeFirst()
            self.byteCount -= piece.count
            self.condition.signal()
            return .piece(piece)
        }
    }

    /// Reads on in the file.
    private func read(_ range: Range<off_t>) throws -> [UInt8] {
        let wanted = Int(min(range.upperBound - range.lowerBound, off_t(Self.filePieceByteCount)))
        var piece = [UInt8](repeating: 0, count: wanted)
        let count = pread(self.file, &piece, wanted, range.lowerBound)
        guard count > 0 else {
            throw PeerdError(
                .storageFailed,
                "A temporary file in \(self.directory) cannot be read: \(SystemText.ofErrno()).",
                advice: "Check the disk."
            )
        }
        self.condition.withLock {
            self.readCount += off_t(count)
            self.condition.signal()
        }
        return count == wanted ? piece : Array(piece.prefix(count))
    }

    /// Notes who waits; returns true if there is something already.
    private func wait(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        self.condition.withLock {
            if !self.isEmpty || self.isFinished { return true }
            self.taker = continuation
            return false
        }
    }
}
