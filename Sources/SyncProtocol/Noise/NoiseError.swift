/// Why a Noise handshake or cipher cannot go on; each of them is the end of the connection.
package enum NoiseError: Error, Equatable, Sendable {
    /// The keys given do not fit the pattern and the role.
    case unfitKeys
    /// A message was written or read when it was the other side's turn, or after the last message.
    case outOfTurn
    /// An earlier error has ended this handshake.
    case dead
    /// The handshake's messages have not all been exchanged.
    case incomplete
    /// A message is shorter than its fixed parts.
    case truncated
    /// A message would be, or is, longer than Noise allows.
    case tooLong
    /// What was received was not sealed with the key agreed on, or was changed on the way.
    case badTag
    /// A public key of the peer leads to a shared secret of all zeros.
    case weakPublicKey
    /// A cipher has used all its nonces.
    case nonceExhausted
}
