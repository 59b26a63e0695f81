internal import CRDTCore
internal import SyncProtocol
internal import Synchronization

/// Which signatures hold, for all machines of a world: each is checked by the first that meets it.
///
/// What is remembered is the answer to one signature, message and key: another message with the same signature is
/// checked anew.
final class WorldSignatureMemo: SignatureMemo {
    private let answers = Mutex<[Question: Bool]>([:])

    /// Above this many, all are forgotten.
    private static let answerCountMax = 4_096

    private struct Question: Hashable {
        var signature: Signature
        var message: [UInt8]
        var key: Bytes32
    }

    func isValid(_ signature: Signature, of message: [UInt8], by key: Bytes32, check: () -> Bool) -> Bool {
        let question = Question(signature: signature, message: message, key: key)
        if let known = self.answers.withLock({ $0[question] }) { return known }
        let answer = check()
        self.answers.withLock { answers in
            if answers.count >= WorldSignatureMemo.answerCountMax { answers = [:] }
            answers[question] = answer
        }
        return answer
    }
}
