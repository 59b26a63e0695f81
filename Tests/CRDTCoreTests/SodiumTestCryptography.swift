import CRDTCore
import PeerCrypto

/// Changes hashed and signed by libsodium, as in earnest.
struct SodiumTestCryptography: ChangeCryptography {
    func hash256(_ domain: HashDomain, _ message: [UInt8]) -> Bytes32 {
        let digest = Blake2b.hash256(HashPersonal(domain.personalisation), message)
        return Bytes32(digest.0.byteSwapped, digest.1.byteSwapped, digest.2.byteSwapped, digest.3.byteSwapped)
    }

    func hash512(_ domain: HashDomain, _ message: [UInt8]) -> (Bytes32, Bytes32) {
        let digest = Blake2b.hash512(HashPersonal(domain.personalisation), message)
        let bytes = (0..<64).map { digest[$0] }
        // Thirty-two bytes each.
        return (Bytes32(bytes.prefix(32))!, Bytes32(bytes.suffix(32))!)
    }

    func isValid(_ signature: Signature, of message: [UInt8], by key: Bytes32) -> Bool {
        Ed25519.isValid(signature: signature.array, message: message, publicKey: key.array)
    }
}

/// A user with one device, whose keys are real.
struct SodiumAuthor {
    let cryptography = SodiumTestCryptography()
    let membership: Membership
    let introduction: Introduction
    let device: DeviceID
    let replica: ReplicaID
    private let deviceSeed: [UInt8]

    /// Makes the keys from a number; the same number makes the same ones.
    init(number: UInt8 = 1) throws {
        let userSeed = Array(repeating: number, count: 32)
        self.deviceSeed = Array(repeating: number &+ 100, count: 32)
        let user = UserID(bytes: try Self.publicKey(userSeed))
        self.device = DeviceID(bytes: try Self.publicKey(self.deviceSeed))
        let workspace = WorkspaceID(founder: user, nonce: Bytes16(high: 1, low: 1), self.cryptography)
        self.membership = Membership(workspace: workspace, founder: user)
        let staticKey = StaticKey(bytes: Bytes32(5, 6, 7, 8))
        let message = DeviceCertificate.message(
            workspace: workspace,
            user: user,
            generation: DeviceCertificate.firstGeneration,
            device: self.device,
            staticKey: staticKey
        )
        self.introduction = Introduction(
            user: user,
            deviceName: "laptop",
            nonce: Bytes16(high: 2, low: 2),
            certificates: [
                DeviceCertificate(
                    generation: DeviceCertificate.firstGeneration,
                    device: self.device,
                    staticKey: staticKey,
                    signature: Self.sign(message, seed: userSeed)
                )
            ]
        )
        self.replica = ReplicaID(device: self.device, nonce: self.introduction.nonce, self.cryptography)
    }

    private static func publicKey(_ seed: [UInt8]) throws -> Bytes32 {
        guard let key = SigningKey(seed: SecretBytes(seed)), let bytes = Bytes32(key.publicKey.bytes) else {
            throw WireError.notCanonical
        }
        return bytes
    }

    private static func sign(_ message: [UInt8], seed: [UInt8]) -> Signature {
        // A seed of 32 bytes always makes a key, and a key always makes 64 bytes.
        let key = SigningKey(seed: SecretBytes(seed))!
        return Signature(key.sign(message).bytes)!
    }

    func sign(_ message: [UInt8]) -> Signature { Self.sign(message, seed: self.deviceSeed) }

    /// Three changes, the first of which introduces the device.
    func builder(_ text: String = "text") -> RunBuilder {
        let object = ObjectID(bytes: Bytes16(high: 7, low: 7))
        var builder = RunBuilder(replica: self.replica, firstSequence: 1)
        builder.beginChange(stamp: Stamp(rawValue: 100), context: [], blinding: Array(0..<16))
        builder.append(.introduce(self.introduction))
        builder.append(.create(object, type: "note", kind: ""))
        builder.beginChange(
            stamp: Stamp(rawValue: 101),
            context: [
                Point(replica: ReplicaID(bytes: Bytes16(high: 9, low: 9)), sequence: 4, name: ChangeName(rawValue: 5))
            ],
            blinding: Array(16..<32)
        )
        for number in 0..<6 { builder.append(.set(object, name: "n\(number)", value: .string(text))) }
        builder.beginChange(stamp: Stamp(rawValue: 102), context: [], blinding: Array(32..<48))
        builder.append(.move(object, Place(parent: nil, position: Position(bytes: Array("a0".utf8)))))
        builder.append(.unknown(kind: 99, body: [1, 2]))
        return builder
    }

    var origin: Hash256 { ChainHash.origin(self.membership.workspace) }

    func sealed(_ text: String = "text") -> VerifiedRun {
        VerifiedRun.sealUnchecked(self.builder(text), previous: self.origin, self.cryptography, sign: { self.sign($0) })
    }

    /// Verifies a first run.
    func verify(_ run: Run, workspace: WorkspaceID? = nil) throws(RunRejection) -> VerifiedRun {
        try VerifiedRun.verify(
            run,
            previous: self.origin,
            device: nil,
            workspace: workspace ?? self.membership.workspace,
            self.cryptography
        )
    }
}
