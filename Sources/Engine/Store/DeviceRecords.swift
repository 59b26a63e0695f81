package import CRDTCore
internal import SyncProtocol

// What a store keeps for the device itself: nothing of it is replicated.

/// A device that was paired here.
package struct PairedDeviceRecord: Hashable, Sendable {
    /// Its introduction as it is encoded.
    package var introduction: [UInt8]
    /// When it is forgotten unless it has come; nil once it has.
    package var lapse: WallTime?

    package init(introduction: [UInt8], lapse: WallTime?) {
        (self.introduction, self.lapse) = (introduction, lapse)
    }
}

/// An invite that is open.
package struct InviteRecord: Hashable, Sendable {
    package var secret: Bytes32
    /// What the person is called that it is for, or empty if he has a name here; nil for a device of this user.
    package var person: String?
    package var expiry: WallTime

    package init(secret: Bytes32, person: String? = nil, expiry: WallTime) {
        (self.secret, self.person, self.expiry) = (secret, person, expiry)
    }
}

/// A parcel that is carried for somebody who was not in reach of whoever packed it.
package struct ParcelRecord: Hashable, Sendable {
    package var id: Hash256
    /// The user who has left it here.
    package var user: UserID
    package var expiry: WallTime
    /// All of it as it is encoded.
    package var bytes: [UInt8]

    /// What it takes of the room of its user.
    package var countedByteCount: Int { max(self.bytes.count, ParcelLimits.countedByteCountMin) }

    package init(id: Hash256, user: UserID, expiry: WallTime, bytes: [UInt8]) {
        (self.id, self.user, self.expiry, self.bytes) = (id, user, expiry, bytes)
    }
}

/// Where a device was reached, which is the pair of its keys: others may be certified with the static key of one.
package struct AddressRecord: Hashable, Sendable {
    package var device: DeviceID
    package var staticKey: StaticKey
    package var host: String
    package var port: UInt16

    package init(device: DeviceID, staticKey: StaticKey, host: String, port: UInt16) {
        self.device = device
        self.staticKey = staticKey
        self.host = host
        self.port = port
    }
}
