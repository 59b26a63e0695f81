/// Parcels that are carried for others.
extension StoreQuery {
    static let addParcel = StoreQuery(
        """
        INSERT INTO parcel (id, user, expiry, byte_count, content) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (id) DO NOTHING RETURNING parcel
        """
    )
    static let addParcelRecipient = StoreQuery(
        "INSERT OR IGNORE INTO parcel_recipient (device, parcel) VALUES (?, ?)"
    )
    static let nextParcel = StoreQuery(
        """
        SELECT content FROM parcel_recipient JOIN parcel USING (parcel) WHERE device = ? ORDER BY parcel LIMIT 1
        """
    )
    static let removeParcelRecipient = StoreQuery(
        "DELETE FROM parcel_recipient WHERE device = ?2 AND parcel = (SELECT parcel FROM parcel WHERE id = ?1)"
    )
    static let removeDeliveredParcels = StoreQuery(
        """
        DELETE FROM parcel WHERE id = ?
            AND NOT EXISTS (SELECT * FROM parcel_recipient WHERE parcel_recipient.parcel = parcel.parcel)
        """
    )
    static let removeExpiredParcels = StoreQuery("DELETE FROM parcel WHERE expiry <= ?")
    static let removeFirstParcels = StoreQuery(
        """
        DELETE FROM parcel WHERE parcel IN (
            SELECT parcel FROM (
                SELECT parcel, sum(byte_count) OVER (ORDER BY parcel DESC) AS total FROM parcel WHERE user = ?
            ) WHERE total > ?
        )
        """
    )
    static let removeStrayRecipients = StoreQuery(
        "DELETE FROM parcel_recipient WHERE parcel NOT IN (SELECT parcel FROM parcel)"
    )
    static let parcelCounts = StoreQuery("SELECT count(*), coalesce(sum(byte_count), 0) FROM parcel")
}
