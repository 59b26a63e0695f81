package import CRDTCore

/// A device of the one user of the test workspace, with what it needs to open replicas and sign their chains.
///
/// Its keys are plain numbers: the stand-in cryptography signs with the public key.
package struct TestDevice: Hashable, Sendable {
    package var device: DeviceID
    private var certificate: DeviceCertificate

    package static let cryptography = TestCryptography()
    package static let user = UserID(bytes: Bytes32(0x5573_6572, 0, 0, 1))
    package static let workspace = WorkspaceID(
        founder: TestDevice.user,
        nonce: Bytes16(high: 7, low: 7),
        TestDevice.cryptography
    )
    package static let membership = Membership(workspace: TestDevice.workspace, founder: TestDevice.user)

    package init(number: UInt64) {
        self.device = DeviceID(bytes: Bytes32(SplitMix64.mixed(number &+ 1), number, 0, 0))
        let staticKey = StaticKey(bytes: Bytes32(SplitMix64.mixed(number &+ 2), 0, 0, 0))
        let message = DeviceCertificate.message(
            workspace: TestDevice.workspace,
            user: TestDevice.user,
            device: self.device,
            staticKey: staticKey
        )
        self.certificate = DeviceCertificate(
            device: self.device,
            staticKey: staticKey,
            signature: TestDevice.cryptography.sign(message, with: TestDevice.user.bytes)
        )
    }

    /// What opens the chain of the replica with a nonce.
    package func introduction(nonce: Bytes16) -> Introduction {
        Introduction(user: TestDevice.user, deviceName: "device", nonce: nonce, certificates: [self.certificate])
    }

    /// The replica that this device opens with a nonce.
    package func replica(nonce: Bytes16) -> ReplicaID {
        ReplicaID(device: self.device, nonce: nonce, TestDevice.cryptography)
    }

    /// The device's signature.
    package func sign(_ message: [UInt8]) -> Signature {
        TestDevice.cryptography.sign(message, with: self.device.bytes)
    }
}
