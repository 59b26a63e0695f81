import Foundation
import Testing

@testable import FileServing

/// The program `ffmpeg`.
enum FFmpeg {
    static let path: String? = (ProcessInfo.processInfo.environment["PATH"] ?? "")
        .split(separator: ":").map { $0 + "/ffmpeg" }.first { FileManager.default.isExecutableFile(atPath: $0) }

    struct Failure: Error {
        var text: String
    }

    /// Runs it and returns what it prints.
    @discardableResult
    static func run(_ arguments: [String]) throws -> Data {
        guard let path = self.path else { throw Failure(text: "ffmpeg is not installed") }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["-nostdin", "-v", "error"] + arguments
        let output = Pipe()
        let errors = Pipe()
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        guard process.terminationStatus == 0, text.isEmpty else { throw Failure(text: text) }
        return data
    }
}

/// Files of a real encoder, decoded by a real decoder.
@Suite(.enabled(if: FFmpeg.path != nil, "ffmpeg is not installed"))
struct MovieDecodingTests {
    private let folder: TestFolder

    init() throws { self.folder = try TestFolder() }

    private static let sine = ["-f", "lavfi", "-i", "sine=frequency=440:duration=3"]
    private static let stereo = ["-f", "lavfi", "-i", "sine=frequency=660:duration=3"]
    private static let picture = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=10:duration=3"]
    private static let exact = ["-fflags", "+bitexact", "-flags", "+bitexact", "-map_metadata", "-1"]

    private static let samples: [(name: String, arguments: [String])] = [
        ("sound.m4a", Self.sine + ["-c:a", "aac"]),
        ("sound.m4b", Self.sine + ["-c:a", "aac", "-metadata", "title=A title", "-f", "ipod"]),
        ("sound.mov", Self.sine + ["-c:a", "pcm_s16le"]),
        ("sound.mp4", Self.sine + ["-c:a", "aac"]),
        ("picture.mp4", Self.picture + Self.sine + ["-c:v", "mpeg4", "-c:a", "aac", "-shortest"]),
        ("picture.mov", Self.picture + Self.sine + ["-c:v", "mpeg4", "-c:a", "pcm_s16le"]),
        (
            "tracks.mp4",
            Self.picture + Self.sine + Self.stereo
                + ["-map", "0", "-map", "1", "-map", "2", "-c:v", "mpeg4", "-c:a", "aac", "-bf", "2"]
        ),
    ]

    private func encode(_ name: String, _ arguments: [String]) throws -> [UInt8] {
        let path = self.folder.root + "/" + name
        try FFmpeg.run(arguments + Self.exact + ["-y", path])
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    private static func served(_ bytes: [UInt8]) throws -> [UInt8] {
        let source = SparseBytes(bytes)
        let arrangement = MovieIndex.arrangement(of: source)
        guard case .indexInFront(let file) = arrangement else { throw FFmpeg.Failure(text: "\(arrangement)") }
        return ServedBytes(file: file, source: source).read(Int(file.length), at: 0)
    }

    /// The hash of each decoded frame and sample of all tracks, with its time.
    private func decoded(_ bytes: [UInt8], as name: String) throws -> String {
        let path = self.folder.root + "/decoded-" + name
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let frames = try FFmpeg.run(["-i", path, "-map", "0", "-f", "framemd5", "-"])
        return String(decoding: frames, as: UTF8.self)
    }

    private func sound(_ bytes: [UInt8], as name: String) throws -> Data {
        let path = self.folder.root + "/sound-" + name
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return try FFmpeg.run(["-i", path, "-map", "0:a:0", "-f", "s16le", "-"])
    }

    @Test(arguments: Self.samples.map(\.name))
    func `a file with the index in front decodes to the same`(name: String) throws {
        let arguments = try #require(Self.samples.first { $0.name == name }).arguments
        let bytes = try self.encode(name, arguments)
        let served = try Self.served(bytes)
        #expect(served.count == bytes.count)
        let frames = try self.decoded(bytes, as: name)
        #expect(frames.split(separator: "\n").count > 20)
        #expect(try self.decoded(served, as: "served-" + name) == frames)
        let sound = try self.sound(bytes, as: name)
        #expect(sound.count > 3 * 44_100)
        #expect(try self.sound(served, as: "served-" + name) == sound)
        #expect(MovieIndex.arrangement(of: SparseBytes(served)) == .asIs(.alreadyInFront))
    }

    @Test(arguments: Self.samples.map(\.name))
    func `the encoder itself would put the index in the same place`(name: String) throws {
        let arguments = try #require(Self.samples.first { $0.name == name }).arguments
        let served = try Self.served(try self.encode(name, arguments))
        let fast = try self.encode("fast-" + name, arguments + ["-movflags", "+faststart"])
        #expect(served == fast)
    }

    @Test func `media with a length of 64 bits decode to the same`() throws {
        var bytes = try self.encode("a.m4a", Self.samples[0].arguments)
        // The encoder leaves 8 free bytes before the media, for the long length.
        let boxes = try NaiveMovie.boxes(SparseBytes(bytes))
        let media = try #require(boxes.first { $0.type == "mdat" })
        let free = try #require(boxes.first { $0.end == media.start })
        try #require(free.type == "free" && free.end - free.start == 8)
        let header = UInt32(1).bigEndianBytes + Array("mdat".utf8) + (media.end - free.start).bigEndianBytes
        bytes.replaceSubrange(Int(free.start)..<Int(media.content), with: header)
        let served = try Self.served(bytes)
        #expect(try self.sound(served, as: "served.m4a") == self.sound(bytes, as: "long.m4a"))
    }

    @Test func `media between a movie and its rest decode to the same`() throws {
        // The index stands between the media and other bytes.
        let bytes = try self.encode("a.m4a", Self.samples[0].arguments) + BoxBytes.box("free", [1, 2, 3])
        let served = try Self.served(bytes)
        #expect(try self.sound(served, as: "served.m4a") == self.sound(bytes, as: "free.m4a"))
    }

    @Test func `chapters decode to the same`() throws {
        let chapters =
            ";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1000\ntitle=One\n"
            + "[CHAPTER]\nTIMEBASE=1/1000\nSTART=1000\nEND=3000\ntitle=Two\n"
        try self.folder.write(chapters, to: "chapters.txt")
        let arguments = Self.sine + ["-i", self.folder.root + "/chapters.txt", "-map_chapters", "1", "-c:a", "aac"]
        let path = self.folder.root + "/book.m4b"
        try FFmpeg.run(arguments + ["-f", "mp4", "-y", path])
        let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        // The sound, and the titles as a track of text.
        #expect(try NaiveMovie.offsets(SparseBytes(bytes)).count == 2)
        let served = try Self.served(bytes)
        #expect(try self.sound(served, as: "served.m4b") == self.sound(bytes, as: "book.m4b"))
        #expect(try NaiveMovie.chunks(SparseBytes(served)) == NaiveMovie.chunks(SparseBytes(bytes)))
    }

    @Test func `what the encoder has done itself, or has cut in fragments, is left alone`() throws {
        func reason(_ name: String, _ flags: String) throws -> MovieIndex.Arrangement {
            MovieIndex.arrangement(
                of: SparseBytes(try self.encode(name, Self.samples[0].arguments + ["-movflags", flags]))
            )
        }
        #expect(try reason("a.m4a", "+faststart") == .asIs(.alreadyInFront))
        #expect(try reason("b.m4a", "+frag_keyframe+empty_moov") == .asIs(.fragmented))
        #expect(try reason("c.m4a", "+frag_keyframe+delay_moov") == .asIs(.fragmented))
        #expect(try reason("d.m4a", "+dash") == .asIs(.fragmented))
    }

    @Test func `through the folder of files, the same bytes are served`() throws {
        let bytes = try self.encode("a.m4a", Self.samples[0].arguments)
        let file = try self.folder.tree().file("a.m4a")
        let arrangement = try MovieIndex.arrangement(of: file)
        #expect(arrangement == MovieIndex.arrangement(of: SparseBytes(bytes)))
        let virtual = arrangement.file(ofLength: file.length)
        let tag = try #require(file.version.entityTag)
        #expect(virtual.entityTag(for: tag) != tag)
    }
}
