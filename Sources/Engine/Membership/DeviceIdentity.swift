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
    package let certificates: [DeviceCertificate]
    package let signingKey: SigningKey
    package private(set) var staticKey: AgreementKey
    /// What all members of the workspace have in common, so that those who have not met know each other for members.
    package let membershipKey: SecretBytes
    /// The user's root key, on the device where the user was made.
    let userKey: SigningKey?

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

    /// A new user with a new workspace, on a new device.
    package static func founding(name: String, entropy: inout EntropyStream) -> DeviceIdentity? {
        guard let userKey = SigningKey(seed: entropy.secret(32)),
            let signingKey = SigningKey(seed: entropy.secret(32)),
            let staticKey = AgreementKey(seed: entropy.secret(32)),
            let nonce = Bytes16(entropy.bytes(16))
        else { return nil }
        let founder = UserID(bytes: userKey.publicKey.bytes32)
        return Self.first(
            of: userKey,
            signingKey,
            staticKey,
            name: name,
            founder: founder,
            workspaceNonce: nonce,
            membershipKey: entropy.secret(Self.membershipKeyByteCount)
        )
    }

    /// A new user of a workspace that there is, on a new device.
    package static func entering(
        name: String,
        founder: UserID,
        workspaceNonce: Bytes16,
        membershipKey: consuming SecretBytes,
        entropy: inout EntropyStream
    ) -> DeviceIdentity? {
        guard let userKey = SigningKey(seed: entropy.secret(32)),
            let signingKey = SigningKey(seed: entropy.secret(32)),
            let staticKey = AgreementKey(seed: entropy.secret(32))
        else { return nil }
        return Self.first(
            of: userKey,
            signingKey,
            staticKey,
            name: name,
            founder: founder,
            workspaceNonce: workspaceNonce,
            membershipKey: membershipKey
        )
    }

    /// The device on which a user is made, which the root key vouches for.
    private static func first(
        of userKey: consuming SigningKey,
        _ signingKey: consuming SigningKey,
        _ staticKey: consuming AgreementKey,
        name: String,
        founder: UserID,
        workspaceNonce: Bytes16,
        membershipKey: consuming SecretBytes
    ) -> DeviceIdentity {
        let user = UserID(bytes: userKey.publicKey.bytes32)
        let certificate = Self.rootCertificate(
            by: userKey,
            device: DeviceID(bytes: signingKey.publicKey.bytes32),
            staticKey: StaticKey(bytes: staticKey.publicKey.bytes32),
            in: WorkspaceID(founder: founder, nonce: workspaceNonce, SodiumCryptography())
        )
        return DeviceIdentity(
            name: name,
            founder: founder,
            workspaceNonce: workspaceNonce,
            user: user,
            certificates: [certificate],
            signingKey: signingKey,
            staticKey: staticKey,
            membershipKey: membershipKey,
            userKey: userKey
        )
    }

    /// The certificate of a device that the root key of a user vouches for.
    static func rootCertificate(
        by userKey: borrowing SigningKey,
        device: DeviceID,
        staticKey: StaticKey,
        in workspace: WorkspaceID
    ) -> DeviceCertificate {
        let generation = DeviceCertificate.firstGeneration
        let message = DeviceCertificate.message(
            workspace: workspace,
            user: UserID(bytes: userKey.publicKey.bytes32),
            generation: generation,
            device: device,
            staticKey: staticKey
        )
        let signature = userKey.signature(of: message)
        return DeviceCertificate(generation: generation, device: device, staticKey: staticKey, signature: signature)
    }

    /// A device that was welcomed; nil if the welcome does not hold.
    ///
    /// `userKey`: the root key of its user, if he joins with it; else it is a device of the user who invites.
    static func joining(
        name: String,
        welcome: Welcome,
        userKey: consuming SigningKey? = nil,
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
            certificates: welcome.certificates,
            signingKey: signingKey,
            staticKey: staticKey,
            membershipKey: SecretBytes(welcome.membershipKey.array),
            userKey: userKey
        )
    }

    /// Whether a device that this one certifies would have more certificates than anybody accepts.
    var isTooFarFromRoot: Bool { self.certificates.count >= Limits.certificateCountMax }

    /// A certificate for another device of the same user, and those of this one.
    func certify(_ device: DeviceID, staticKey: StaticKey) -> [DeviceCertificate] {
        let generation = self.certificates.first?.generation ?? DeviceCertificate.firstGeneration
        let message = DeviceCertificate.message(
            workspace: self.workspace,
            user: self.user,
            generation: generation,
            device: device,
            staticKey: staticKey
        )
        let signature = self.signingKey.signature(of: message)
        let certificate = DeviceCertificate(
            generation: generation,
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
    /// Version 3 ends with a checksum, and in version 4 certificates have a generation.
    package static let fileVersion: UInt8 = 4
    private static let magic = Array("peerd-keys".utf8)
    private static let checksumByteCount = 32

    /// The hash of all that stands before it: with one bit of a seed changed, a device would sign what nobody accepts.
    private static func checksum(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
        let (first, second, third, fourth) = Blake2b.hash256(HashPersonal("peerd/key-file"), bytes)
        return Bytes32(first, second, third, fourth).array
    }

    /// The content of the key file.
    package func encoded() -> SecretBytes {
        var bytes = Self.magic + [Self.fileVersion, Self.seed(of: self.userKey) == nil ? 0 : 1]
        bytes.appendPrefixed(Array(self.name.utf8))
        self.founder.bytes.append(to: &bytes)
        self.workspaceNonce.append(to: &bytes)
        self.user.bytes.append(to: &bytes)
        self.certificates.encode(to: &bytes)
        return self.appendingSeeds(to: bytes)
    }

    private func appendingSeeds(to bytes: [UInt8]) -> SecretBytes {
        let signing = self.signingKey.seed()
        let agreement = self.staticKey.seed()
        let user = Self.seed(of: self.userKey) ?? SecretBytes([])
        let count = bytes.count + signing.count + agreement.count + self.membershipKey.count + user.count
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
            append(user)
            let checksum = Self.checksum(of: UnsafeRawBufferPointer(rebasing: target[..<offset]))
            UnsafeMutableRawBufferPointer(rebasing: target[offset...]).copyBytes(from: checksum)
        }
    }

    private static func seed(of key: borrowing SigningKey?) -> SecretBytes? {
        switch key {
        case .none: nil
        case .some(let key): key.seed()
        }
    }

    /// Reads the content of a key file; nil if it is not one of this version, or any bit of it has changed.
    package static func decode(_ file: borrowing SecretBytes) -> DeviceIdentity? {
        let byteCount = file.count - self.checksumByteCount
        guard let secret = file.part(offset: 0, count: byteCount), file.count <= 1 << 16 else { return nil }
        let isWhole = file.withBytes { bytes in
            self.checksum(of: UnsafeRawBufferPointer(rebasing: bytes[..<byteCount])).elementsEqual(bytes[byteCount...])
        }
        let start = self.magic.count + 2
        guard isWhole, secret.count > start,
            let head = secret.part(offset: 0, count: start)?.withBytes({ Array($0) }),
            head.starts(with: self.magic + [self.fileVersion]), let flag = head.last, flag <= 1
        else { return nil }
        // Behind the public part come two or three seeds and the membership key, of 32 bytes each; nothing of them is
        // copied to where it would not be zeroed.
        let hasUserKey = flag == 1
        let secretByteCount = hasUserKey ? 32 * 4 : 32 * 3
        guard secret.count >= start + secretByteCount else { return nil }
        let publicPart = secret.withBytes { Array($0[start..<$0.count - secretByteCount]) }
        var reader = ByteReader(publicPart)
        do throws(WireError) {
            let name = try reader.text(atMost: Limits.nameByteCountMax)
            let founder = UserID(bytes: try reader.bytes32())
            let nonce = try reader.bytes16()
            let user = UserID(bytes: try reader.bytes32())
            let certificates = try [DeviceCertificate](decoding: &reader)
            try reader.finish()
            let seeds = start + publicPart.count
            guard let signingSeed = secret.part(offset: seeds, count: 32),
                let staticSeed = secret.part(offset: seeds + 32, count: 32),
                let membershipKey = secret.part(offset: seeds + 64, count: 32),
                let signingKey = SigningKey(seed: signingSeed), let staticKey = AgreementKey(seed: staticSeed)
            else { return nil }
            var userKey: SigningKey?
            if hasUserKey, let seed = secret.part(offset: seeds + 96, count: 32) { userKey = SigningKey(seed: seed) }
            let identity = DeviceIdentity(
                name: name,
                founder: founder,
                workspaceNonce: nonce,
                user: user,
                certificates: certificates,
                signingKey: signingKey,
                staticKey: staticKey,
                membershipKey: membershipKey,
                userKey: userKey
            )
            guard identity.hasCertifiedKeys else { return nil }
            return identity
        } catch {
            return nil
        }
    }

    /// Whether the seeds are those of the public keys that its certificates are about, and of its user.
    private var hasCertifiedKeys: Bool {
        guard let own = self.certificates.first, own.device == self.device, own.staticKey == self.publicStaticKey else {
            return false
        }
        return switch self.userKey {
        case .none: true
        case .some(let key): key.publicKey.bytes32 == self.user.bytes
        }
    }
}
