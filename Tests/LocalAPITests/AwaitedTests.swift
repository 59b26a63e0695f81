import Testing

@testable import LocalAPI

/// Tasks that wait for each other by a state.
@Suite struct AwaitedTests {
    @Test func `two that wait for different things wake each other and nobody is forgotten`() async {
        let count = Awaited(0)
        let steps = 1_000
        await withTaskGroup(of: Void.self) { group in
            for parity in 0..<2 {
                group.addTask {
                    for _ in 0..<steps {
                        await count.wait { count in
                            guard count % 2 == parity else { return nil as Void? }
                            count += 1
                            return ()
                        }
                    }
                }
            }
        }
        #expect(count.current == 2 * steps)
    }

    @Test func `a channel hands over each piece, then its end, and lets a writer go whom nobody reads`() async throws {
        let channel = PieceChannel()
        async let written: Void = {
            for byte in UInt8(0)..<100 { try await channel.write([byte]) }
            channel.finish(nil)
        }()
        var read: [UInt8] = []
        while let piece = try await channel.next() { read += piece }
        try await written
        #expect(read == Array(0..<100))
        try await channel.write([1])
        let refused = Task { try await channel.write([2]) }
        channel.abandon()
        await #expect(throws: CancellationError.self) { try await refused.value }
    }

    @Test func `credit is used up, and its end is noticed`() async {
        let credit = Credit(1)
        #expect(await credit.use())
        async let more = credit.use()
        credit.add(1)
        #expect(await more)
        async let none = credit.use()
        async let ended: Void = credit.waitForEnd()
        credit.end()
        #expect(await !none)
        await ended
        #expect(await !credit.use())
    }
}
