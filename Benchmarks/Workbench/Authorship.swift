import CRDTCore
import PeerCrypto
import SyncProtocol

/// The one workspace of all workloads, and the user who has founded it.
///
/// Its keys are made from fixed seeds, so that one process can write runs and another verify them.
struct Founder {
    let membership: Membership

    private static let nonce = Bytes16(high: 0x6265_6e63_686d_6172, low: 0x6b73)

    init() {
        let user = Standing().userID
        let workspace = WorkspaceID(founder: user, nonce: Founder.nonce, SodiumCryptography())
        self.membership = Membership(workspace: workspace, founder: user)
    }

    var origin: Hash256 { ChainHash.origin(self.membership.workspace) }

    /// What opens the chain of a device's replica.
    func introduction(of device: DeviceID, nonce: Bytes16, as standing: Standing) -> Introduction {
        let root = standing.rootKey
        let staticKey = StaticKey(bytes: device.bytes)
        let message = DeviceCertificate.message(
            workspace: self.membership.workspace,
            user: standing.userID,
            generation: DeviceCertificate.firstGeneration,
            device: device,
            staticKey: staticKey
        )
        let certificate = DeviceCertificate(
            generation: DeviceCertificate.firstGeneration,
            device: device,
            staticKey: staticKey,
            signature: root.signature(of: message)
        )
        return Introduction(
            user: standing.userID,
            deviceName: "bench",
            nonce: nonce,
            circle: standing.circle,
            grants: standing.grants,
            certificates: [certificate]
        )
    }
}

/// Whose a chain is, where it belongs, and what it is written under.
struct Standing {
    /// The founder is number 0.
    var user: UInt64 = 0
    var circle = Circle.home
    var grants: [StatementID] = []

    /// Devices have lower numbers, but for the founder's key.
    fileprivate var rootKey: SigningKey { SigningKey(numbered: self.user == 0 ? 0 : 1 << 32 | self.user) }

    var userID: UserID { UserID(bytes: self.rootKey.publicBytes) }
}

/// One device that writes changes and signs them run by run, within the limits a node streams with.
struct Writer: ~Copyable {
    let replica: ReplicaID
    private let key: SigningKey
    private let introduction: Introduction
    private let runSize: Int
    private var previous: Hash256
    private var builder: RunBuilder
    private var secrets: SplitMix64
    private var sequence: UInt64 = 0
    private(set) var finished: [Run] = []

    private static let runOperationCountMax = 1 << 14
    private static let runByteCountMax = 512 << 10

    /// A device with its first replica, whose runs have at most `runSize` changes.
    init(number: UInt64, founder: Founder, runSize: Int, as standing: Standing = Standing()) {
        self.runSize = runSize
        self.key = SigningKey(numbered: number)
        let device = DeviceID(bytes: self.key.publicBytes)
        let nonce = Bytes16(high: number, low: 1)
        self.replica = ReplicaID(device: device, nonce: nonce, circle: standing.circle, SodiumCryptography())
        self.introduction = founder.introduction(of: device, nonce: nonce, as: standing)
        self.previous = founder.origin
        self.builder = RunBuilder(replica: self.replica, firstSequence: 1)
        self.secrets = SplitMix64(seed: number)
    }

    /// The last change, signed, as a context names it.
    var head: Point {
        mutating get {
            self.seal()
            return Point(replica: self.replica, sequence: self.sequence, name: ChangeName(self.previous))
        }
    }

    /// The last change, signed, as statements name it.
    var lastChange: NamedChange {
        mutating get {
            self.seal()
            return NamedChange(replica: self.replica, sequence: self.sequence, hash: self.previous)
        }
    }

    /// The change to go on from; setting an earlier one makes the chain fork.
    var place: (sequence: UInt64, previous: Hash256) {
        mutating get {
            self.seal()
            return (self.sequence, self.previous)
        }
        set {
            self.seal()
            (self.sequence, self.previous) = newValue
            let name = ChangeName(newValue.previous)
            self.builder = RunBuilder(replica: self.replica, firstSequence: newValue.sequence + 1, previous: name)
        }
    }

    /// Writes one change.
    ///
    /// The chain's first begins with the introduction.
    mutating func write(_ edits: some Sequence<Edit>, at stamp: Stamp, context: [Point] = []) {
        let run = self.builder.run
        if run.operations.count >= Self.runOperationCountMax || run.changes.count >= self.runSize
            || run.payload.count >= Self.runByteCountMax
        {
            self.seal()
        }
        self.sequence += 1
        self.builder.beginChange(stamp: stamp, context: context, blinding: self.secrets.bytes(Bytes16.byteCount))
        if self.sequence == 1 { self.builder.append(.introduce(self.introduction)) }
        for edit in edits { self.builder.append(edit) }
    }

    /// Ends and signs the open run, if it has a change.
    mutating func seal() {
        guard !self.builder.run.changes.isEmpty else { return }
        let sealed = VerifiedRun.sealUnchecked(self.builder, previous: self.previous, SodiumCryptography()) { message in
            self.key.signature(of: message)
        }
        self.previous = sealed.hashes[sealed.hashes.count - 1]
        self.finished.append(sealed.run)
        self.builder = RunBuilder(replica: self.replica, firstSequence: self.sequence + 1)
    }

    /// The runs signed so far; they are handed out once.
    mutating func takeRuns() -> [Run] {
        self.seal()
        let runs = self.finished
        self.finished = []
        return runs
    }
}

extension SigningKey {
    init(numbered number: UInt64) {
        var bytes = [UInt8](repeating: 0x5a, count: 32)
        for place in 0..<8 { bytes[place] = UInt8(truncatingIfNeeded: number >> UInt64(place * 8)) }
        guard let key = SigningKey(seed: SecretBytes(bytes)) else { preconditionFailure("a seed has 32 bytes") }
        self = key
    }

    var publicBytes: Bytes32 { Bytes32(self.publicKey.bytes) ?? .zero }

    func signature(of message: [UInt8]) -> Signature {
        guard let signature = Signature(self.sign(message).bytes) else { preconditionFailure("64 bytes") }
        return signature
    }
}
