/// SHA-256, so that the fixture of the migrations can also be checked with `sha256sum --check`.
enum SHA256 {
    static func hexDigest(of message: [UInt8]) -> String {
        var state: [UInt32] = [
            0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
        ]
        let padded = self.padded(message)
        for start in stride(from: 0, to: padded.count, by: 64) {
            self.compress(padded[start..<(start + 64)], into: &state)
        }
        return state.map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }.joined()
    }

    private static func padded(_ message: [UInt8]) -> [UInt8] {
        var bytes = message + [0x80]
        while bytes.count % 64 != 56 { bytes.append(0) }
        let bitCount = UInt64(message.count) * 8
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: bitCount >> shift))
        }
        return bytes
    }

    private static func compress(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
        var words = stride(from: block.startIndex, to: block.endIndex, by: 4).map { index in
            block[index..<(index + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<64 {
            let early = words[index - 15]
            let late = words[index - 2]
            let first = self.rotate(early, 7) ^ self.rotate(early, 18) ^ early >> 3
            let second = self.rotate(late, 17) ^ self.rotate(late, 19) ^ late >> 10
            words.append(words[index - 16] &+ first &+ words[index - 7] &+ second)
        }
        var work = state
        for index in 0..<64 {
            let (a, b, c, e) = (work[0], work[1], work[2], work[4])
            let choice = e & work[5] ^ ~e & work[6]
            let majority = a & b ^ a & c ^ b & c
            let upper = self.rotate(e, 6) ^ self.rotate(e, 11) ^ self.rotate(e, 25)
            let lower = self.rotate(a, 2) ^ self.rotate(a, 13) ^ self.rotate(a, 22)
            let first = work[7] &+ upper &+ choice &+ self.constants[index] &+ words[index]
            work = [first &+ lower &+ majority, a, b, c, work[3] &+ first, e, work[5], work[6]]
        }
        for index in state.indices { state[index] = state[index] &+ work[index] }
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word >> count | word << (32 - count)
    }

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = {
        let primes = (2...311).filter { number in (2..<number).allSatisfy { number % $0 != 0 } }
        return primes.map { prime in
            // The largest root with root³ ≤ prime · 2⁹⁶ has these bits at its end.
            let target = UInt128(prime) << 96
            var root: UInt128 = 0
            for bit in stride(from: 34, through: 0, by: -1) {
                let candidate = root | 1 << UInt128(bit)
                if candidate * candidate * candidate <= target { root = candidate }
            }
            return UInt32(truncatingIfNeeded: root)
        }
    }()
}
