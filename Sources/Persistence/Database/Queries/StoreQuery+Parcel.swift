/// Parcels that are carried for others.
extension StoreQuery {
    static let addParcel = StoreQuery(
        """
        INSERT INTO parcel (id, user, expiry, byte_count, content) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (id) DO NOTHING RETURNING parcel
        """
    )
    static let addParcelRecipient = StoreQuery(
        "INSERT OR IGNORE INTO parcel_recipient (parcel, device) VALUES (?, ?)"
    )
    static let nextParcel = StoreQuery(
        """
        SELECT content FROM parcel_recipient JOIN parcel USING (parcel) WHERE device = ? ORDER BY parcel LIMIT 1
        """
    )
    static let removeParcelRecipient = StoreQuery(
        "DELETE FROM parcel_recipient WHERE parcel = (SELECT parcel FROM parcel WHERE id = ?) AND device = ?"
    )
    static let removeDeliveredParcel = StoreQuery(
        """
        DELETE FROM parcel WHERE id = ?
            AND NOT EXISTS (SELECT * FROM parcel_recipient WHERE parcel_recipient.parcel = parcel.parcel)
        """
    )
    static let removeParcelRecipients = StoreQuery("DELETE FROM parcel_recipient WHERE parcel = ?")
    static let removeExpiredParcels = StoreQuery("DELETE FROM parcel WHERE expiry <= ? RETURNING parcel")
    static let removeFirstParcel = StoreQuery(
        """
        DELETE FROM parcel WHERE parcel = (SELECT min(parcel) FROM parcel WHERE user = ?) RETURNING parcel, byte_count
        """
    )
    static let carriedByteCount = StoreQuery("SELECT coalesce(sum(byte_count), 0) FROM parcel WHERE user = ?")
    static let parcelCounts = StoreQuery("SELECT count(*), coalesce(sum(byte_count), 0) FROM parcel")
}
