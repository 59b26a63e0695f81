import CRDTCore
import PeerCrypto
import SyncProtocol
import Testing

@testable import Simulation
@testable import Simulator

/// What machines of a world remember together must be what each would have found.
struct WorldMemoTests {
    private static let messages: [[UInt8]] = (0..<64).map { [UInt8($0), 1, 2, 3] }

    private struct NoKey: Error {}

    private func signingKey(_ byte: UInt8) throws -> SigningKey {
        guard let key = SigningKey(seed: SecretBytes(Array(repeating: byte, count: 32))) else { throw NoKey() }
        return key
    }

    private func agreementKey(_ byte: UInt8, _ memo: WorldMemo? = nil) throws -> AgreementKey {
        let seed = SecretBytes(Array(repeating: byte, count: 32))
        guard let key = AgreementKey(seed: seed, memo: memo) else { throw NoKey() }
        return key
    }

    private func bytes(_ secret: consuming SecretBytes?) -> [UInt8]? {
        guard let secret else { return nil }
        return secret.withBytes { Array($0) }
    }

    @Test func `a signature that was made holds, for its message and key alone`() throws {
        let memo = WorldMemo()
        let cryptography = SodiumCryptography(memo: memo)
        let key = try self.signingKey(1)
        let other = try self.signingKey(2)
        for message in Self.messages {
            let signature = cryptography.signature(of: message, by: key)
            #expect(cryptography.isValid(signature, of: message, by: key.publicKey.bytes32))
            #expect(!cryptography.isValid(signature, of: message + [0], by: key.publicKey.bytes32))
            #expect(!cryptography.isValid(signature, of: message, by: other.publicKey.bytes32))
        }
    }

    @Test func `what was made is not checked, but for one of sixteen`() throws {
        let memo = WorldMemo()
        let key = try self.signingKey(1)
        var checkedCount = 0
        for message in Self.messages {
            let signature = SodiumCryptography(memo: memo).signature(of: message, by: key)
            for _ in 0..<2 {
                let isValid = memo.isValid(signature, of: message, by: key.publicKey.bytes32) {
                    checkedCount += 1
                    return true
                }
                #expect(isValid)
            }
        }
        #expect((1...16).contains(checkedCount))
    }

    @Test func `both sides agree on what they would agree on without it`() throws {
        let memo = WorldMemo()
        let first = try self.agreementKey(1, memo)
        let second = try self.agreementKey(2, memo)
        let third = try self.agreementKey(3, memo)
        let alone = try self.agreementKey(1)
        for _ in 0..<2 {
            #expect(
                self.bytes(second.sharedSecret(with: first.publicKey))
                    == self.bytes(alone.sharedSecret(with: second.publicKey))
            )
            #expect(
                self.bytes(first.sharedSecret(with: second.publicKey))
                    == self.bytes(alone.sharedSecret(with: second.publicKey))
            )
            #expect(
                self.bytes(first.sharedSecret(with: third.publicKey))
                    == self.bytes(alone.sharedSecret(with: third.publicKey))
            )
        }
    }

    @Test func `nobody agrees on zeros`() throws {
        let key = try self.agreementKey(1, WorldMemo())
        let zeros = try #require(X25519.PublicKey(Array(repeating: 0, count: 32)))
        for _ in 0..<2 {
            #expect(self.bytes(key.sharedSecret(with: zeros)) == nil)
        }
    }
}
