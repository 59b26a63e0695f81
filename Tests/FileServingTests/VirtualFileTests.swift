import Testing

@testable import FileServing

@Suite struct VirtualFileTests {
    private static let file = VirtualFile([
        .file(0..<4), .memory(Array("abc".utf8)[...]), .memory([]), .file(9..<9), .file(10..<12), .memory([0x7A]),
    ])

    /// `0123abc:;z`, where the real file has its place as its bytes.
    private static func text(_ segments: [VirtualFile.Segment]) -> String {
        let bytes = segments.flatMap { segment -> [UInt8] in
            switch segment {
            case .memory(let bytes): Array(bytes)
            case .file(let range): range.map { 0x30 + UInt8($0) }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `each range is the part of the whole`() throws {
        let file = try #require(Self.file)
        let whole = Array("0123abc:;z")
        #expect(file.length == 10)
        for start in 0...12 {
            for end in start...12 {
                let segments = file.segments(in: UInt64(start)..<UInt64(end))
                let expected = start < 10 ? String(whole[start..<min(end, 10)]) : ""
                #expect(Self.text(segments) == expected, "\(start)..<\(end)")
                #expect(segments.allSatisfy { $0.length > 0 })
            }
        }
        #expect(Self.text(file.segments(in: 3 ..< .max)) == "3abc:;z")
    }

    @Test func `a length of more than 64 bits is refused`() {
        #expect(VirtualFile([.file(0 ..< .max), .memory([1])]) == nil)
        #expect(VirtualFile([.file(0 ..< .max)])?.length == .max)
    }

    @Test func `a file that is not rearranged has the tag of the real one`() throws {
        let tag = try #require(EntityTag("1-2"))
        #expect(VirtualFile(wholeFile: 10).entityTag(for: tag) == tag)
        #expect(VirtualFile(wholeFile: 0).entityTag(for: tag) == tag)
        let file = try #require(Self.file)
        let other = try #require(file.entityTag(for: tag))
        #expect(!other.matchesWeakly(tag))
        #expect(!other.isWeak)
        #expect(VirtualFile(wholeFile: 0).segments(in: 0..<10) == [])
    }
}
