package import CRDTCore
package import PeerCrypto

/// What a device says of itself to the local network: which device it is and where it listens; signed.
///
/// The workspace's membership key authenticates it, so that a member is believed of whom nobody has told us, and others
/// cannot tell whose workspace it is. A recorded one can be sent again, which is why its time is in it.
package struct Beacon: Hashable, Sendable {
    package var device: DeviceID
    package var staticKey: StaticKey
    package var port: UInt16
    package var time: WallTime

    /// What any datagram may be at most.
    package static let byteCountMax = 256
    package static let magic = Array("peerd/b2".utf8)

    var keys: PeerKeys { PeerKeys(device: self.device, staticKey: self.staticKey) }

    package init(device: DeviceID, staticKey: StaticKey, port: UInt16, time: WallTime) {
        self.device = device
        self.staticKey = staticKey
        self.port = port
        self.time = time
    }

    private var fields: [UInt8] {
        var bytes: [UInt8] = []
        self.device.bytes.append(to: &bytes)
        self.staticKey.bytes.append(to: &bytes)
        bytes.appendVarint(UInt64(self.port))
        bytes.appendVarint(self.time.milliseconds)
        return bytes
    }

    /// The first quarter of HMAC-SHA512 over the magic and the fields.
    package static func tag(of fields: [UInt8], _ membershipKey: borrowing SecretBytes) -> [UInt8] {
        membershipKey.withBytes { key in
            self.magic.withUnsafeBytes { magic in
                fields.withUnsafeBytes { fields in
                    HMACSHA512.code(key: key, magic, fields).withBytes { Array($0.prefix(Bytes16.byteCount)) }
                }
            }
        }
    }

    /// The bytes to broadcast.
    package func signed(_ membershipKey: borrowing SecretBytes, by sign: ([UInt8]) -> Signature) -> [UInt8] {
        let fields = self.fields
        let bytes = Self.magic + Self.tag(of: fields, membershipKey) + fields
        return bytes + sign(bytes).array
    }

    /// Reads a beacon of a member; nil if it is another's, if nobody wants to know what it says, or its signature does
    /// not hold.
    ///
    /// `membershipKeys`: those that a member may know. `isWanted` is asked first, since to check the signature takes
    /// longer than all else.
    package init?(
        verifying bytes: [UInt8],
        _ membershipKeys: [Bytes32],
        _ cryptography: some ChangeCryptography,
        isWanted: (Beacon) -> Bool = { _ in true }
    ) {
        let start = Self.magic.count + Bytes16.byteCount
        guard bytes.count <= Self.byteCountMax, bytes.count > start + Signature.byteCount,
            bytes.starts(with: Self.magic), let signature = Signature(bytes.suffix(Signature.byteCount))
        else { return nil }
        let message = Array(bytes.dropLast(Signature.byteCount))
        let fields = Array(message[start...])
        let tag = Array(message[Self.magic.count..<start])
        let isMember = membershipKeys.contains { key in
            ConstantTime.areEqual(tag, Self.tag(of: fields, SecretBytes(key.array)))
        }
        guard isMember else { return nil }
        var reader = ByteReader(fields)
        do throws(WireError) {
            self.device = DeviceID(bytes: try reader.bytes32())
            self.staticKey = StaticKey(bytes: try reader.bytes32())
            self.port = UInt16(try reader.count(atMost: Int(UInt16.max)))
            self.time = WallTime(milliseconds: try reader.varint())
            try reader.finish()
        } catch {
            return nil
        }
        guard isWanted(self), cryptography.isValid(signature, of: message, by: self.device.bytes) else { return nil }
    }
}
