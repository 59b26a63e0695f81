import Foundation
import NIOCore
import Testing

@testable import FileServing
@testable import LocalAPI

/// What is sent of a file is of the state that the answer names.
final class SegmentTests {
    private let folder = NSTemporaryDirectory() + "/peerd-segments-\(UUID().uuidString)"

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }

    private func write(_ text: String, to name: String) throws {
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: self.folder + "/" + name))
    }

    private func file(_ name: String) throws -> OpenFile {
        let path = try FilePath(components: [Array(name.utf8)])
        guard case .file(let file) = try FileTree(path: self.folder).open(path) else { throw FileTreeError.isFolder }
        return file
    }

    @Test func `a file that is changed in place is sent no further`() throws {
        try self.write("hello", to: "a")
        let file = try self.file("a")
        let handle = try #require(FileHandle(forWritingAtPath: self.folder + "/a"))
        try handle.write(contentsOf: Data("HELLO, WORLD".utf8))
        try handle.close()
        #expect(throws: FileTreeError.changed) { try file.content(0..<5) }
        let segments: [Response.Segment] = [.file(file, 0..<5)]
        #expect(throws: FileTreeError.changed) { try segments.withFirstBytesRead() }
    }

    @Test func `the first bytes of an answer are read, and the rest is left`() throws {
        let count = Int(SegmentSender.pieceByteCount)
        let content = (0..<(2 * count)).map { UInt8(truncatingIfNeeded: $0 / 251) }
        try self.write(String(decoding: content.map { $0 & 0x7F }, as: UTF8.self), to: "a")
        let file = try self.file("a")
        for (start, end) in [(0, 10), (5, count - 7), (5, count + 5), (0, count), (3, 2 * count)] {
            let parts: [Response.Segment] = [
                .bytes(ByteBuffer(string: "<")), .file(file, UInt64(start)..<UInt64(end)),
                .bytes(ByteBuffer(string: ">")),
            ]
            let read = try parts.withFirstBytesRead()
            #expect(Response.Body.segments(read).byteCount == UInt64(end - start + 2))
            var found: [UInt8] = []
            for (place, part) in read.enumerated() {
                switch part {
                case .bytes(let bytes):
                    if place == 0 { #expect(bytes.readableBytes == min(count, end - start + 2)) }
                    found += bytes.readableBytesView
                case .file(let file, let range):
                    #expect(place == 1)
                    found += try file.content(range).readableBytesView
                }
            }
            #expect(found == Array("<".utf8) + content[start..<end].map { $0 & 0x7F } + Array(">".utf8))
        }
    }
}
