import PeerCrypto
import Testing

struct ChaChaPolyTests {
    /// RFC 8439, appendix A.5, whose nonce has the form that Noise uses.
    private enum Vector {
        static let key = bytes(hex: "1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0")
        static let counter: UInt64 = 0x0807_0605_0403_0201
        static let associatedData = bytes(hex: "f33388860000000000004e91")
        static let plaintext = Array(
            """
            Internet-Drafts are draft documents valid for a maximum of six months and may be updated, replaced, or \
            obsoleted by other documents at any time. It is inappropriate to use Internet-Drafts as reference \
            material or to cite them other than as /“work in progress./”
            """.utf8
        )
        static let sealed = bytes(
            hex: """
                64a0861575861af460f062c79be643bd5e805cfd345cf389f108670ac76c8cb2
                4c6cfc18755d43eea09ee94e382d26b0bdb7b73c321b0100d4f03b7f355894cf
                332f830e710b97ce98c8a84abd0b948114ad176e008d33bd60f982b1ff37c855
                9797a06ef4f0ef61c186324e2b3506383606907b6a7c02b0f9f6157b53c867e4
                b9166c767b804d46a59b5216cde7a4e99040c5a40433225ee282a1b0a06c523e
                af4534d7f83fa1155b0047718cbc546a0d072b04b3564eea1b422273f548271a
                0bb2316053fa76991955ebd63159434ecebb4e466dae5a1073a6727627097a10
                49e617d91d361094fa68f0ff77987130305beaba2eda04df997b714d6c6f2c29
                a6ad5cb4022b02709beead9d67890cbb22392336fea1851f38
                """
        )
    }

    @Test func `sealing and opening follow RFC 8439, appendix A.5`() {
        #expect(
            Self.seal(
                Vector.plaintext,
                authenticating: Vector.associatedData,
                counter: Vector.counter,
                key: Vector.key
            ) == Vector.sealed
        )
        #expect(Self.open(Vector.sealed) == Vector.plaintext)
    }

    @Test func `any changed bit is noticed, in the message, in its tag and beside it`() {
        for bit in 0..<Vector.sealed.count * 8 {
            var changed = Vector.sealed
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(Self.open(changed) == nil, "bit \(bit)")
        }
        #expect(Self.open(Vector.sealed, authenticating: Vector.associatedData.dropLast()) == nil)
        #expect(Self.open(Vector.sealed, counter: Vector.counter + 1) == nil)
        #expect(Self.open(Vector.sealed, key: [UInt8](repeating: 0, count: 32)) == nil)
    }

    @Test func `messages of all small lengths come back, and nothing comes back from shorter ones`() {
        for count in 0...130 {
            let plaintext = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            let sealed = Self.seal(plaintext, authenticating: [], counter: 3, key: Vector.key)
            #expect(sealed?.count == count + ChaChaPoly.tagByteCount)
            #expect(sealed.map { Self.open($0, authenticating: [], counter: 3) } == plaintext)
            #expect(sealed.flatMap { Self.open($0.dropLast(), authenticating: [], counter: 3) } == nil)
        }
        #expect(Self.open([], authenticating: [], counter: 3) == nil)
        #expect(Self.open([UInt8](repeating: 0, count: 15), authenticating: [], counter: 3) == nil)
    }

    @Test func `with nothing to decrypt the tag is still checked`() {
        let sealed = Self.seal([], authenticating: [1], counter: 0, key: Vector.key)
        #expect(sealed.map { Self.open($0, authenticating: [1], counter: 0) } == .some([]))
        #expect(sealed.flatMap { Self.open($0, authenticating: [2], counter: 0) } == nil)
    }

    @Test func `what was there before stays when something is appended`() {
        let key = SecretBytes(Vector.key)
        var message: [UInt8] = [1, 2, 3, 4]
        #expect(ChaChaPoly.sealInPlace(&message, from: 2, authenticating: RawSpan(), counter: 0, key: key))
        #expect(Array(message.prefix(2)) == [1, 2])
        let sealed = Array(message.dropFirst(2))
        var output: [UInt8] = [9]
        #expect(
            ChaChaPoly.open(
                sealed.span.bytes,
                appendingTo: &output,
                authenticating: RawSpan(),
                counter: 0,
                key: key
            )
        )
        #expect(output == [9, 3, 4])
        #expect(
            !ChaChaPoly.open(
                sealed.span.bytes,
                appendingTo: &output,
                authenticating: RawSpan(),
                counter: 1,
                key: key
            )
        )
        #expect(output == [9, 3, 4])
    }

    @Test func `buffers and keys of the wrong length are refused`() {
        #expect(Self.seal([1], authenticating: [], counter: 0, key: [1, 2, 3]) == nil)
        let key = SecretBytes(Vector.key)
        var output = [UInt8](repeating: 0, count: 20)
        let isSealed = output.withUnsafeMutableBytes { output in
            ChaChaPoly.seal(UnsafeRawBufferPointer(start: nil, count: 0), into: output, counter: 0, key: key)
        }
        #expect(!isSealed)
        var message: [UInt8] = [1]
        #expect(!ChaChaPoly.sealInPlace(&message, from: 2, authenticating: RawSpan(), counter: 0, key: key))
        #expect(message == [1])
    }

    private static func seal(
        _ plaintext: [UInt8],
        authenticating associatedData: [UInt8],
        counter: UInt64,
        key: [UInt8]
    ) -> [UInt8]? {
        let key = SecretBytes(key)
        var message = plaintext
        let isSealed = ChaChaPoly.sealInPlace(
            &message,
            from: 0,
            authenticating: associatedData.span.bytes,
            counter: counter,
            key: key
        )
        return isSealed ? message : nil
    }

    private static func open(
        _ sealed: some Sequence<UInt8>,
        authenticating associatedData: some Sequence<UInt8> = Vector.associatedData,
        counter: UInt64 = Vector.counter,
        key: [UInt8] = Vector.key
    ) -> [UInt8]? {
        let key = SecretBytes(key)
        let sealed = Array(sealed)
        let associatedData = Array(associatedData)
        var plaintext: [UInt8] = []
        let isGood = ChaChaPoly.open(
            sealed.span.bytes,
            appendingTo: &plaintext,
            authenticating: associatedData.span.bytes,
            counter: counter,
            key: key
        )
        return isGood ? plaintext : nil
    }
}
