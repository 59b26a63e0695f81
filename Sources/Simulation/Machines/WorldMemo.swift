internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol
internal import Synchronization

/// What all machines of a world remember of cryptography: a signature is checked by the first that meets it, or not at
/// all if a machine of the world has made it, and a secret is computed by the first that agrees on it.
///
/// What is remembered is the answer to one signature, message and key: another message with the same signature is
/// checked anew. One signature of sixteen is checked even so.
final class WorldMemo: CryptographyMemo {
    private let answers = Mutex<[Question: Bool]>([:])
    private let secrets = Mutex<[Set<X25519.PublicKey>: [UInt8]]>([:])

    /// Above this many, all are forgotten.
    private static let answerCountMax = 4_096
    private static let checkedInterval: UInt8 = 16

    private struct Question: Hashable {
        var signature: Signature
        var message: [UInt8]
        var key: Bytes32
    }

    func isValid(_ signature: Signature, of message: [UInt8], by key: Bytes32, check: () -> Bool) -> Bool {
        let question = Question(signature: signature, message: message, key: key)
        if let known = self.answers.withLock({ $0[question] }) { return known }
        let answer = check()
        self.remember(answer, to: question)
        return answer
    }

    func noteMade(_ signature: Signature, of message: [UInt8], by key: Bytes32) {
        guard signature.array[0] % WorldMemo.checkedInterval != 0 else { return }
        self.remember(true, to: Question(signature: signature, message: message, key: key))
    }

    func sharedSecret(
        of ours: X25519.PublicKey,
        and theirs: X25519.PublicKey,
        agree: () -> SecretBytes?
    ) -> SecretBytes? {
        let keys: Set = [ours, theirs]
        if let known = self.secrets.withLock({ $0[keys] }) { return SecretBytes(known) }
        guard let secret = agree() else { return nil }
        let bytes = secret.withBytes { Array($0) }
        self.secrets.withLock { secrets in
            if secrets.count >= WorldMemo.answerCountMax { secrets = [:] }
            secrets[keys] = bytes
        }
        return secret
    }

    private func remember(_ answer: Bool, to question: Question) {
        self.answers.withLock { answers in
            if answers.count >= WorldMemo.answerCountMax { answers = [:] }
            answers[question] = answer
        }
    }
}
