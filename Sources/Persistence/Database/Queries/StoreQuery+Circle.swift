/// What the views have of circles.
extension StoreQuery {
    static let overlayRows = StoreQuery("SELECT object, place, beside, rank FROM overlay")
    static let putOverlay = StoreQuery(
        "INSERT OR REPLACE INTO overlay (object, place, beside, rank) VALUES (?, ?, ?, ?)"
    )
    static let deleteOverlay = StoreQuery("DELETE FROM overlay WHERE object = ?")
    static let accessRows = StoreQuery(
        "SELECT circle, scope, user, can_write, property FROM access ORDER BY access"
    )
    static let clearAccess = StoreQuery("DELETE FROM access")
    static let insertAccess = StoreQuery(
        "INSERT INTO access (circle, scope, user, can_write, property) VALUES (?, ?, ?, ?, ?)"
    )
}
