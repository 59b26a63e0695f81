import PeerCrypto
import Testing

struct RecoveryKeyTests {
    private static func words(of bits: [UInt8]) throws -> String {
        guard let key = RecoveryKey(bits: SecretBytes(bits)) else { throw KeyRefused() }
        return key.words()
    }

    private static func publicKey(of words: String) throws(RecoveryWordsError) -> [UInt8] {
        try RecoveryKey(words: words).rootKey().publicKey.bytes
    }

    private struct KeyRefused: Error {}

    @Test func `the words of the list are told apart by their first four letters`() throws {
        // Eleven bits after the other are the numbers of the words: here 0, 1, 2 and so on up to 10, and 7 bits more.
        var bits = [UInt8](repeating: 0, count: 16)
        for word in 0..<11 {
            for bit in 0..<11 where word >> (10 - bit) & 1 == 1 {
                bits[(word * 11 + bit) / 8] |= 0x80 >> UInt8((word * 11 + bit) % 8)
            }
        }
        let words = try Self.words(of: bits).split(separator: " ")
        #expect(words.count == RecoveryKey.wordCount)
        // The beginning of the list that BIP-0039 has published.
        let first = "abandon ability able about above absent absorb abstract absurd abuse access"
        #expect(words.prefix(11).joined(separator: " ") == first)
    }

    @Test func `words that are typed give the key that they were shown for`() throws {
        var bits = [UInt8](repeating: 0, count: 16)
        var keys: Set<[UInt8]> = []
        for round in 0..<200 {
            for place in bits.indices { bits[place] = UInt8(truncatingIfNeeded: (round * 31 + place * 17) &* 73) }
            guard let key = RecoveryKey(bits: SecretBytes(bits)) else { throw KeyRefused() }
            let (words, publicKey) = (key.words(), key.rootKey().publicKey.bytes)
            #expect(try Self.publicKey(of: words) == publicKey)
            let short = words.split(separator: " ").map { $0.prefix(4).uppercased() }.joined(separator: ",\n 12. ")
            #expect(try Self.publicKey(of: short) == publicKey)
            keys.insert(publicKey)
        }
        #expect(keys.count == 200)
    }

    @Test func `a word that is missing, unknown, wrong or in another place is found`() throws {
        let words = try Self.words(of: Array(1...16)).split(separator: " ").map(String.init)
        #expect(throws: RecoveryWordsError.wrongCount(12)) {
            try Self.publicKey(of: words.dropLast().joined(separator: " "))
        }
        #expect(throws: RecoveryWordsError.wrongCount(0)) { try Self.publicKey(of: " 1 2 3 ") }
        var unknown = words
        unknown[4] = "xylophones"
        #expect(throws: RecoveryWordsError.unknownWord(5)) { try Self.publicKey(of: unknown.joined(separator: " ")) }
        var foundCount = 0
        for place in words.indices {
            var wrong = words
            wrong[place] = words[place] == "zoo" ? "zone" : "zoo"
            do {
                _ = try Self.publicKey(of: wrong.joined(separator: " "))
            } catch RecoveryWordsError.wrongWord {
                foundCount += 1
            }
        }
        #expect(foundCount == words.count)
        var swapped = words
        swapped.swapAt(0, 7)
        #expect(throws: RecoveryWordsError.wrongWord) { try Self.publicKey(of: swapped.joined(separator: " ")) }
    }

    @Test func `other numbers of bits make no words`() {
        for count in [0, 15, 17, 32] {
            switch RecoveryKey(bits: SecretBytes([UInt8](repeating: 1, count: count))) {
            case .none: break
            case .some: Issue.record("\(count) bytes made a key")
            }
        }
    }
}
