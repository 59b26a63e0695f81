/// SHA-1 (RFC 3174), for ids of objects.
///
/// It names things. Where something rests on it, that is that nobody finds a second message with the hash of a given
/// one; two messages with one hash of their author's choice harm nobody but him.
enum SHA1 {
    /// The 20-byte digest.
    static func hash(_ message: [UInt8]) -> [UInt8] {
        var state: (UInt32, UInt32, UInt32, UInt32, UInt32) =
            (0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0)
        var padded = message
        padded.append(0x80)
        while padded.count % 64 != 56 { padded.append(0) }
        padded.appendBigEndian(UInt64(message.count) << 3)
        for start in stride(from: 0, to: padded.count, by: 64) {
            self.mix(padded[start..<start + 64], into: &state)
        }
        return [state.0, state.1, state.2, state.3, state.4].flatMap { word in
            (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) }
        }
    }

    private static func mix(_ block: ArraySlice<UInt8>, into state: inout (UInt32, UInt32, UInt32, UInt32, UInt32)) {
        var words: [UInt32] = []
        words.reserveCapacity(80)
        for start in stride(from: block.startIndex, to: block.endIndex, by: 4) {
            words.append(block[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) })
        }
        for position in 16..<80 {
            let word = words[position - 3] ^ words[position - 8] ^ words[position - 14] ^ words[position - 16]
            words.append(self.rotate(word, 1))
        }
        var (a, b, c, d, e) = state
        for (position, word) in words.enumerated() {
            let choice: UInt32
            let constant: UInt32
            switch position {
            case ..<20: (choice, constant) = (b & c | ~b & d, 0x5a82_7999)
            case ..<40: (choice, constant) = (b ^ c ^ d, 0x6ed9_eba1)
            case ..<60: (choice, constant) = (b & c | b & d | c & d, 0x8f1b_bcdc)
            default: (choice, constant) = (b ^ c ^ d, 0xca62_c1d6)
            }
            let sum = self.rotate(a, 5) &+ choice &+ e &+ constant &+ word
            (a, b, c, d, e) = (sum, a, self.rotate(b, 30), c, d)
        }
        state = (state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d, state.4 &+ e)
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
}

extension ObjectID {
    /// The id that a user gives to what a key names within a type: it is the same on all of the user's devices, and
    /// another one in another namespace.
    package init(of user: UserID, key: String, type: String, in namespace: ObjectID) {
        let digest = SHA1.hash(namespace.bytes.array + Array(type.utf8) + [0] + Array(key.utf8))
        self.init(of: user, nonce: digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// The namespace of the ids that are derived from keys in a circle: only its readers know its id.
    ///
    /// `home`: that of home.
    package init(namespaceOf circle: Circle, home: ObjectID) {
        var bytes = home.bytes.array
        circle.encode(to: &bytes)
        self.init(bytes: circle == .home ? home.bytes : Bytes16(SHA1.hash(bytes).prefix(16)) ?? home.bytes)
    }

    /// An id that only this user can have given to an object: a UUIDv8 (RFC 9562) of 60 bits, which are random or
    /// follow from a key, and 62 that follow from them and from the user.
    ///
    /// Whoever knows of an object can create it once more, and claim that he did so earlier. He has a key of his own by
    /// then, and his creation counts for less.
    package init(of user: UserID, nonce: UInt64) {
        let high = nonce & ~0xffff | 0x8000 | nonce & 0xfff
        self.init(bytes: Bytes16(high: high, low: ObjectID.seal(high, by: user)))
    }

    /// Whether the id is one that this user gives.
    package func isGiven(by user: UserID) -> Bool {
        self.bytes.high >> 12 & 0xf == 8 && self.bytes.low == ObjectID.seal(self.bytes.high, by: user)
    }

    private static func seal(_ high: UInt64, by user: UserID) -> UInt64 {
        var bytes = Array("peerd object".utf8) + user.bytes.array
        bytes.appendBigEndian(high)
        let digest = SHA1.hash(bytes)
        let low = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return low & ~(0b11 << 62) | 0b10 << 62
    }

    /// A random id (UUIDv4) from 16 random bytes.
    package init(random bytes: Bytes16) {
        self.init(
            bytes: Bytes16(
                high: bytes.high & ~0xf000 | 0x4000,
                low: bytes.low & ~(0b11 << 62) | 0b10 << 62
            )
        )
    }
}
