package import CRDTCore

/// What a device says of itself to the local network: which workspace (only members can tell which), which device,
/// where it listens; signed.
package struct Beacon: Hashable, Sendable {
    /// A hash of the workspace's id, so that the id itself is not shown.
    package var tag: Bytes16
    package var device: DeviceID
    package var staticKey: StaticKey
    package var port: UInt16
    package var time: WallTime

    /// What any datagram may be at most.
    package static let byteCountMax = 256
    private static let magic = Array("peerd/b1".utf8)

    package static func tag(of workspace: WorkspaceID, _ cryptography: some ChangeCryptography) -> Bytes16 {
        let digest = cryptography.hash256(.workspace, Array("peerd/beacon".utf8) + workspace.bytes.array)
        return Bytes16(digest.array.prefix(16)) ?? Bytes16(high: 0, low: 0)
    }

    package init(tag: Bytes16, device: DeviceID, staticKey: StaticKey, port: UInt16, time: WallTime) {
        self.tag = tag
        self.device = device
        self.staticKey = staticKey
        self.port = port
        self.time = time
    }

    /// The bytes to broadcast.
    package func signed(_ sign: ([UInt8]) -> Signature) -> [UInt8] {
        var bytes = Self.magic
        self.tag.append(to: &bytes)
        self.device.bytes.append(to: &bytes)
        self.staticKey.bytes.append(to: &bytes)
        bytes.appendVarint(UInt64(self.port))
        bytes.appendVarint(self.time.milliseconds)
        return bytes + sign(bytes).array
    }

    /// Reads a beacon of the workspace with this tag; nil if it is another's, if nobody wants to know what it says, or
    /// its signature does not hold.
    ///
    /// `isWanted` is asked first, since to check the signature takes longer than all else.
    package init?(
        verifying bytes: [UInt8],
        tag: Bytes16,
        _ cryptography: some ChangeCryptography,
        isWanted: (Beacon) -> Bool = { _ in true }
    ) {
        guard bytes.count <= Self.byteCountMax, bytes.count > Signature.byteCount, bytes.starts(with: Self.magic),
            let signature = Signature(bytes.suffix(Signature.byteCount))
        else { return nil }
        let message = Array(bytes.dropLast(Signature.byteCount))
        var reader = ByteReader(Array(message.dropFirst(Self.magic.count)))
        do throws(WireError) {
            self.tag = try reader.bytes16()
            self.device = DeviceID(bytes: try reader.bytes32())
            self.staticKey = StaticKey(bytes: try reader.bytes32())
            self.port = UInt16(try reader.count(atMost: Int(UInt16.max)))
            self.time = WallTime(milliseconds: try reader.varint())
            try reader.finish()
        } catch {
            return nil
        }
        guard self.tag == tag, isWanted(self), cryptography.isValid(signature, of: message, by: self.device.bytes)
        else { return nil }
    }
}
