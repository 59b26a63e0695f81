import PeerCrypto
import Testing

struct SecretBytesTests {
    @Test func `a copy is independent of what it was copied from`() {
        var original = SecretBytes([1, 2, 3])
        let copy = original.duplicate()
        original.withMutableBytes { $0[0] = 9 }
        #expect(copy.withBytes { Array($0) } == [1, 2, 3])
        #expect(original.withBytes { Array($0) } == [9, 2, 3])
    }

    @Test func `a part lies within the whole or does not exist`() {
        let secret = SecretBytes([1, 2, 3, 4])
        #expect(Self.part(of: secret, offset: 1, count: 2) == [2, 3])
        #expect(Self.part(of: secret, offset: 4, count: 0) == [])
        #expect(Self.part(of: secret, offset: 3, count: 2) == nil)
        #expect(Self.part(of: secret, offset: -1, count: 2) == nil)
        #expect(Self.part(of: secret, offset: 2, count: .max) == nil)
        #expect(Self.part(of: secret, offset: .max, count: 1) == nil)
    }

    @Test func `comparing tells equal from unequal bytes and lengths`() {
        let secret = SecretBytes([1, 2, 3])
        let cases: [([UInt8], Bool)] = [([1, 2, 3], true), ([1, 2, 4], false), ([1, 2], false), ([], false)]
        for (other, isExpected) in cases {
            #expect(secret.isEqual(to: SecretBytes(other)) == isExpected)
            #expect(ConstantTime.areEqual([1, 2, 3], other) == isExpected)
        }
        #expect(ConstantTime.areEqual([], []))
    }

    private static func part(of secret: borrowing SecretBytes, offset: Int, count: Int) -> [UInt8]? {
        guard let part = secret.part(offset: offset, count: count) else { return nil }
        return part.withBytes { Array($0) }
    }
}
