/// Derived rows that go before the state is computed again.
extension StoreQuery {
    static let clearRegisters = StoreQuery("DELETE FROM register")
    static let clearNameBlocks = StoreQuery("DELETE FROM name_block")
    static let clearUnplaced = StoreQuery("DELETE FROM unplaced")
    static let clearVersions = StoreQuery("DELETE FROM version")
    static let clearMoves = StoreQuery("DELETE FROM move")
    static let clearRaisedStamps = StoreQuery("DELETE FROM raised")
    static let clearCheckpoints = StoreQuery("DELETE FROM checkpoint")
    static let clearUnmerged = StoreQuery("DELETE FROM unmerged")
    static let clearRedacted = StoreQuery("DELETE FROM redacted")
    static let clearObjects = StoreQuery(
        """
        UPDATE object SET created_stamp = NULL, created_segment = NULL, created_sequence = NULL, created_idx = NULL,
        type = NULL, kind = NULL, existence = x'', updated = 0, parent = NULL, position = x'', child_count = 0,
        visible_child_count = 0, visible = 0, open_move_segment = NULL, open_move_sequence = NULL,
        open_move_idx = NULL, other_open_moves = NULL, changed = ?1,
        hidden = iif(visible, ?1, hidden), placed = ?1
        """
    )
}
