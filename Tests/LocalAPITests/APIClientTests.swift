import CRDTCore
import Foundation
import NIOCore
import NIOHTTP1
import PeerdKit
import Testing

@testable import LocalAPI

/// Requests to a daemon over its socket, and to a service in this process.
@Suite struct APIClientTests {
    /// A workspace that is served on its socket.
    private final class Place {
        let directory: String

        init(_ name: String = "") throws {
            self.directory = NSTemporaryDirectory() + "peerd-client-\(UUID().uuidString)" + name
            try PrivateFile.makeDirectory(self.directory)
        }

        deinit { try? FileManager.default.removeItem(atPath: self.directory) }

        var socket: String { self.directory + "/socket" }

        func service() async throws -> APIService {
            let url = URL(fileURLWithPath: self.directory).appendingPathComponent("data")
            let workspace = try await Workspace.create(at: url, name: "laptop")
            let server = ServerDescription(
                version: "0",
                platform: "",
                listen: nil,
                filesDirectory: url.path
            )
            return APIService(workspace, server, access: nil)
        }
    }

    /// Calls `body` with both callers of one service.
    private func withCallers(
        _ place: Place,
        _ body: (any APICaller) async throws -> Void
    ) async throws {
        let service = try await place.service()
        let server = LocalServer(service)
        try await server.serve(socket: try LocalSocketAddress.listen(place.socket))
        do {
            for caller: any APICaller in [ProcessCaller(service), APIClient(path: place.socket)] {
                try await body(caller)
            }
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    private func create(_ caller: any APICaller, _ members: [ExactText: JSON]) async throws -> ReceiptAnswer {
        var request = APIRequest(.post, "api", "objects")
        request.body = .json(.object(members))
        request.wantsReceipt = true
        return try await caller.answer(request)
    }

    private func lines(_ caller: any APICaller, _ request: APIRequest) async throws -> [JSON] {
        var lines: [JSON] = []
        try await caller.lines(request) { lines.append(try JSON.answer($0)) }
        return lines
    }

    @Test func `a write is answered with its receipt, and what is wrong with a problem`() async throws {
        try await self.withCallers(try Place()) { caller in
            let receipt = try await self.create(
                caller,
                ["type": .string("note"), "properties": .object(["n": .int(1)])]
            )
            #expect(receipt.operations == 3 && receipt.replica?.count == 32)
            let id = receipt.id
            await #expect {
                try await caller.send(APIRequest(.get, "api", "objects", id, "properties", "no ä/name"))
            } throws: { error in
                let problem = error as? Problem
                return problem?.code == "no-such-property" && problem?.detail.contains("no ä/name") == true
            }
            await #expect {
                _ = try await self.create(caller, ["type": .string("note"), "parent": .string("abcdef")])
            } throws: {
                ($0 as? Problem)?.code == "no-such-object"
            }
        }
    }

    @Test func `a list comes line by line, and a tree with what draws it`() async throws {
        try await self.withCallers(try Place()) { caller in
            let text = JSON.string(String(repeating: "x", count: 300))
            let top = JSON.string(try await self.create(caller, ["type": .string("list")]).id)
            for number in 0..<700 {
                let properties = JSON.object(["title": .string("n\(number)"), "text": text])
                _ = try await self.create(caller, ["type": .string("n"), "parent": top, "properties": properties])
            }
            var request = APIRequest(.get, "api", "objects", top.text ?? "", "children")
            let all = try await self.lines(caller, request)
            #expect(all.map { $0["properties"]?["title"] } == (0..<700).map { .string("n\($0)") })
            request.query = [("fields", "summary")]
            let summaries = try await self.lines(caller, request)
            #expect(summaries.map { $0["name"] } == all.map { $0["properties"]?["title"] })
            #expect(summaries.allSatisfy { $0["properties"] == nil })
            request = APIRequest(.get, "api", "objects", top.text ?? "", "tree")
            request.query = [("top", "true")]
            let tree = try await self.lines(caller, request)
            #expect(tree.first?["id"] == top && tree.first?["depth"] == .int(0) && tree.count == 701)
            #expect(tree.dropFirst().allSatisfy { $0["depth"] == .int(1) })
            #expect(tree.dropFirst().map { $0["is_last"] == .bool(true) } == (0..<700).map { $0 == 699 })
        }
    }

    @Test func `long work tells its result last, and an import is read as it comes`() async throws {
        try await self.withCallers(try Place()) { caller in
            let pieces = ["[{\"type\":\"t\"}", ",{\"type\":", "\"t\"}]"]
            let source = Pieces(pieces)
            var request = APIRequest(.post, "api", "import")
            request.body = .pieces { await source.next() }
            let report: ImportAnswer = try await caller.work(request) { _ in }
            #expect(report.objects == 2 && report.notes.isEmpty)
            let wrong = Pieces(["[{\"type\":5}]"])
            request.body = .pieces { await wrong.next() }
            await #expect {
                let _: ImportAnswer = try await caller.work(request) { _ in }
            } throws: {
                ($0 as? Problem)?.code == "import-invalid"
            }
        }
    }

    @Test func `a reader that goes away ends the answer`() async throws {
        struct Enough: Error {}
        try await self.withCallers(try Place()) { caller in
            let elements = (0..<3000).map { "{\"type\":\"t\",\"properties\":{\"n\":\($0)}}" }.joined(separator: ",")
            let source = Pieces(["[\(elements)]"])
            var request = APIRequest(.post, "api", "import")
            request.body = .pieces { await source.next() }
            let _: ImportAnswer = try await caller.work(request) { _ in }
            await #expect(throws: Enough.self) {
                try await caller.lines(APIRequest(.get, "api", "log")) { _ in throw Enough() }
            }
        }
    }

    @Test func `a socket that nobody serves is nobody, and is replaced`() async throws {
        let place = try Place()
        #expect(try await APIClient.reach(path: place.socket) == nil)
        close(try LocalSocketAddress.listen(place.socket))
        #expect(PrivateFile.mode(of: place.socket) == 0o600)
        #expect(try await APIClient.reach(path: place.socket) == nil)
        let listener = try LocalSocketAddress.listen(place.socket)
        #expect(try await APIClient.reach(path: place.socket) != nil)
        close(listener)
    }

    @Test func `a path too long for a socket address works all the same`() async throws {
        try await self.withCallers(try Place("/" + String(repeating: "d", count: 100))) { caller in
            let health: HealthAnswer = try await caller.answer(APIRequest(.get, "healthz"))
            #expect(health.status == "ok")
        }
    }

    @Test func `a daemon that takes a request and never answers is not waited for without end`() async throws {
        let place = try Place()
        let listener = try LocalSocketAddress.listen(place.socket)
        defer { close(listener) }
        let client = APIClient(path: place.socket, idleTimeout: .seconds(1))
        await #expect(throws: APIConnectionError.silent(seconds: 1)) {
            try await client.send(APIRequest(.get, "api", "status"))
        }
    }

    @Test func `nothing of a body is sent before the daemon asks for it`() async throws {
        let place = try Place()
        let listener = try LocalSocketAddress.listen(place.socket)
        defer { close(listener) }
        let client = APIClient(path: place.socket, idleTimeout: .milliseconds(200))
        var pieces = APIRequest(.post, "api", "import")
        pieces.body = .pieces { Array("[]".utf8) }
        for request in [
            APIRequest(.post, "api", "objects", body: ["type": .string("note")]), pieces,
            APIRequest(.get, "api", "tree"), APIRequest(.delete, "api", "objects", "abcd"),
        ] {
            await #expect(throws: APIConnectionError.silent(seconds: 0)) { try await client.send(request) }
            let descriptor = accept(listener, nil, nil)
            var (bytes, count) = ([UInt8](repeating: 0, count: 4096), 0)
            while true {
                let more = read(descriptor, &bytes[count], bytes.count - count)
                guard more > 0 else { break }
                count += more
            }
            close(descriptor)
            let text = String(decoding: bytes.prefix(count), as: UTF8.self)
            #expect(text.hasPrefix(request.method.rawValue) && text.contains("Expect: 100-continue\r\n"))
            let parts = text.components(separatedBy: "\r\n\r\n")
            #expect(parts.count == 2 && parts.last == "", "\(text)")
        }
    }

    @Test(arguments: [("", APIConnectionError.notTaken), ("HTTP/1.1 100 Continue\r\n\r\n", .endedEarly)])
    func `a request that was not taken is told from one that was`(
        answer: String,
        error: APIConnectionError
    ) async throws {
        let place = try Place()
        let listener = try LocalSocketAddress.listen(place.socket)
        defer { close(listener) }
        let client = try #require(try await APIClient.reach(path: place.socket))
        // It was reached by a connection that waits to be taken.
        Self.answer(once: answer, to: listener)
        await #expect(throws: error) { try await client.send(APIRequest(.get, "api", "status")) }
    }

    @Test(arguments: [
        ("{\"failed\":{}}\n", APIConnectionError.notUnderstood), ("", .endedEarly),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", .endedEarly),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", .endedEarly),
    ])
    func `what is no whole answer is an error`(answer: String, error: APIConnectionError) async throws {
        let place = try Place()
        let listener = try LocalSocketAddress.listen(place.socket)
        defer { close(listener) }
        Self.answer(once: answer, to: listener)
        await #expect(throws: error) {
            try await APIClient(path: place.socket).send(APIRequest(.get, "api", "status"))
        }
    }

    /// Says something to the next who asks, and hangs up.
    private static func answer(once answer: String, to listener: Int32) {
        let speaker = Thread {
            let descriptor = accept(listener, nil, nil)
            var request = [UInt8](repeating: 0, count: 4096)
            _ = read(descriptor, &request, request.count)
            _ = Array(answer.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            // Closing does not end the connection if another test has just started a process that inherits it.
            shutdown(descriptor, Int32(SHUT_RDWR))
            close(descriptor)
        }
        speaker.start()
    }
}

/// The pieces of a body.
private actor Pieces {
    private var rest: [String]

    init(_ pieces: [String]) { self.rest = pieces.reversed() }

    func next() -> [UInt8]? { self.rest.popLast().map { Array($0.utf8) } }
}

@Suite struct LineReaderTests {
    @Test func `lines come out whole, however they arrive`() throws {
        let text = "first\nsecond\n\nlast"
        for size in 1...text.utf8.count {
            var reader = LineReader(byteCountMax: 100)
            var lines: [String] = []
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                reader.append(rest.prefix(size))
                rest = rest.dropFirst(size)
                while let line = try reader.next() { lines.append(String(decoding: line, as: UTF8.self)) }
            }
            #expect(lines == ["first", "second", ""] && !reader.isEmpty, "pieces of \(size)")
        }
    }

    @Test func `a line beyond the limit is refused before it has ended`() throws {
        var reader = LineReader(byteCountMax: 4)
        reader.append(Array("1234\n".utf8))
        #expect(try reader.next()?.count == 4)
        reader.append(Array("12345".utf8))
        #expect(throws: APIConnectionError.notUnderstood) { try reader.next() }
        var whole = LineReader(byteCountMax: 4)
        whole.append(Array("12345\n".utf8))
        #expect(throws: APIConnectionError.notUnderstood) { try whole.next() }
    }
}

@Suite struct APIRequestTests {
    @Test func `any text can stand in a path and in a query`() throws {
        let texts = ["a b", "ä/ö", "%2F", "a&b=c+d", "?#", "\u{0}\u{1b}", "."]
        for text in texts {
            var request = APIRequest(.get, "api", text)
            request.query = [(text, text), ("x", "y")]
            let head = try RequestHead(method: .GET, target: request.target, headers: [:], entryPoint: .process)
            #expect(head.path == ["api", text])
            #expect(try head.query.one(text) == text)
            #expect(try head.query.one("x") == "y")
        }
    }
}
