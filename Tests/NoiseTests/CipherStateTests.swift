import PeerCrypto
import SyncProtocol
import Testing

struct CipherStateTests {
    @Test func `the nonce moves only after a good tag`() throws {
        var sending = NoiseCipherState(key: presharedKey(7))
        var receiving = NoiseCipherState(key: presharedKey(7))
        var message: [UInt8] = [1, 2, 3]
        try sending.sealInPlace(&message, from: 0, authenticating: RawSpan())
        var changed = message
        changed[0] ^= 1
        var opened: [UInt8] = []
        #expect(throws: NoiseError.badTag) {
            try receiving.open(changed.span.bytes, appendingTo: &opened, authenticating: RawSpan())
        }
        var nonce = receiving.nonce
        #expect(nonce == 0)
        #expect(opened.isEmpty)
        try receiving.open(message.span.bytes, appendingTo: &opened, authenticating: RawSpan())
        nonce = receiving.nonce
        #expect(nonce == 1)
        #expect(opened == [1, 2, 3])
    }

    @Test func `the last nonce is never used for a message`() throws {
        var cipher = NoiseCipherState(key: presharedKey(7), nonce: .max - 1)
        var message: [UInt8] = [1]
        try cipher.sealInPlace(&message, from: 0, authenticating: RawSpan())
        #expect(throws: NoiseError.nonceExhausted) {
            try cipher.sealInPlace(&message, from: 0, authenticating: RawSpan())
        }
        #expect(throws: NoiseError.nonceExhausted) {
            var opened: [UInt8] = []
            try cipher.open(message.span.bytes, appendingTo: &opened, authenticating: RawSpan())
        }
        #expect(message.count == 17)
    }

    @Test func `rekeying follows section 4.2 of the Noise specification`() throws {
        // Computed with Python's cryptography package from the definition in the specification.
        var cipher = NoiseCipherState(key: presharedKey(7))
        cipher.rekey()
        var message = Array("after".utf8)
        try cipher.sealInPlace(&message, from: 0, authenticating: RawSpan())
        #expect(message == bytes(hex: "9e19c4fc3d5a1150657f3ba6e7db3f913dbfdbb470"))
    }
}
