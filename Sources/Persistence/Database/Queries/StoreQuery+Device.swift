/// Devices, invites and addresses.
extension StoreQuery {
    static let pairedDevices = StoreQuery(
        "SELECT introduction, lapse FROM paired_device ORDER BY paired_device"
    )
    static let addPairedDevice = StoreQuery(
        "INSERT INTO paired_device (introduction, lapse) VALUES (?, ?)"
    )
    static let clearPairedDevices = StoreQuery("DELETE FROM paired_device")
    static let invites = StoreQuery("SELECT secret, person, expiry FROM invite ORDER BY invite")
    static let addInvite = StoreQuery("INSERT INTO invite (secret, person, expiry) VALUES (?, ?, ?)")
    static let clearInvites = StoreQuery("DELETE FROM invite")
    static let addresses = StoreQuery("SELECT device, static_key, host, port FROM address ORDER BY address")
    static let addAddress = StoreQuery("INSERT INTO address (device, static_key, host, port) VALUES (?, ?, ?, ?)")
    static let clearAddresses = StoreQuery("DELETE FROM address")
}
