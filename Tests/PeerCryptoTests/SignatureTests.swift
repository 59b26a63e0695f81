import PeerCrypto
import Testing

struct SignatureTests {
    struct Vector: CustomTestStringConvertible {
        let name: String
        let seed: String
        let publicKey: String
        let message: String
        let signature: String

        var testDescription: String { self.name }
    }

    /// RFC 8032, section 7.1.
    static let vectors = [
        Vector(
            name: "TEST 1",
            seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            message: "",
            signature: """
                e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155
                5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b
                """
        ),
        Vector(
            name: "TEST 2",
            seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            message: "72",
            signature: """
                92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da
                085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00
                """
        ),
        Vector(
            name: "TEST 3",
            seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            message: "af82",
            signature: """
                6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac
                18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a
                """
        ),
    ]

    @Test(arguments: Self.vectors)
    func `keys and signatures are those of RFC 8032`(_ vector: Vector) throws {
        let message = bytes(hex: vector.message)
        let made = try #require(Self.sign(message, seed: bytes(hex: vector.seed)))
        #expect(made.publicKey.bytes == bytes(hex: vector.publicKey))
        #expect(made.signature.bytes == bytes(hex: vector.signature))
        #expect(
            Ed25519.isValid(signature: made.signature.bytes, message: message, publicKey: made.publicKey.bytes)
        )
    }

    @Test func `a signature with any bit changed is not valid`() throws {
        let message = Array("what was signed".utf8)
        let made = try #require(Self.sign(message, seed: [UInt8](repeating: 7, count: 32)))
        for bit in 0..<made.signature.bytes.count * 8 {
            var changed = made.signature.bytes
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(!Ed25519.isValid(signature: changed, message: message, publicKey: made.publicKey.bytes))
        }
        #expect(
            !Ed25519.isValid(
                signature: made.signature.bytes,
                message: message + [0],
                publicKey: made.publicKey.bytes
            )
        )
    }

    @Test func `values of the wrong length are refused`() throws {
        let made = try #require(Self.sign([], seed: [UInt8](repeating: 7, count: 32)))
        #expect(Ed25519.Signature(Array(made.signature.bytes.dropLast())) == nil)
        #expect(Ed25519.PublicKey(made.publicKey.bytes + [0]) == nil)
        #expect(!Ed25519.isValid(signature: [], message: [], publicKey: made.publicKey.bytes))
        #expect(!Ed25519.isValid(signature: made.signature.bytes, message: [], publicKey: []))
        for count in [0, 31, 33] {
            #expect(Self.sign([], seed: [UInt8](repeating: 7, count: count)) == nil)
        }
    }

    @Test func `a public key of small order signs nothing`() {
        var identity = [UInt8](repeating: 0, count: 32)
        identity[0] = 1
        let signature = identity + [UInt8](repeating: 0, count: 32)
        #expect(!Ed25519.isValid(signature: signature, message: [1, 2, 3], publicKey: identity))
    }

    private static func sign(
        _ message: [UInt8],
        seed: [UInt8]
    ) -> (publicKey: Ed25519.PublicKey, signature: Ed25519.Signature)? {
        guard let key = SigningKey(seed: SecretBytes(seed)) else { return nil }
        let duplicate = key.duplicate()
        return (key.publicKey, duplicate.sign(message))
    }
}
