/// Objects, and their order below each other; the root is the parent NULL.
extension StoreQuery {
    static let objectByID = StoreQuery("SELECT object FROM object WHERE id = ? AND circle = ?")
    static let objectID = StoreQuery("SELECT id FROM object WHERE object = ?")
    static let visibleCount = StoreQuery("SELECT count(*) FROM object WHERE visible")
    static let lastCommit = StoreQuery("SELECT max(changed) FROM object")
    static let changesOfObject = StoreQuery(
        "SELECT object, changed, shown, hidden, placed FROM object WHERE object = ?"
    )
    static let lastMove = StoreQuery(
        "SELECT segment FROM move WHERE object = ? AND effective = 1 ORDER BY stamp DESC LIMIT 1"
    )
    static let lastDeletion = StoreQuery(
        "SELECT segment FROM version WHERE register = ? AND status = 3 ORDER BY stamp DESC LIMIT 1"
    )
    static let changedObjects = StoreQuery(
        """
        SELECT object, changed, shown, hidden, placed FROM object WHERE (changed, object) > (?, ?)
        ORDER BY changed, object LIMIT ?
        """
    )
    static let visiblePage = StoreQuery(
        "SELECT object FROM object WHERE id > ? AND visible ORDER BY id, circle LIMIT ?"
    )
    static let knownPage = StoreQuery(
        "SELECT object FROM object WHERE (id, circle) > (?, ?) ORDER BY id, circle LIMIT ?"
    )
    static let objectsByID = StoreQuery("SELECT object FROM object WHERE id = ? ORDER BY circle")
    static let objectsOutsideOfHome = StoreQuery("SELECT object FROM object WHERE circle > 0")
    static let typePage = StoreQuery(
        "SELECT object FROM object WHERE type = ? AND id > ? AND visible ORDER BY id, circle LIMIT ?"
    )
    static let lastPosition = StoreQuery("SELECT max(position) FROM object WHERE parent IS ?")
    static let childPage = StoreQuery(
        """
        SELECT object FROM object WHERE parent IS ? AND (position, id) > (?, ?) AND visible
        ORDER BY position, id, circle LIMIT ?
        """
    )
    static let childBefore = StoreQuery(
        """
        SELECT object FROM object WHERE parent IS ? AND (position, id) < (?, ?) AND visible
        ORDER BY position DESC, id DESC, circle DESC LIMIT 1
        """
    )
    static let objectRow = StoreQuery(
        """
        SELECT id, created_stamp, created_segment, created_sequence, created_idx, type, kind, existence, updated,
        parent, position, child_count, visible_child_count, visible, open_move_segment, open_move_sequence,
        open_move_idx, other_open_moves, circle FROM object WHERE object = ?
        """
    )
    static let insertObject = StoreQuery(
        """
        INSERT INTO object (object, created_stamp, created_segment, created_sequence, created_idx, type, kind,
        existence, updated, child_count, visible_child_count, visible, open_move_segment, open_move_sequence,
        open_move_idx, other_open_moves, parent, position, id, circle, changed, shown, hidden, placed)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?21, ?20, ?20, 0, ?20)
        """
    )
    private static let objectChange = """
        UPDATE object SET existence = ?8, updated = ?9, child_count = ?10, visible_child_count = ?11, changed = ?20
        """
    private static let objectTurn = """
        created_stamp = ?2, created_segment = ?3, created_sequence = ?4, created_idx = ?5, type = ?6, kind = ?7,
        open_move_segment = ?13, open_move_sequence = ?14, open_move_idx = ?15, other_open_moves = ?16,
        visible = ?12, shown = iif(visible < ?12, ?20, shown), hidden = iif(visible > ?12, ?20, hidden)
        """
    static let updateObject = StoreQuery("\(objectChange) WHERE object = ?1")
    static let updateObjectAndType = StoreQuery(
        """
        \(objectChange), \(objectTurn), placed = iif(type IS ?6 AND kind IS ?7, placed, ?20) WHERE object = ?1
        """
    )
    static let updateObjectAndPlace = StoreQuery(
        """
        \(objectChange), \(objectTurn), parent = ?17, position = ?18,
        placed = iif(parent IS ?17 AND type IS ?6 AND kind IS ?7, placed, ?20) WHERE object = ?1
        """
    )
    static var children: StoreQuery {
        childrenInOrder
    }
    private static let childrenInOrder = StoreQuery(
        "SELECT object FROM object WHERE parent IS ? ORDER BY position, id, circle"
    )
    static let visibleObjects = StoreQuery("SELECT object FROM object WHERE visible ORDER BY id, circle")
}
