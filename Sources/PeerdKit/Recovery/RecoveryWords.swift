package import PeerCrypto

/// The words from which a user's root key follows: with them alone somebody who has lost his machines is the same user
/// again.
///
/// They are made before a workspace is, shown to the user once, and kept by nobody else: a machine forgets them when
/// the call that takes them returns. Whoever has them is that user. The key is overwritten when it goes; a text that
/// was made of it, or typed, is an ordinary string, and stays in the memory of the process until that is used again.
public struct RecoveryWords: Sendable {
    private let holder: Holder

    private final class Holder: Sendable {
        let key: RecoveryKey

        init(_ key: consuming RecoveryKey) { self.key = key }
    }

    /// The number of words: 13.
    public static let count = RecoveryKey.wordCount

    /// Draws new words.
    public init() {
        guard var entropy = EntropyStream(seed: SystemEntropy.seed()),
            let key = RecoveryKey(bits: entropy.secret(RecoveryKey.byteCount))
        else { preconditionFailure("a seed of the system makes a stream, and 16 bytes make a key") }
        self.holder = Holder(key)
    }

    /// Reads words as they were written down: in capitals or not, and of each word at least four letters.
    ///
    /// - Throws: ``PeerdError`` with `invalidArgument` that says which word is wrong, as far as that can be told.
    public init(_ text: String) throws {
        do throws(RecoveryWordsError) {
            self.holder = Holder(try RecoveryKey(words: text))
        } catch {
            let sentence =
                switch error {
                case .wrongCount(let count): "There are \(Self.count) recovery words, and not \(count)."
                case .unknownWord(let place): "Word \(place) is none of the words that there are."
                case .wrongWord: "One of the words is wrong, or they are in another order."
                }
            throw PeerdError(.invalidArgument, sentence, advice: "Compare them with what was written down.")
        }
    }

    /// The number of words in a text.
    package static func count(in text: String) -> Int { text.split { !$0.isLetter }.count }

    /// The words, with spaces between them.
    public var text: String { self.holder.key.words() }

    /// The root key, which signs what its user vouches for.
    package func rootKey() -> SigningKey { self.holder.key.rootKey() }
}
