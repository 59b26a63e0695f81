internal import CSodium

/// 128 random bits from which a user's root key follows, and which people keep as 13 words.
///
/// Eleven bits make a word; behind the random bits come 15 bits of their hash, so a word that was copied wrong is
/// found with all but one in 32,768 chances.
package struct RecoveryKey: ~Copyable, Sendable {
    private let bits: SecretBytes

    /// The number of words.
    package static let wordCount = 13
    /// The number of random bytes.
    package static let byteCount = 16
    private static let wordBitCount = 11
    private static let checksumBitCount = Self.wordCount * Self.wordBitCount - Self.byteCount * 8

    /// Takes random bytes; nil unless there are 16.
    package init?(bits: consuming SecretBytes) {
        guard bits.count == Self.byteCount else { return nil }
        self.init(whole: bits)
    }

    private init(whole bits: consuming SecretBytes) { self.bits = bits }
}

/// What is wrong with words that were typed.
package enum RecoveryWordsError: Error, Hashable, Sendable {
    case wrongCount(Int)
    /// A word that is not of the list, by its place from 1 on.
    case unknownWord(Int)
    /// All words are of the list, but not those that were shown, or in another order.
    case wrongWord
}

extension RecoveryKey {
    /// Reads words, in capitals or not, with anything but letters between them; of each the first four letters count.
    package init(words text: String) throws(RecoveryWordsError) {
        let words = text.lowercased().split { !$0.isLetter }
        guard words.count == Self.wordCount else { throw .wrongCount(words.count) }
        var numbers: [Int] = []
        for (place, word) in words.enumerated() {
            guard let number = RecoveryWordList.numbers[RecoveryWordList.start(of: word)] else {
                throw .unknownWord(place + 1)
            }
            numbers.append(number)
        }
        func bit(_ position: Int) -> Int {
            numbers[position / Self.wordBitCount] >> (Self.wordBitCount - 1 - position % Self.wordBitCount) & 1
        }
        let bits = SecretBytes(count: Self.byteCount) { target in
            for position in 0..<Self.byteCount * 8 {
                target[position / 8] |= UInt8(bit(position) << (7 - position % 8))
            }
        }
        var checksum = 0
        for position in Self.byteCount * 8..<Self.wordCount * Self.wordBitCount {
            checksum = checksum << 1 | bit(position)
        }
        guard checksum == Self.checksum(of: bits) else { throw .wrongWord }
        self.init(whole: bits)
    }

    /// The words, in lower case with spaces between them: for the eyes of the user, once.
    package func words() -> String {
        var numbers = [Int](repeating: 0, count: Self.wordCount)
        let checksum = Self.checksum(of: self.bits) << (16 - Self.checksumBitCount)
        self.bits.withBytes { bits in
            func byte(_ place: Int) -> Int {
                place < bits.count ? Int(bits[place]) : checksum >> (8 * (bits.count + 1 - place))
            }
            for position in 0..<Self.wordCount * Self.wordBitCount {
                let bit = byte(position / 8) >> (7 - position % 8) & 1
                numbers[position / Self.wordBitCount] = numbers[position / Self.wordBitCount] << 1 | bit
            }
        }
        return numbers.map { RecoveryWordList.words[$0] }.joined(separator: " ")
    }

    /// The root key of the user.
    package func rootKey() -> SigningKey {
        let seed = SecretBytes(count: Ed25519.seedByteCount) { target in
            var hash = self.bits.withBytes { Blake2b.hash256(HashPersonal("peerd/root-key"), $0) }
            withUnsafeMutableBytes(of: &hash) { hash in
                target.copyMemory(from: UnsafeRawBufferPointer(hash))
                sodium_memzero(hash.baseAddress!, hash.count)
            }
        }
        guard let key = SigningKey(seed: seed) else { preconditionFailure("a hash has as many bytes as a seed") }
        return key
    }

    private static func checksum(of bits: borrowing SecretBytes) -> Int {
        let hash = bits.withBytes { Blake2b.hash256(HashPersonal("peerd/word-check"), $0) }.0
        return Int(truncatingIfNeeded: hash) & (1 << Self.checksumBitCount - 1)
    }
}
