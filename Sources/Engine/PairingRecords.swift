internal import CRDTCore

/// A device that was paired here: admitted although the log does not know it yet.
struct PairedDevice: Hashable, Sendable {
    var device: DeviceID
    var staticKey: StaticKey
    var name: String

    /// Those remembered in the store.
    static func all(in transaction: inout some StoreTransaction) throws(StoreError) -> [PairedDevice] {
        var reader = ByteReader(try transaction.fact(NodeFact.paired) ?? [])
        var devices: [PairedDevice] = []
        do throws(WireError) {
            while reader.remaining > 0 {
                devices.append(
                    PairedDevice(
                        device: DeviceID(bytes: try reader.bytes32()),
                        staticKey: StaticKey(bytes: try reader.bytes32()),
                        name: try reader.text(atMost: Limits.nameByteCountMax)
                    )
                )
            }
        } catch {
            throw .damaged("the list of paired devices cannot be read")
        }
        return devices
    }

    static func save(
        _ devices: [PairedDevice],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var bytes: [UInt8] = []
        for device in devices {
            device.device.bytes.append(to: &bytes)
            device.staticKey.bytes.append(to: &bytes)
            bytes.appendPrefixed(Array(device.name.utf8))
        }
        try transaction.setFact(NodeFact.paired, bytes)
    }
}

/// An invite that has not been used and is not too old.
struct OpenInvite: Hashable, Sendable {
    var secret: Bytes32
    /// When it ends, in wall time.
    var expiry: WallTime

    static func all(in transaction: inout some StoreTransaction) throws(StoreError) -> [OpenInvite] {
        var reader = ByteReader(try transaction.fact(NodeFact.invites) ?? [])
        var invites: [OpenInvite] = []
        do throws(WireError) {
            while reader.remaining > 0 {
                invites.append(
                    OpenInvite(
                        secret: try reader.bytes32(),
                        expiry: WallTime(milliseconds: try reader.varint())
                    )
                )
            }
        } catch {
            throw .damaged("the list of open invites cannot be read")
        }
        return invites
    }

    static func save(_ invites: [OpenInvite], in transaction: inout some StoreTransaction) throws(StoreError) {
        var bytes: [UInt8] = []
        for invite in invites {
            invite.secret.append(to: &bytes)
            bytes.appendVarint(invite.expiry.milliseconds)
        }
        try transaction.setFact(NodeFact.invites, bytes.isEmpty ? nil : bytes)
    }
}
