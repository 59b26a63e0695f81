import Foundation
import Testing

@testable import PeerdKit

/// What one thread puts in comes out in another place, in order, however late.
struct PiecePipeTests {
    private static let pieces = (0..<400).map { number in
        [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1 + number * 61 % 8_000)
    }

    /// Puts all pieces in, on a thread that may wait; those of tasks must not.
    private func put(_ pipe: PiecePipe) -> Putting {
        let (results, result) = AsyncStream<Result<Void, any Error>>.makeStream()
        let thread = Thread {
            defer { pipe.finish() }
            result.yield(Result { for piece in Self.pieces { try pipe.put(piece) } })
            result.finish()
        }
        thread.start()
        return Putting(results: results)
    }

    private struct Putting {
        let results: AsyncStream<Result<Void, any Error>>

        /// Throws what putting threw, once that is over.
        func end() async throws {
            for await result in self.results { try result.get() }
        }
    }

    private func taken(_ pipe: PiecePipe) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try await pipe.next() { bytes += piece }
        return bytes
    }

    @Test func `whoever puts pieces in is done before anybody takes one`() async throws {
        let pipe = PiecePipe(directory: FileManager.default.temporaryDirectory.path)
        try await self.put(pipe).end()
        #expect(try await self.taken(pipe) == Array(Self.pieces.joined()))
    }

    @Test(arguments: 0..<8)
    func `pieces keep their order while they come and go`(number: Int) async throws {
        let pipe = PiecePipe(directory: FileManager.default.temporaryDirectory.path)
        let putting = self.put(pipe)
        #expect(try await self.taken(pipe) == Array(Self.pieces.joined()))
        try await putting.end()
    }

    @Test func `without room for a file, pieces wait`() async throws {
        let pipe = PiecePipe(directory: "/dev/null/nowhere")
        let putting = self.put(pipe)
        #expect(try await self.taken(pipe) == Array(Self.pieces.joined()))
        try await putting.end()
    }

    @Test func `whoever waits for room hears that nobody takes anything any more`() async throws {
        let pipe = PiecePipe(directory: "/dev/null/nowhere")
        let putting = self.put(pipe)
        _ = try await pipe.next()
        pipe.cancel()
        await #expect(throws: CancellationError.self) { try await putting.end() }
    }
}
