import Foundation
import Logging
import NIOConcurrencyHelpers
import PeerdKit
import Testing

@testable import peerd

@Suite struct ControlSocketTests {
    /// Answers with what it was asked.
    private struct Echo: RequestPerformer {
        func perform(_ request: Request, output: CommandOutput) async throws -> Completion {
            switch request {
            case .get(let object, _):
                try await output.line(object)
                return Completion(objectCount: 7)
            case .export:
                for number in 0..<20_000 { try await output.line("line \(number) ä") }
                return Completion()
            default:
                try await output.line("before")
                throw CommandFailure(.noSuchObject, "no such thing")
            }
        }
    }

    /// Collects what a command would print.
    private final class Printed: Sendable {
        let bytes = NIOLockedValueBox<[UInt8]>([])

        func output() -> CommandOutput {
            CommandOutput(format: OutputFormat(isJSON: false)) { piece in
                if case .data(let data) = piece { self.bytes.withLockedValue { $0 += data } }
            }
        }

        var text: String { self.bytes.withLockedValue { String(decoding: $0, as: UTF8.self) } }
    }

    private func withServer(in directory: String, _ body: (DirectoryPaths) async throws -> Void) async throws {
        let paths = DirectoryPaths(directory: directory)
        let server = try ControlServer(paths: paths, performer: Echo(), logger: Logger(label: "test"))
        server.start()
        do {
            try await body(paths)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
        #expect(PrivateFile.mode(of: paths.socket) == nil, "the socket is left behind")
    }

    @Test func `requests are answered one after the other, with output, count and failure`() async throws {
        try await TemporaryDirectory.with { directory in
            try await self.withServer(in: directory) { paths in
                #expect(PrivateFile.mode(of: paths.socket) == 0o600)
                var client = try #require(try ControlClient(paths: paths))
                let printed = Printed()
                let completion = try await client.perform(.get(object: "x", name: nil), output: printed.output())
                #expect(completion.objectCount == 7)
                await #expect {
                    _ = try await client.perform(.status, output: printed.output())
                } throws: {
                    $0 as? CommandFailure == CommandFailure(.noSuchObject, "no such thing")
                }
                _ = try await client.perform(.get(object: "y", name: nil), output: printed.output())
                #expect(printed.text == "x\nbefore\ny\n")
            }
        }
    }

    @Test func `long output arrives whole`() async throws {
        try await TemporaryDirectory.with { directory in
            try await self.withServer(in: directory) { paths in
                var client = try #require(try ControlClient(paths: paths))
                let printed = Printed()
                _ = try await client.perform(.export(object: nil), output: printed.output())
                #expect(printed.text == (0..<20_000).map { "line \($0) ä\n" }.joined())
            }
        }
    }

    @Test func `a socket that nobody serves is nobody, and is replaced`() async throws {
        try await TemporaryDirectory.with { directory in
            let paths = DirectoryPaths(directory: directory)
            let before = try ControlClient(paths: paths)
            #expect(before == nil)
            let dead = try LocalSocketAddress.open(paths.socket) { bind($0, $1, $2) }
            close(dead)
            #expect(PrivateFile.mode(of: paths.socket) != nil)
            let after = try ControlClient(paths: paths)
            #expect(after == nil)
            try await self.withServer(in: directory) { paths in
                let client = try ControlClient(paths: paths)
                #expect(client != nil)
            }
        }
    }

    @Test func `a path too long for a socket address works all the same`() async throws {
        try await TemporaryDirectory.with { directory in
            let long = directory + "/" + String(repeating: "d", count: 100)
            try PrivateFile.makeDirectory(long)
            try await self.withServer(in: long) { paths in
                var client = try #require(try ControlClient(paths: paths))
                let printed = Printed()
                _ = try await client.perform(.get(object: "x", name: nil), output: printed.output())
                #expect(printed.text == "x\n")
            }
        }
    }

    @Test(arguments: [
        ("{\"version\":99}\n", "another version"),
        ("nonsense\n", "did not understand"),
    ])
    func `what is not understood is answered with a failure`(line: String, sentence: String) async throws {
        try await TemporaryDirectory.with { directory in
            try await self.withServer(in: directory) { paths in
                let socket = LocalSocket(descriptor: try LocalSocketAddress.open(paths.socket) { connect($0, $1, $2) })
                try await socket.write(Array(line.utf8))
                var reader = LineReader(byteCountMax: ControlCodec.replyByteCountMax)
                reader.append(try await socket.read())
                let reply = try ControlCodec.value(Reply.self, from: try #require(try reader.next()))
                guard case .failed(let failure) = reply else {
                    Issue.record("\(reply)")
                    return
                }
                #expect(failure.status == .busy)
                #expect(failure.message.contains(sentence))
            }
        }
    }
}
