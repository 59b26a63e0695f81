internal import PeerCrypto

/// The form of records: a two-byte big-endian length, then that many bytes of ciphertext.
enum SealedRecord {
    /// The first byte of a record's plaintext.
    enum Kind: UInt8 {
        /// The rest of the plaintext belongs to the stream.
        case data = 0
        /// The records after this one are sealed with the next key. Nothing follows the kind.
        case rekey = 1
        /// The sender sends nothing more. Nothing follows the kind.
        case close = 2
    }

    /// The bytes of the length.
    static let lengthByteCount = 2
    /// The bytes of the kind.
    static let kindByteCount = 1
    /// The most bytes of plaintext, the kind included.
    static let plaintextByteCountMax = 65519
    /// The most bytes of the stream in one record.
    static let dataByteCountMax = Self.plaintextByteCountMax - Self.kindByteCount
    /// The fewest bytes of ciphertext: a kind and a tag.
    static let ciphertextByteCountMin = Self.kindByteCount + ChaChaPoly.tagByteCount
    /// What a record has besides the bytes of the stream.
    static let overheadByteCount = Self.lengthByteCount + Self.ciphertextByteCountMin
}
