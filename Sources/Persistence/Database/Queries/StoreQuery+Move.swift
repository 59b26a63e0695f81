/// Moves, and objects without a place.
extension StoreQuery {
    static let insertMove = StoreQuery(
        """
        INSERT INTO move (stamp, segment, sequence, idx, object, parent, position, effective)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """
    )
    static let setMove = StoreQuery(
        "UPDATE move SET effective = ?5 WHERE stamp = ?1 AND segment = ?2 AND sequence = ?3 AND idx = ?4"
    )
    static let deleteMove = StoreQuery(
        """
        DELETE FROM move WHERE stamp = ? AND segment = ? AND sequence = ? AND idx = ? AND object = ? RETURNING object
        """
    )
    private static let moves =
        "SELECT stamp, segment, sequence, idx, object, parent, position, effective FROM move"
    static let movesInRange = StoreQuery("\(moves) WHERE stamp BETWEEN ? AND ? ORDER BY stamp")
    static let movesOfObject = StoreQuery(
        """
        \(moves) INDEXED BY move_object
        WHERE object = ? AND effective = ? AND stamp BETWEEN ? AND ? ORDER BY stamp DESC
        """
    )
    static let allMovesOfObject = StoreQuery("\(moves) INDEXED BY move_object WHERE object = ?")
    static let objectsMovedBelow = StoreQuery(
        "SELECT DISTINCT object FROM move INDEXED BY move_parent WHERE parent IS ?"
    )
    static let unplacedObjects = StoreQuery("SELECT block, objects FROM unplaced")
    /// Whether an object stood at the root before a move put it anywhere.
    private static let stoodAtRoot = """
        NOT EXISTS (
            SELECT * FROM move INDEXED BY move_object
            WHERE move.object = object.object AND effective = 1 AND stamp = created_stamp
        )
        """
    static let allUnplaced = StoreQuery("SELECT object FROM object WHERE \(stoodAtRoot)")
    static let isUnplaced = StoreQuery("SELECT \(stoodAtRoot) FROM object WHERE object = ?")
    static let insertUnplaced = StoreQuery(
        """
        INSERT INTO unplaced (block, objects) VALUES (?, ?)
        ON CONFLICT DO UPDATE SET objects = objects | excluded.objects
        """
    )
    static let hasUnlistedPlace = StoreQuery(
        """
        SELECT EXISTS (
            SELECT 1 FROM object WHERE \(stoodAtRoot) AND NOT EXISTS (
                SELECT 1 FROM unplaced WHERE block = object >> 6 AND objects >> (object & 63) & 1
            )
        )
        """
    )
    static let objectsWithOpenMoves = StoreQuery("SELECT object FROM object WHERE other_open_moves IS NOT NULL")
    static let objectsWithoutEffect = StoreQuery("SELECT DISTINCT object FROM move WHERE effective = 0")
}
