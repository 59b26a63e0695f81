import PeerCrypto
import Testing

struct AgreementTests {
    @Test func `keys and the shared secret are those of RFC 7748, section 6.1`() throws {
        let aliceSeed = bytes(hex: "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
        let bobSeed = bytes(hex: "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
        let alicePublic = bytes(hex: "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
        let bobPublic = bytes(hex: "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
        let shared = bytes(hex: "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")

        #expect(Self.publicKey(seed: aliceSeed) == alicePublic)
        #expect(Self.publicKey(seed: bobSeed) == bobPublic)
        #expect(Self.agree(seed: aliceSeed, publicKey: bobPublic) == shared)
        #expect(Self.agree(seed: bobSeed, publicKey: alicePublic) == shared)
    }

    @Test func `the shared secret is that of RFC 7748, section 5.2`() {
        let seed = bytes(hex: "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4")
        let publicKey = bytes(hex: "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")
        let shared = bytes(hex: "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552")
        #expect(Self.agree(seed: seed, publicKey: publicKey) == shared)
    }

    @Test func `a public key of small order gives no secret`() {
        let seed = [UInt8](repeating: 9, count: 32)
        var one = [UInt8](repeating: 0, count: 32)
        one[0] = 1
        let ofOrderEight = bytes(hex: "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800")
        for weak in [[UInt8](repeating: 0, count: 32), one, ofOrderEight] {
            #expect(Self.agree(seed: seed, publicKey: weak) == nil)
        }
    }

    @Test func `values of the wrong length are refused`() {
        for count in [0, 31, 33] {
            #expect(X25519.PublicKey([UInt8](repeating: 1, count: count)) == nil)
            #expect(Self.publicKey(seed: [UInt8](repeating: 1, count: count)) == nil)
        }
    }

    private static func publicKey(seed: [UInt8]) -> [UInt8]? {
        guard let key = AgreementKey(seed: SecretBytes(seed)) else { return nil }
        return key.publicKey.bytes
    }

    private static func agree(seed: [UInt8], publicKey: [UInt8]) -> [UInt8]? {
        guard
            let key = AgreementKey(seed: SecretBytes(seed)),
            let publicKey = X25519.PublicKey(publicKey),
            let shared = key.duplicate().sharedSecret(with: publicKey)
        else { return nil }
        return shared.withBytes { Array($0) }
    }
}
