/// Numbers of names and of grants.
extension StoreQuery {
    static let insertName = StoreQuery("INSERT INTO name (name, text) VALUES (?, ?)")
    static let nameByText = StoreQuery("SELECT name FROM name WHERE text = ?")
    static let nameByNumber = StoreQuery("SELECT text FROM name WHERE name = ?")
    static let insertGrant = StoreQuery(
        "INSERT INTO grant_reference (replica, sequence, hash, idx, grant_reference) VALUES (?, ?, ?, ?, ?)"
    )
    static let grantByContent = StoreQuery(
        "SELECT grant_reference FROM grant_reference WHERE replica = ? AND sequence = ? AND hash = ? AND idx = ?"
    )
    static let grantByNumber = StoreQuery(
        "SELECT replica, sequence, hash, idx FROM grant_reference WHERE grant_reference = ?"
    )
}
