package import CRDTCore
package import PeerCrypto
internal import SyncProtocol

/// The keys of a device and what makes it a member of its workspace.
///
/// Lives in the key file; the secrets are zeroed when it goes.
package struct DeviceIdentity: ~Copyable, Sendable {
    package let name: String
    package let founder: UserID
    package let workspaceNonce: Bytes16
    package let user: UserID
    /// The device that has let this one in, which is believed to be a member as long as nothing is known of who is one;
    /// this one if nobody has.
    let inviter: DeviceID
    package private(set) var certificates: [DeviceCertificate]
    package let signingKey: SigningKey
    package private(set) var staticKey: AgreementKey
    /// What all members of the workspace have in common, so that those who have not met know each other for members.
    package let membershipKey: SecretBytes

    /// The same identity, whose keys look into a memo for what they agree on.
    consuming func remembering(in memo: (any CryptographyMemo)?) -> DeviceIdentity {
        guard let memo else { return self }
        var identity = self
        identity.staticKey = identity.staticKey.remembering(in: memo)
        return identity
    }

    /// The workspace this device is a member of.
    package var workspace: WorkspaceID {
        WorkspaceID(founder: self.founder, nonce: self.workspaceNonce, SodiumCryptography())
    }

    /// What a store needs to know of the workspace: the hash before every replica's first change.
    package var origin: Hash256 { ChainHash.origin(self.workspace) }

    /// The public key that names the device.
    package var device: DeviceID { DeviceID(bytes: self.signingKey.publicKey.bytes32) }

    /// The public key it proves in handshakes.
    package var publicStaticKey: StaticKey { StaticKey(bytes: self.staticKey.publicKey.bytes32) }

    /// Whose changes belong to the workspace.
    package var membership: Membership { Membership(workspace: self.workspace, founder: self.founder) }

    /// A new workspace of a user, on a new device, which the root key of the user vouches for.
    ///
    /// Nobody needs that key any more, until all devices are lost, or one that vouches for the others.
    package static func founding(
        name: String,
        root: borrowing SigningKey,
        entropy: inout EntropyStream
    ) -> DeviceIdentity? {
        guard let signingKey = SigningKey(seed: entropy.secret(32)),
            let staticKey = AgreementKey(seed: entropy.secret(32)), let nonce = Bytes16(entropy.bytes(16))
        else { return nil }
        return Self.first(
            of: root,
            signingKey,
            staticKey,
            name: name,
            founder: UserID(root),
            workspaceNonce: nonce,
            membershipKey: entropy.secret(Self.membershipKeyByteCount)
        )
    }

    /// The same for a new user, whose root key nobody has any more.
    package static func founding(name: String, entropy: inout EntropyStream) -> DeviceIdentity? {
        guard let root = SigningKey(seed: entropy.secret(32)) else { return nil }
        return Self.founding(name: name, root: root, entropy: &entropy)
    }

    /// A new user of a workspace that there is, on a new device.
    package static func entering(
        name: String,
        founder: UserID,
        workspaceNonce: Bytes16,
        membershipKey: consuming SecretBytes,
        entropy: inout EntropyStream
    ) -> DeviceIdentity? {
        guard let root = SigningKey(seed: entropy.secret(32)),
            let signingKey = SigningKey(seed: entropy.secret(32)),
            let staticKey = AgreementKey(seed: entropy.secret(32))
        else { return nil }
        return Self.first(
            of: root,
            signingKey,
            staticKey,
            name: name,
            founder: founder,
            workspaceNonce: workspaceNonce,
            membershipKey: membershipKey
        )
    }

    /// A device that the root key vouches for.
    private static func first(
        of root: borrowing SigningKey,
        _ signingKey: consuming SigningKey,
        _ staticKey: consuming AgreementKey,
        name: String,
        founder: UserID,
        workspaceNonce: Bytes16,
        membershipKey: consuming SecretBytes
    ) -> DeviceIdentity {
        let certificate = Self.rootCertificate(
            by: root,
            device: DeviceID(bytes: signingKey.publicKey.bytes32),
            staticKey: StaticKey(bytes: staticKey.publicKey.bytes32),
            in: WorkspaceID(founder: founder, nonce: workspaceNonce, SodiumCryptography())
        )
        return DeviceIdentity(
            name: name,
            founder: founder,
            workspaceNonce: workspaceNonce,
            user: UserID(root),
            inviter: DeviceID(bytes: signingKey.publicKey.bytes32),
            certificates: [certificate],
            signingKey: signingKey,
            staticKey: staticKey,
            membershipKey: membershipKey
        )
    }

    /// The same device, certified anew by the root key of its user: it stands above all devices of lower generations.
    ///
    /// Nil if the key is that of somebody else, or if there is no such generation.
    package consuming func recovered(by root: borrowing SigningKey, generation: UInt32) -> DeviceIdentity? {
        guard UserID(root) == self.user, generation > self.generation else { return nil }
        let certificate = Self.rootCertificate(
            by: root,
            device: self.device,
            staticKey: self.publicStaticKey,
            in: self.workspace,
            generation: generation
        )
        var identity = self
        identity.certificates = [certificate]
        return identity
    }

    /// How often its user had begun anew with his root key when the device was certified.
    package var generation: UInt32 { self.certificates.first?.generation ?? DeviceCertificate.firstGeneration }

    /// The certificate of a device that the root key of a user vouches for.
    static func rootCertificate(
        by root: borrowing SigningKey,
        device: DeviceID,
        staticKey: StaticKey,
        in workspace: WorkspaceID,
        generation: UInt32 = DeviceCertificate.firstGeneration
    ) -> DeviceCertificate {
        let message = DeviceCertificate.message(
            workspace: workspace,
            user: UserID(root),
            generation: generation,
            device: device,
            staticKey: staticKey
        )
        let signature = root.signature(of: message)
        return DeviceCertificate(generation: generation, device: device, staticKey: staticKey, signature: signature)
    }

    /// A device that was welcomed; nil if the welcome does not hold.
    static func joining(
        name: String,
        welcome: Welcome,
        signingKey: consuming SigningKey,
        staticKey: consuming AgreementKey,
        _ cryptography: SodiumCryptography
    ) -> DeviceIdentity? {
        let workspace = WorkspaceID(founder: welcome.founder, nonce: welcome.workspaceNonce, cryptography)
        let introduction = Introduction(
            user: welcome.user,
            deviceName: name,
            nonce: welcome.workspaceNonce,
            certificates: welcome.certificates
        )
        guard introduction.isCertified(in: workspace, cryptography),
            let own = welcome.certificates.first, own.device.bytes == signingKey.publicKey.bytes32,
            own.staticKey.bytes == staticKey.publicKey.bytes32
        else { return nil }
        return DeviceIdentity(
            name: name,
            founder: welcome.founder,
            workspaceNonce: welcome.workspaceNonce,
            user: welcome.user,
            inviter: welcome.inviter,
            certificates: welcome.certificates,
            signingKey: signingKey,
            staticKey: staticKey,
            membershipKey: SecretBytes(welcome.membershipKey.array)
        )
    }

    /// Whether a device that this one certifies would have more certificates than anybody accepts.
    var isTooFarFromRoot: Bool { self.certificates.count >= Limits.certificateCountMax }

    /// A certificate for another device of the same user, and those of this one.
    func certify(_ device: DeviceID, staticKey: StaticKey) -> [DeviceCertificate] {
        let message = DeviceCertificate.message(
            workspace: self.workspace,
            user: self.user,
            generation: self.generation,
            device: device,
            staticKey: staticKey
        )
        let signature = self.signingKey.signature(of: message)
        let certificate = DeviceCertificate(
            generation: self.generation,
            device: device,
            staticKey: staticKey,
            signature: signature
        )
        return [certificate] + self.certificates
    }

    /// The operation that opens a replica of this device.
    ///
    /// `branch` and `circle`: what its chain belongs to; nil is the main timeline. `grants`: what it is written under.
    package func introduction(
        nonce: Bytes16,
        branch: BranchID? = nil,
        circle: Circle = .home,
        under grants: [StatementID] = []
    ) -> Introduction {
        Introduction(
            user: self.user,
            deviceName: self.name,
            nonce: nonce,
            branch: branch,
            circle: circle,
            grants: grants,
            certificates: self.certificates
        )
    }

    /// The membership key as it goes to a device that is welcomed.
    var membershipKeyBytes: Bytes32 { self.membershipKey.withBytes { Bytes32(Array($0)) } ?? Bytes32(0, 0, 0, 0) }

    // MARK: - The key file

    private static let membershipKeyByteCount = 32
    /// Version 3 ends with a checksum, in version 4 certificates have a generation, and version 5 never holds the root
    /// key of the user, and names the inviter.
    package static let fileVersion: UInt8 = 5
    private static let magic = Array("peerd-keys".utf8)
    private static let checksumByteCount = 32

    /// The hash of all that stands before it: with one bit of a seed changed, a device would sign what nobody accepts.
    private static func checksum(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
        let (first, second, third, fourth) = Blake2b.hash256(HashPersonal("peerd/key-file"), bytes)
        return Bytes32(first, second, third, fourth).array
    }

    /// The content of the key file.
    package func encoded() -> SecretBytes {
        var bytes = Self.magic + [Self.fileVersion]
        bytes.appendPrefixed(Array(self.name.utf8))
        self.founder.bytes.append(to: &bytes)
        self.workspaceNonce.append(to: &bytes)
        self.user.bytes.append(to: &bytes)
        self.inviter.bytes.append(to: &bytes)
        self.certificates.encode(to: &bytes)
        return self.appendingSeeds(to: bytes)
    }

    private func appendingSeeds(to bytes: [UInt8]) -> SecretBytes {
        let signing = self.signingKey.seed()
        let agreement = self.staticKey.seed()
        let count = bytes.count + signing.count + agreement.count + self.membershipKey.count
        return SecretBytes(count: count + Self.checksumByteCount) { target in
            target.copyBytes(from: bytes)
            var offset = bytes.count
            func append(_ secret: borrowing SecretBytes) {
                secret.withBytes { source in
                    UnsafeMutableRawBufferPointer(rebasing: target[offset..<offset + source.count])
                        .copyMemory(from: source)
                    offset += source.count
                }
            }
            append(signing)
            append(agreement)
            append(self.membershipKey)
            let checksum = Self.checksum(of: UnsafeRawBufferPointer(rebasing: target[..<offset]))
            UnsafeMutableRawBufferPointer(rebasing: target[offset...]).copyBytes(from: checksum)
        }
    }

    /// Reads the content of a key file; nil if it is not one of this version, or any bit of it has changed.
    package static func decode(_ file: borrowing SecretBytes) -> DeviceIdentity? {
        let byteCount = file.count - self.checksumByteCount
        guard let secret = file.part(offset: 0, count: byteCount), file.count <= 1 << 16 else { return nil }
        let isWhole = file.withBytes { bytes in
            self.checksum(of: UnsafeRawBufferPointer(rebasing: bytes[..<byteCount])).elementsEqual(bytes[byteCount...])
        }
        let start = self.magic.count + 1
        guard isWhole, secret.count > start,
            let head = secret.part(offset: 0, count: start)?.withBytes({ Array($0) }),
            head == self.magic + [self.fileVersion]
        else { return nil }
        // Behind the public part come two seeds and the membership key, of 32 bytes each; nothing of them is copied to
        // where it would not be zeroed.
        let secretByteCount = 32 * 3
        guard secret.count >= start + secretByteCount else { return nil }
        let publicPart = secret.withBytes { Array($0[start..<$0.count - secretByteCount]) }
        var reader = ByteReader(publicPart)
        do throws(WireError) {
            let name = try reader.text(atMost: Limits.nameByteCountMax)
            let founder = UserID(bytes: try reader.bytes32())
            let nonce = try reader.bytes16()
            let user = UserID(bytes: try reader.bytes32())
            let inviter = DeviceID(bytes: try reader.bytes32())
            let certificates = try [DeviceCertificate](decoding: &reader)
            try reader.finish()
            let seeds = start + publicPart.count
            guard let signingSeed = secret.part(offset: seeds, count: 32),
                let staticSeed = secret.part(offset: seeds + 32, count: 32),
                let membershipKey = secret.part(offset: seeds + 64, count: 32),
                let signingKey = SigningKey(seed: signingSeed), let staticKey = AgreementKey(seed: staticSeed)
            else { return nil }
            let identity = DeviceIdentity(
                name: name,
                founder: founder,
                workspaceNonce: nonce,
                user: user,
                inviter: inviter,
                certificates: certificates,
                signingKey: signingKey,
                staticKey: staticKey,
                membershipKey: membershipKey
            )
            guard identity.hasCertifiedKeys else { return nil }
            return identity
        } catch {
            return nil
        }
    }

    /// Whether the seeds are those of the public keys that its certificates are about.
    private var hasCertifiedKeys: Bool {
        self.certificates.first?.device == self.device && self.certificates.first?.staticKey == self.publicStaticKey
    }
}

extension UserID {
    /// The user whose root key it is.
    package init(_ root: borrowing SigningKey) { self.init(bytes: root.publicKey.bytes32) }
}
