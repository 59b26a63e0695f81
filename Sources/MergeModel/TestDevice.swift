package import CRDTCore

/// A device of a user of the test workspace, with what it needs to open replicas and sign their chains.
///
/// Its keys are plain numbers: the stand-in cryptography signs with the public key.
package struct TestDevice: Hashable, Sendable {
    package var device: DeviceID
    package var user: UserID
    private var certificate: DeviceCertificate

    package static let cryptography = TestCryptography()
    /// The workspace's founder.
    package static let user = UserID(bytes: Bytes32(0x5573_6572, 0, 0, 1))
    package static let otherUser = UserID(bytes: Bytes32(0x5573_6572, 0, 0, 2))
    package static let workspace = WorkspaceID(
        founder: TestDevice.user,
        nonce: Bytes16(high: 7, low: 7),
        TestDevice.cryptography
    )
    package static let membership = Membership(workspace: TestDevice.workspace, founder: TestDevice.user)

    package init(number: UInt64, user: UserID = TestDevice.user) {
        self.user = user
        self.device = DeviceID(bytes: Bytes32(SplitMix64.mixed(number &+ 1), number, 0, 0))
        let staticKey = StaticKey(bytes: Bytes32(SplitMix64.mixed(number &+ 2), 0, 0, 0))
        let message = DeviceCertificate.message(
            workspace: TestDevice.workspace,
            user: user,
            generation: DeviceCertificate.firstGeneration,
            device: self.device,
            staticKey: staticKey
        )
        self.certificate = DeviceCertificate(
            generation: DeviceCertificate.firstGeneration,
            device: self.device,
            staticKey: staticKey,
            signature: TestDevice.cryptography.sign(message, with: user.bytes)
        )
    }

    /// What opens the chain of the replica with a nonce, on a branch or on the main timeline, in a charter's circle.
    ///
    /// The other user's are written under the charter, and under what is given besides.
    package func introduction(
        nonce: Bytes16,
        branch: BranchID? = nil,
        in charter: Charter = .home,
        under grants: [StatementID] = []
    ) -> Introduction {
        let given = (self.user == TestDevice.otherUser ? [charter.grant] : []) + grants
        return self.introduction(nonce: nonce, branch: branch, in: charter.circle, underNothingBut: given)
    }

    func introduction(
        nonce: Bytes16,
        branch: BranchID? = nil,
        in circle: Circle,
        underNothingBut grants: [StatementID]
    ) -> Introduction {
        Introduction(
            user: self.user,
            deviceName: "device",
            nonce: nonce,
            branch: branch,
            circle: circle,
            grants: grants,
            certificates: [self.certificate]
        )
    }

    /// The replica that this device opens with a nonce in a circle.
    package func replica(nonce: Bytes16, in circle: Circle = .home) -> ReplicaID {
        ReplicaID(device: self.device, nonce: nonce, circle: circle, TestDevice.cryptography)
    }

    /// The device's signature.
    package func sign(_ message: [UInt8]) -> Signature {
        TestDevice.cryptography.sign(message, with: self.device.bytes)
    }
}
