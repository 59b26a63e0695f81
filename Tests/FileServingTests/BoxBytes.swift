@testable import FileServing

/// Makes boxes of movie files.
enum BoxBytes {
    static func box(_ type: String, _ content: [UInt8]...) -> [UInt8] {
        let content = content.flatMap { $0 }
        return UInt32(8 + content.count).bigEndianBytes + type.utf8 + content
    }

    /// With a length of 64 bits.
    static func longBox(_ type: String, _ content: [UInt8]...) -> [UInt8] {
        let content = content.flatMap { $0 }
        return UInt32(1).bigEndianBytes + type.utf8 + UInt64(16 + content.count).bigEndianBytes + content
    }

    static func uuid(_ name: [UInt8], _ content: [UInt8] = []) -> [UInt8] { self.box("uuid", name, content) }

    static let fileType = BoxBytes.box("ftyp", Array("M4A \0\0\0\0M4A mp42".utf8))

    static func stco(_ offsets: [UInt64]) -> [UInt8] {
        let entries = offsets.flatMap { UInt32($0).bigEndianBytes }
        return self.box("stco", [0, 0, 0, 0], UInt32(offsets.count).bigEndianBytes, entries)
    }

    static func co64(_ offsets: [UInt64]) -> [UInt8] {
        self.box("co64", [0, 0, 0, 0], UInt32(offsets.count).bigEndianBytes, offsets.flatMap(\.bigEndianBytes))
    }

    static func dref(selfContained: Bool = true) -> [UInt8] {
        self.box("dref", [0, 0, 0, 0, 0, 0, 0, 1], self.box("url ", [0, 0, 0, selfContained ? 1 : 0]))
    }

    static func track(_ table: [UInt8], dref: [UInt8] = BoxBytes.dref(), long: Bool = false) -> [UInt8] {
        let make: (String, [UInt8]...) -> [UInt8] = { type, contents in
            long ? self.longBox(type, contents.flatMap { $0 }) : self.box(type, contents.flatMap { $0 })
        }
        let samples = make("stbl", self.box("stsd", [1, 2, 3]), table, self.box("stsz", [4]))
        let media = make("minf", self.box("smhd", [5]), self.box("dinf", dref), samples)
        return make("trak", self.box("tkhd", [6, 7]), make("mdia", self.box("mdhd"), media, self.box("free")))
    }

    static func movie(_ tracks: [[UInt8]], extra: [UInt8] = []) -> [UInt8] {
        self.box("moov", self.box("mvhd", [8, 9]), tracks.flatMap { $0 }, extra)
    }
}

/// A file in memory, most of which may be zeros that take no room.
struct SparseBytes: RandomAccessBytes {
    var length: UInt64
    var pieces: [(start: UInt64, bytes: [UInt8])]

    init(_ bytes: [UInt8]) {
        self.length = UInt64(bytes.count)
        self.pieces = [(0, bytes)]
    }

    init(length: UInt64, _ pieces: [(UInt64, [UInt8])]) {
        self.length = length
        self.pieces = pieces.map { (start: $0.0, bytes: $0.1) }
    }

    func read(_ count: Int, at offset: UInt64) throws(Never) -> [UInt8] {
        guard offset < self.length else { return [] }
        var bytes = [UInt8](repeating: 0, count: min(count, Int(clamping: self.length - offset)))
        for piece in self.pieces {
            let end = min(piece.start + UInt64(piece.bytes.count), offset + UInt64(bytes.count))
            let start = max(piece.start, offset)
            guard start < end else { continue }
            let found = piece.bytes[Int(start - piece.start)..<Int(end - piece.start)]
            bytes.replaceSubrange(Int(start - offset)..<Int(end - offset), with: found)
        }
        return bytes
    }
}

/// A virtual file and the real one behind it.
struct ServedBytes: RandomAccessBytes {
    var file: VirtualFile
    var source: SparseBytes

    var length: UInt64 { self.file.length }

    func read(_ count: Int, at offset: UInt64) throws(Never) -> [UInt8] {
        guard offset < self.length else { return [] }
        var bytes: [UInt8] = []
        for segment in self.file.segments(in: offset..<(offset + min(UInt64(count), self.length - offset))) {
            switch segment {
            case .memory(let memory): bytes += memory
            case .file(let range):
                bytes += self.source.read(Int(range.upperBound - range.lowerBound), at: range.lowerBound)
            }
        }
        return bytes
    }
}

/// A second, simple reader of movie files, to compare with.
enum NaiveMovie {
    /// The types and lengths of the boxes beside each other.
    static func boxes(_ bytes: some RandomAccessBytes) throws -> [(
        type: String, start: UInt64, end: UInt64, content: UInt64
    )] {
        var found: [(type: String, start: UInt64, end: UInt64, content: UInt64)] = []
        var place: UInt64 = 0
        while place + 8 <= bytes.length {
            let header = try bytes.read(16, at: place)
            var length = self.number(header[0..<4])
            var content = place + 8
            if length == 1 {
                length = self.number(header[8..<16])
                content += 8
            }
            if length == 0 { length = bytes.length - place }
            found.append((String(decoding: header[4..<8], as: UTF8.self), place, place + length, content))
            place += length
        }
        return found
    }

    struct NoMovie: Error {}

    /// The chunk offsets of each track, in order.
    static func offsets(_ file: some RandomAccessBytes) throws -> [[UInt64]] {
        guard let movie = try self.boxes(file).first(where: { $0.type == "moov" }) else { throw NoMovie() }
        let bytes = try file.read(Int(movie.end - movie.start), at: movie.start)
        return self.tables(bytes[Int(movie.content - movie.start)...])
    }

    /// The bytes at the beginning of each chunk.
    static func chunks(_ file: some RandomAccessBytes, byteCount: Int = 16) throws -> [[[UInt8]]] {
        try self.offsets(file).map { try $0.map { try file.read(byteCount, at: $0) } }
    }

    private static func tables(_ bytes: ArraySlice<UInt8>) -> [[UInt64]] {
        var found: [[UInt64]] = []
        var rest = bytes
        while rest.count >= 8 {
            let start = rest.startIndex
            var length = Int(self.number(rest[start..<(start + 4)]))
            var content = start + 8
            if length == 1 {
                length = Int(self.number(rest[(start + 8)..<(start + 16)]))
                content += 8
            }
            let type = String(decoding: rest[(start + 4)..<(start + 8)], as: UTF8.self)
            if ["trak", "mdia", "minf", "stbl"].contains(type) {
                found += self.tables(rest[content..<(start + length)])
            }
            if type == "stco" || type == "co64" {
                let width = type == "stco" ? 4 : 8
                let entries = stride(from: content + 8, to: start + length, by: width)
                found.append(entries.map { self.number(rest[$0..<($0 + width)]) })
            }
            rest = rest[(start + length)...]
        }
        return found
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
