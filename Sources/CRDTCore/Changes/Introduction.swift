/// One link of the chain from a device to its user: a device key and its static key, vouched for by the next link's
/// device, or by the user's root key if there is no next link.
package struct DeviceCertificate: Hashable, Sendable {
    /// How often the user had begun anew with his root key, from `firstGeneration` on; the same along the chain.
    package var generation: UInt32
    package var device: DeviceID
    package var staticKey: StaticKey
    package var signature: Signature

    /// The generation of the devices of a user who has lost none, or not all of them.
    package static let firstGeneration: UInt32 = 1

    package init(generation: UInt32, device: DeviceID, staticKey: StaticKey, signature: Signature) {
        self.generation = generation
        self.device = device
        self.staticKey = staticKey
        self.signature = signature
    }

    /// What the issuer signs.
    package static func message(
        workspace: WorkspaceID,
        user: UserID,
        generation: UInt32,
        device: DeviceID,
        staticKey: StaticKey
    ) -> [UInt8] {
        var bytes = Array("peerd/device/1".utf8)
        workspace.bytes.append(to: &bytes)
        user.bytes.append(to: &bytes)
        bytes.appendVarint(UInt64(generation))
        device.bytes.append(to: &bytes)
        staticKey.bytes.append(to: &bytes)
        return bytes
    }
}

/// The first operation of every replica: whose it is, and what it is written for.
///
/// A replica's id is the hash of its device's key, a nonce and its circle, so only that device can open its chain, and
/// all forks of it belong to one circle.
package struct Introduction: Hashable, Sendable {
    package var user: UserID
    /// The name the device shows to other members.
    package var deviceName: String
    package var nonce: Bytes16
    /// The branch that the chain belongs to; nil for the main timeline.
    package var branch: BranchID?
    package var circle: Circle
    /// What the chain is written under, in its circle: grants to its user.
    package var grants: [StatementID]
    /// The device's own certificate first, then its issuer's, and so on up to one signed by the user's root key.
    package var certificates: [DeviceCertificate]

    package init(
        user: UserID,
        deviceName: String,
        nonce: Bytes16,
        branch: BranchID? = nil,
        circle: Circle = .home,
        grants: [StatementID] = [],
        certificates: [DeviceCertificate]
    ) {
        self.user = user
        self.deviceName = deviceName
        self.nonce = nonce
        self.branch = branch
        (self.circle, self.grants) = (circle, grants)
        self.certificates = certificates
    }

    /// The device that signs the chain; nil if there is no certificate at all.
    package var device: DeviceID? { self.certificates.first?.device }

    /// Appends the canonical bytes.
    package func encode(to bytes: inout [UInt8]) {
        self.user.bytes.append(to: &bytes)
        bytes.appendPrefixed(Array(self.deviceName.utf8))
        self.nonce.append(to: &bytes)
        bytes.append(self.branch == nil ? 0 : 1)
        self.branch?.bytes.append(to: &bytes)
        self.circle.encode(to: &bytes)
        bytes.appendVarint(UInt64(self.grants.count))
        for grant in self.grants { grant.encode(to: &bytes) }
        self.certificates.encode(to: &bytes)
    }

    /// Reads an introduction that fills all of `payload`.
    package init(decoding payload: ArraySlice<UInt8>) throws(WireError) {
        var reader = ByteReader(Array(payload))
        self.user = UserID(bytes: try reader.bytes32())
        self.deviceName = try reader.text(atMost: Limits.nameByteCountMax)
        self.nonce = try reader.bytes16()
        switch try reader.byte() {
        case 0: self.branch = nil
        case 1: self.branch = BranchID(bytes: try reader.bytes16())
        default: throw .notCanonical
        }
        self.circle = try Circle(decoding: &reader)
        self.grants = []
        for _ in 0..<(try reader.count(atMost: Limits.chainGrantCountMax)) {
            self.grants.append(try StatementID(decoding: &reader))
        }
        self.certificates = try [DeviceCertificate](decoding: &reader)
        try reader.finish()
    }

    /// The id of the replica this introduction opens; nil without a certificate.
    package func replica(_ cryptography: some ChangeCryptography) -> ReplicaID? {
        self.device.map { ReplicaID(device: $0, nonce: self.nonce, circle: self.circle, cryptography) }
    }

    /// Whether every certificate is signed by the next one's device and the last by the user.
    package func isCertified(in workspace: WorkspaceID, _ cryptography: some ChangeCryptography) -> Bool {
        guard let generation = self.certificates.first?.generation, generation > 0 else { return false }
        for (link, certificate) in self.certificates.enumerated() {
            let issuer =
                link + 1 < self.certificates.count ? self.certificates[link + 1].device.bytes : self.user.bytes
            guard certificate.generation == generation else { return false }
            let message = DeviceCertificate.message(
                workspace: workspace,
                user: self.user,
                generation: generation,
                device: certificate.device,
                staticKey: certificate.staticKey
            )
            guard cryptography.isValid(certificate.signature, of: message, by: issuer) else { return false }
        }
        return true
    }
}

extension ReplicaID {
    /// The id of the replica that a device opens with a nonce in a circle.
    package init(
        device: DeviceID,
        nonce: Bytes16,
        circle: Circle = .home,
        _ cryptography: some ChangeCryptography
    ) {
        var bytes = device.bytes.array + nonce.array
        if circle != .home { circle.encode(to: &bytes) }
        let digest = cryptography.hash256(.replica, bytes).array
        self.init(bytes: Bytes16(digest.prefix(16)) ?? nonce)
    }
}

extension WorkspaceID {
    /// The id of the workspace that a user founds with a nonce.
    package init(founder: UserID, nonce: Bytes16, _ cryptography: some ChangeCryptography) {
        self.init(bytes: cryptography.hash256(.workspace, founder.bytes.array + nonce.array))
    }
}
