package import CRDTCore

/// A store that a node can live in.
package protocol NodeStore: ReplicaStore, ~Copyable where Transaction: NodeTransaction {}

/// The rows of a store, with those that the device keeps for itself: no other device hears of them.
package protocol NodeTransaction: StoreTransaction {
    /// Bytes kept under a name; nil if there are none.
    mutating func fact(_ name: String) throws(StoreError) -> [UInt8]?
    mutating func setFact(_ name: String, _ value: [UInt8]?) throws(StoreError)
    /// Keeps whose store it is (`CircleTable.reader`).
    mutating func setReader(_ reader: CircleReader) throws(StoreError)
    /// Keeps which circles the user is sent nothing of any more (`CircleTable.closed`).
    mutating func setClosedCircles(_ circles: Set<CircleIndex>) throws(StoreError)
    /// Each list of records is read, and replaced, as a whole; it keeps its order.
    mutating func pairedDevices() throws(StoreError) -> [PairedDeviceRecord]
    mutating func setPairedDevices(_ devices: [PairedDeviceRecord]) throws(StoreError)
    mutating func invites() throws(StoreError) -> [InviteRecord]
    mutating func setInvites(_ invites: [InviteRecord]) throws(StoreError)
    mutating func addresses() throws(StoreError) -> [AddressRecord]
    mutating func setAddresses(_ addresses: [AddressRecord]) throws(StoreError)

    /// Keeps a parcel for its recipients, unless it is there already.
    mutating func addParcel(_ parcel: ParcelRecord, for recipients: [DeviceID]) throws(StoreError)
    /// The bytes of the parcel for a device that came first; nil if there is none.
    mutating func nextParcel(for device: DeviceID) throws(StoreError) -> [UInt8]?
    /// Says that a device has a parcel; it goes with its last recipient.
    mutating func removeParcel(_ id: Hash256, for device: DeviceID) throws(StoreError)
    /// Removes parcels that have expired by a time.
    mutating func removeParcels(expiredAt time: WallTime) throws(StoreError)
    /// Removes the parcels of a user that came first, until the rest counts for so few bytes.
    mutating func removeParcels(of user: UserID, beyond byteCount: Int) throws(StoreError)
    /// The number of parcels, and of the bytes that they count for.
    mutating func parcelCounts() throws(StoreError) -> (count: Int, byteCount: Int)

    /// The write that a local caller named; nil if it was not done, or is forgotten.
    mutating func rememberedWrite(_ name: String) throws(StoreError) -> RememberedWrite?
    /// Remembers a write under a name that has none, and forgets old ones that are too many.
    mutating func remember(_ write: RememberedWrite, as name: String) throws(StoreError)
}
