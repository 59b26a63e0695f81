package import CRDTCore
package import Engine

extension SQLiteTransaction {
    package func addParcel(_ parcel: ParcelRecord, for recipients: [DeviceID]) throws(StoreError) {
        let byteCount = parcel.countedByteCount
        let number = try self.statements[.addParcel]
            .first(parcel.id.bytes, parcel.user.bytes, parcel.expiry, byteCount, parcel.bytes) { $0.int64(0) }
        guard let number else { return }
        let statement = try self.statements[.addParcelRecipient]
        for device in recipients { try statement.run(number, device.bytes) }
    }

    package func nextParcel(for device: DeviceID) throws(StoreError) -> [UInt8]? {
        try self.statements[.nextParcel].first(device.bytes) { $0.bytes(0) }
    }

    package func removeParcel(_ id: Hash256, for device: DeviceID) throws(StoreError) {
        try self.statements[.removeParcelRecipient].run(id.bytes, device.bytes)
        try self.statements[.removeDeliveredParcel].run(id.bytes)
    }

    package func removeParcels(expiredAt time: WallTime) throws(StoreError) {
        for parcel in try self.statements[.removeExpiredParcels].rows(time, read: { $0.int64(0) }) {
            try self.statements[.removeParcelRecipients].run(parcel)
        }
    }

    package func removeParcels(of user: UserID, beyond byteCount: Int) throws(StoreError) {
        var rest = try self.statements[.carriedByteCount].first(user.bytes) { Int($0.int64(0)) } ?? 0
        while rest > byteCount {
            let first = try self.statements[.removeFirstParcel].rows(user.bytes) { ($0.int64(0), Int($0.int64(1))) }
            guard let (parcel, itsByteCount) = first.first else { return }
            try self.statements[.removeParcelRecipients].run(parcel)
            rest -= itsByteCount
        }
    }

    package func parcelCounts() throws(StoreError) -> (count: Int, byteCount: Int) {
        try self.statements[.parcelCounts].first { (Int($0.int64(0)), Int($0.int64(1))) } ?? (0, 0)
    }
}
