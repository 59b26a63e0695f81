/// What a hash is for.
///
/// Each domain is hashed with its own BLAKE2b personalisation, so that no hash of one kind can pass for another.
package enum HashDomain: Sendable, CaseIterable {
    /// A change: its header, the shape of its operations, and the hash of its leaves.
    case change
    /// The salted content of a write.
    case leaf
    /// The leaves of what a change writes, in order.
    case contents
    /// Four salts from the secret of a change.
    case salt
    /// A replica's id.
    case replica
    /// A workspace's id.
    case workspace
    /// A frontier, or a range of one.
    case frontier
    /// What is settled of an object, or of all.
    case state

    /// The personalisation: at most 16 ASCII characters, padded with zero bytes.
    package var personalisation: StaticString {
        switch self {
        case .change: "peerd/change/1"
        case .leaf: "peerd/leaf/1"
        case .contents: "peerd/contents/1"
        case .salt: "peerd/salt/1"
        case .replica: "peerd/replica/1"
        case .workspace: "peerd/space/1"
        case .frontier: "peerd/frontier/1"
        case .state: "peerd/state/1"
        }
    }
}

/// The cryptography that changes rest on, given to the core by whoever runs it.
///
/// The core says what is hashed and signed; a conforming type does it, with libsodium, or from a memo of what the same
/// process has verified before.
package protocol ChangeCryptography: Sendable {
    /// BLAKE2b-256 with the domain's personalisation.
    func hash256(_ domain: HashDomain, _ message: [UInt8]) -> Bytes32

    /// BLAKE2b-512 with the domain's personalisation, as two halves.
    func hash512(_ domain: HashDomain, _ message: [UInt8]) -> (Bytes32, Bytes32)

    /// Whether an Ed25519 signature (RFC 8032) of a message by a key holds.
    func isValid(_ signature: Signature, of message: [UInt8], by key: Bytes32) -> Bool
}
