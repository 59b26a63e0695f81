import PeerCrypto
import Testing

struct EntropyTests {
    @Test func `the stream is ChaCha20's keystream without the part that becomes the next key`() {
        // RFC 8439, appendix A.1, test vector 1: the second half of the first block under a key of zeros.
        let expected = bytes(hex: "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586")
        #expect(Self.stream(seedByte: 0, counts: [32]) == expected)
    }

    @Test func `after 480 bytes the stream goes on under the next key`() {
        // Computed with Python's cryptography package.
        let expected = bytes(hex: "efe153f81d17161784dbafbdad2845b93cdbb2fe6463d2fe162adae0f6e676f0")
        #expect(Self.stream(seedByte: 0, counts: [470, 32])?.suffix(32) == expected[...])
    }

    @Test func `how much is taken at a time does not change the stream`() {
        let whole = Self.stream(seedByte: 5, counts: [2000])
        #expect(Self.stream(seedByte: 5, counts: [Int](repeating: 1, count: 2000)) == whole)
        #expect(Self.stream(seedByte: 5, counts: [0, 7, 500, 3, 990, -1, 500]) == whole)
        #expect(Self.stream(seedByte: 6, counts: [2000]) != whole)
    }

    @Test func `numbers and secrets are taken from the same stream`() throws {
        let whole = try #require(Self.stream(seedByte: 5, counts: [24]))
        guard var stream = Self.begin(seedByte: 5) else { throw SeedRefused() }
        let number = stream.nextUInt64()
        let secret = stream.secret(16).withBytes { Array($0) }
        let expected = whole.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        #expect(number == expected)
        #expect(secret == Array(whole.suffix(16)))
    }

    @Test func `a child stream differs from its parent and from its siblings`() throws {
        guard var stream = Self.begin(seedByte: 5) else { throw SeedRefused() }
        var first = stream.child()
        var second = stream.child()
        let taken = [first.bytes(32), second.bytes(32), stream.bytes(32)]
        #expect(Set(taken).count == 3)
    }

    @Test func `a seed of the wrong length is refused`() {
        for count in [0, 31, 33] {
            let isMade = EntropyStream(seed: SecretBytes([UInt8](repeating: 0, count: count))) != nil
            #expect(!isMade)
        }
    }

    @Test func `the system gives a different seed each time`() {
        let first = SystemEntropy.seed()
        let areEqual = first.isEqual(to: SystemEntropy.seed())
        #expect(!areEqual)
    }

    private struct SeedRefused: Error {}

    private static func begin(seedByte: UInt8) -> EntropyStream? {
        EntropyStream(seed: SecretBytes([UInt8](repeating: seedByte, count: 32)))
    }

    private static func stream(seedByte: UInt8, counts: [Int]) -> [UInt8]? {
        guard var stream = Self.begin(seedByte: seedByte) else { return nil }
        var taken: [UInt8] = []
        for count in counts { taken += stream.bytes(count) }
        return taken
    }
}
