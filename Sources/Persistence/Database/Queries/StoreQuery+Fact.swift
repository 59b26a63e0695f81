/// Facts about the database, and writes that are remembered by name.
extension StoreQuery {
    static let rememberedWrite = StoreQuery("SELECT content, created FROM remembered_write WHERE name = ?")
    static let rememberWrite = StoreQuery(
        "INSERT INTO remembered_write (name, content, created) VALUES (?, ?, ?) RETURNING remembered_write"
    )
    static let forgetWrites = StoreQuery("DELETE FROM remembered_write WHERE remembered_write <= ?")
    static let fact = StoreQuery("SELECT value FROM fact WHERE name = ?")
    static let setFact = StoreQuery("INSERT OR REPLACE INTO fact (name, value) VALUES (?, ?)")
    static let deleteFact = StoreQuery("DELETE FROM fact WHERE name = ?")
}
