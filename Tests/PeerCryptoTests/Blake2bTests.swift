import PeerCrypto
import Testing

struct Blake2bTests {
    private static let allBytes = [UInt8](0...255)

    @Test func `without personalisation the digests are those of RFC 7693, appendix A, and of its reference code`() {
        let abc = Array("abc".utf8)
        let digest512 = abc.withUnsafeBytes { Blake2b.unpersonalised512($0) }
        #expect(
            Self.array(digest512)
                == bytes(
                    hex: """
                        ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1
                        7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923
                        """
                )
        )
        let digest256 = abc.withUnsafeBytes { Blake2b.unpersonalised256($0) }
        #expect(
            Self.array(digest256) == bytes(hex: "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319")
        )
        let ofNothing = Blake2b.unpersonalised256(UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(
            Self.array(ofNothing) == bytes(hex: "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8")
        )
    }

    @Test func `personalised digests are those of Python's hashlib`() {
        #expect(
            Self.array(Blake2b.hash256(HashPersonal("peerd/leaf/1"), Self.allBytes))
                == bytes(hex: "a5de233f787c060cd4f63f6b7507182233106ec907f8d660953ce563e4eba7be")
        )
        #expect(
            Self.array(Blake2b.hash512(HashPersonal("0123456789abcdef"), Self.allBytes))
                == bytes(
                    hex: """
                        c901b5822802b97223daa0be537cbab7192eb13b610bf8c4c2f73b5cb59a1ddd
                        119983b0552949dee98cc763d15cbdc29a18fea4f1116d2ec7bd66c2702a03d2
                        """
                )
        )
    }

    @Test func `hashing in pieces gives the digest of the whole, wherever it is cut`() {
        let personal = HashPersonal("pieces")
        let message = (0..<700).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let whole = Self.array(Blake2b.hash256(personal, message))
        for cut in stride(from: 0, through: message.count, by: 7) {
            var hasher = Blake2b.Hasher256(personal)
            hasher.update(Array(message[..<cut]))
            var other = hasher
            hasher.update(Array(message[cut...]))
            #expect(Self.array(hasher.finalize()) == whole, "cut at \(cut)")
            other.update([0])
            #expect(Self.array(other.finalize()) != whole, "a copy goes on independently")
        }
    }

    private static func array(_ digest: Blake2b.Digest256) -> [UInt8] {
        [digest.0, digest.1, digest.2, digest.3].flatMap { word in
            withUnsafeBytes(of: word.littleEndian) { Array($0) }
        }
    }

    private static func array(_ digest: InlineArray<64, UInt8>) -> [UInt8] {
        digest.indices.map { digest[$0] }
    }
}
