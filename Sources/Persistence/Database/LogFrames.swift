import CRDTCore
import Glibc

/// The frames of a write-ahead log as they lie in its file.
///
/// Their form is in https://www.sqlite.org/fileformat2.html#walformat. The log has no locks, so it may be opened, also
/// while SQLite has the database.
struct LogFrames: ~Copyable {
    let pageByteCount: Int
    private let path: String
    private let file: RegularFile
    /// The salts of all frames; nil if the header does not hold what was written.
    private let salts: UInt64?
    private let isBigEndian: Bool
    private let frameCount: Int
    /// The sum of the header, or of the frame that was read before.
    private var sum: Sum
    /// The frame that was read last: header and page.
    private var bytes: [UInt8]

    private static let headerByteCount = 32
    private static let frameHeaderByteCount = 24
    private static let magic: UInt32 = 0x377f_0682
    private static let version: UInt32 = 3_007_000

    /// The sum of all that was written before and with a frame, as the log holds it or as it should be.
    private struct Sum: Equatable {
        var first: UInt32 = 0
        var second: UInt32 = 0

        /// Takes in bytes, whose number is a multiple of 8.
        mutating func add(_ bytes: UnsafeRawBufferPointer, isBigEndian: Bool) {
            for offset in stride(from: 0, to: bytes.count, by: 8) {
                let left = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                let right = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                self.first &+= (isBigEndian ? UInt32(bigEndian: left) : UInt32(littleEndian: left)) &+ self.second
                self.second &+= (isBigEndian ? UInt32(bigEndian: right) : UInt32(littleEndian: right)) &+ self.first
            }
        }
    }

    /// Reads the header; the database says how long a page is.
    init(_ path: String, pageByteCount: Int) throws(StoreError) {
        let isPage = (512...1 << 16).contains(pageByteCount) && pageByteCount & (pageByteCount - 1) == 0
        self.path = path
        self.pageByteCount = isPage ? pageByteCount : 4096
        let file = try Self.open(path)
        let header = try Self.header(of: file, path)
        let frameByteCount = Self.frameHeaderByteCount + self.pageByteCount
        self.frameCount = max(0, file.byteCount - Self.headerByteCount) / frameByteCount
        self.bytes = [UInt8](repeating: 0, count: frameByteCount)
        let magic = Self.number(header, 0)
        let isBigEndian = magic & 1 != 0
        self.isBigEndian = isBigEndian
        var sum = Sum()
        header.withUnsafeBytes { sum.add(UnsafeRawBufferPointer(rebasing: $0[..<24]), isBigEndian: isBigEndian) }
        self.sum = Sum(first: Self.number(header, 24), second: Self.number(header, 28))
        let isOfLog = magic & ~1 == Self.magic && Self.number(header, 4) == Self.version
        let isWhole = isOfLog && Self.number(header, 8) == self.pageByteCount && sum == self.sum
        self.file = file
        self.salts = isWhole ? UInt64(Self.number(header, 16)) << 32 | UInt64(Self.number(header, 20)) : nil
    }

    private static func header(of file: borrowing RegularFile, _ path: String) throws(StoreError) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: self.headerByteCount)
        let descriptor = file.descriptor
        let count = header.withUnsafeMutableBytes { OpenFile.read(descriptor, at: 0, into: $0) }
        guard count >= 0 else { throw .inputOutput("\(path) cannot be read: \(SystemError.text(errno)).") }
        return header
    }

    private static func open(_ path: String) throws(StoreError) -> RegularFile {
        do throws(RegularFile.Failure) {
            return try RegularFile(path)
        } catch {
            throw StoreError(error, path)
        }
    }

    /// The page of the frame that was read last.
    var page: ArraySlice<UInt8> { self.bytes[Self.frameHeaderByteCount...] }

    /// The first bad frame, 0 for the header, and the last one behind it that continues a commit; nil if there are no
    /// such frames.
    mutating func damage() throws(StoreError) -> (frame: Int, lastFrame: Int)? {
        var bad: Int? = self.salts == nil ? 0 : nil
        var last: Int?
        /// The commit that the frames before this one end with, or go on from.
        var commit: UInt64?
        for frame in 1..<self.frameCount + 1 {
            let former = self.currentSalts
            let isLinked = try self.read(frame)
            if bad == nil {
                guard !isLinked else { continue }
                bad = frame
            }
            // Without a header, frames that follow one another with the same salts are of one log.
            let isOfLog = self.currentSalts == self.salts ?? (frame == 1 ? self.currentSalts : former)
            if !isLinked || !isOfLog { commit = nil }
            // On a disk that may spoil what lies beside a write, SQLite fills the sector with copies of a commit's end.
            if commit != nil, commit != self.commit { last = frame }
            if isOfLog, let own = self.commit { commit = own }
        }
        return bad.flatMap { bad in last.map { (bad, $0) } }
    }

    /// The last frame of each page.
    mutating func lastFrames(through lastFrame: Int) throws(StoreError) -> [UInt32: Int] {
        var frames: [UInt32: Int] = [:]
        for frame in 1..<lastFrame + 1 {
            try self.load(frame)
            let page = Self.number(self.bytes, 0)
            if page > 0 { frames[page] = frame }
        }
        return frames
    }

    /// Reads a frame; returns whether it continues the one before, as that lies in the log.
    mutating func readLinked(_ frame: Int) throws(StoreError) -> Bool {
        if frame > 1 {
            try self.load(frame - 1)
            self.sum = self.storedSum
        }
        return try self.read(frame)
    }

    /// Reads the frame behind the one that was read before; returns whether it continues that.
    private mutating func read(_ frame: Int) throws(StoreError) -> Bool {
        try self.load(frame)
        var sum = self.sum
        let isBigEndian = self.isBigEndian
        self.bytes.withUnsafeBytes { bytes in
            sum.add(UnsafeRawBufferPointer(rebasing: bytes[..<8]), isBigEndian: isBigEndian)
            let page = UnsafeRawBufferPointer(rebasing: bytes[Self.frameHeaderByteCount...])
            sum.add(page, isBigEndian: isBigEndian)
        }
        self.sum = self.storedSum
        return sum == self.sum && Self.number(self.bytes, 0) > 0
            && (self.salts.map { $0 == self.currentSalts } ?? true)
    }

    private mutating func load(_ frame: Int) throws(StoreError) {
        let offset = Self.headerByteCount + (frame - 1) * self.bytes.count
        let descriptor = self.file.descriptor
        let count = self.bytes.withUnsafeMutableBytes { OpenFile.read(descriptor, at: offset, into: $0) }
        guard count == self.bytes.count else {
            let reason = count < 0 ? SystemError.text(errno) : "it has become shorter"
            throw .inputOutput("\(self.path) cannot be read: \(reason).")
        }
    }

    private var currentSalts: UInt64 { UInt64(Self.number(self.bytes, 8)) << 32 | UInt64(Self.number(self.bytes, 12)) }
    private var storedSum: Sum { Sum(first: Self.number(self.bytes, 16), second: Self.number(self.bytes, 20)) }

    /// The page of a commit, and the number of pages of the database after it; nil if the frame ends none.
    private var commit: UInt64? {
        let pageCount = Self.number(self.bytes, 4)
        return pageCount == 0 ? nil : UInt64(Self.number(self.bytes, 0)) << 32 | UInt64(pageCount)
    }

    private static func number(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
