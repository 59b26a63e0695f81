/// Numbers of names.
extension StoreQuery {
    static let insertName = StoreQuery("INSERT INTO name (name, text) VALUES (?, ?)")
    static let nameByText = StoreQuery("SELECT name FROM name WHERE text = ?")
    static let nameByNumber = StoreQuery("SELECT text FROM name WHERE name = ?")
}
