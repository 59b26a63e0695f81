package import CRDTCore
package import Engine

extension SQLiteTransaction {
    package func addParcel(_ parcel: ParcelRecord, for recipients: [DeviceID]) throws(StoreError) {
        let number = try self.statements[.addParcel]
            .first(parcel.id.bytes, parcel.user.bytes, parcel.expiry, parcel.bytes.count, parcel.bytes) { $0.int64(0) }
        guard let number else { return }
        let statement = try self.statements[.addParcelRecipient]
        for device in recipients { try statement.run(device.bytes, number) }
    }

    package func nextParcel(for device: DeviceID) throws(StoreError) -> [UInt8]? {
        try self.statements[.nextParcel].first(device.bytes) { $0.bytes(0) }
    }

    package func removeParcel(_ id: Hash256, for device: DeviceID) throws(StoreError) {
        try self.statements[.removeParcelRecipient].run(id.bytes, device.bytes)
        try self.statements[.removeDeliveredParcels].run(id.bytes)
    }

    package func removeParcels(expiredAt time: WallTime) throws(StoreError) {
        try self.statements[.removeExpiredParcels].run(time)
        try self.statements[.removeStrayRecipients].run()
    }

    package func removeParcels(of user: UserID, beyond byteCount: Int) throws(StoreError) {
        try self.statements[.removeFirstParcels].run(user.bytes, byteCount)
        try self.statements[.removeStrayRecipients].run()
    }

    package func parcelCounts() throws(StoreError) -> (count: Int, byteCount: Int) {
        try self.statements[.parcelCounts].first { (Int($0.int64(0)), Int($0.int64(1))) } ?? (0, 0)
    }
}
