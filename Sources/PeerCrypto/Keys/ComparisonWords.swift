internal import CSodium

/// Four words that two people read to each other, to find out whether both mean the same keys.
///
/// They come from Argon2id, a slow hash, so that nobody finds other keys with the same words by trying: 44 bits, at
/// about a millisecond each.
package enum ComparisonWords {
    /// The number of words.
    package static let count = 4
    private static let wordBitCount = 11
    private static let salt = Array("peerd/four-words".utf8)
    private static let passCount: UInt64 = 2
    private static let memoryByteCount = 1 << 20

    /// The words for a message, which is not empty, in lower case with spaces between them.
    package static func text(of message: [UInt8]) -> String {
        Sodium.requireReady()
        var hash = [UInt8](repeating: 0, count: 16)
        let code = message.withUnsafeBytes { message in
            crypto_pwhash(
                &hash,
                UInt64(hash.count),
                message.baseAddress!.assumingMemoryBound(to: CChar.self),
                UInt64(message.count),
                Self.salt,
                Self.passCount,
                Self.memoryByteCount,
                crypto_pwhash_ALG_ARGON2ID13
            )
        }
        precondition(code == 0, "a mebibyte of memory is there")
        let number = hash.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let words = (1...Self.count).map { place in
            let shift = 64 - place * Self.wordBitCount
            return RecoveryWordList.words[Int(number >> shift) & (1 << Self.wordBitCount - 1)]
        }
        return words.joined(separator: " ")
    }

    /// Whether somebody typed these words: in capitals or not, with anything but letters between them; of each the
    /// first four letters count.
    package static func are(_ words: String, typedAs text: String) -> Bool {
        func starts(_ text: String) -> [String] {
            text.lowercased().split { !$0.isLetter }.map { RecoveryWordList.start(of: $0) }
        }
        return starts(words) == starts(text)
    }
}
