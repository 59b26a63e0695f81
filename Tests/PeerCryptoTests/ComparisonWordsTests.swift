import PeerCrypto
import Testing

struct ComparisonWordsTests {
    /// By the Argon2id of Python's `cryptography`: 16 bytes of the 64 bytes from 0 on, as docs/FORMATS.md says.
    @Test func `the words are those that an independent program finds`() {
        #expect(ComparisonWords.text(of: Array(0..<64)) == "art relax paper now")
    }

    @Test func `words may be typed in capitals, cut short, and with anything between them`() {
        let words = "abandon ability able about"
        for text in [words, "ABANDON, ability; Able\nabout", "aban abil able abou"] {
            #expect(ComparisonWords.are(words, typedAs: text))
        }
        for text in ["", "abandon ability able", "ability abandon able about", words + " above"] {
            #expect(!ComparisonWords.are(words, typedAs: text))
        }
    }
}
