import LocalAPI
import NIOHTTP1
import Testing

/// What is made of the target of a request.
@Suite struct RequestHeadTests {
    private func head(_ target: String) throws -> RequestHead {
        try RequestHead(method: .GET, target: target, headers: [:], entryPoint: .socket)
    }

    @Test func `paths are divided before they are decoded`() throws {
        #expect(try self.head("/").path == [""])
        #expect(try self.head("/api/objects").path == ["api", "objects"])
        #expect(try self.head("/api/file/a%2Fb/c%20d%C3%A9").path == ["api", "file", "a/b", "c dé"])
        #expect(try self.head("/a//b/").path == ["a", "", "b", ""])
        #expect(try self.head("/a+b").path == ["a+b"])
        #expect(try self.head("/a?b/c?d").path == ["a"])
    }

    @Test(arguments: ["", "*", "http://127.0.0.1/x", "x", "/%", "/%2", "/%zz", "/%ff", "/a?%", "/a?b=%c0"])
    func `what is no path is refused`(target: String) {
        #expect(throws: Problem.self) { try self.head(target) }
    }

    @Test func `targets that are too long are refused`() throws {
        let longest = "/" + String(repeating: "a", count: (16 << 10) - 1)
        #expect(try self.head(longest).path.count == 1)
        #expect(throws: Problem.self) { try self.head(longest + "a") }
    }

    @Test func `parameters are decoded, and may be repeated where that means something`() throws {
        let query = try self.head("/a?type=to+do%21&property=x&property=y&empty=&flag&n=7").query
        #expect(try query.one("type") == "to do!")
        #expect(query.all("property") == ["x", "y"])
        #expect(try query.one("empty")?.isEmpty == true && query.one("flag")?.isEmpty == true)
        #expect(try query.one("missing") == nil)
        #expect(throws: Problem.self) { try query.one("property") }
        #expect(try query.number("n", in: 1...7) == 7)
        #expect(throws: Problem.self) { try query.number("n", in: 1...6) }
        #expect(throws: Problem.self) { try query.number("type", in: 1...6) }
    }
}
