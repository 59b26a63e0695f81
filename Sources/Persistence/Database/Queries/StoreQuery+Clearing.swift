/// Derived rows that go before the state is computed again.
extension StoreQuery {
    static let clearDerived = [
        "register", "name_block", "version", "move", "unplaced", "raised", "checkpoint", "unmerged", "taken_in",
        "redacted", "missing", "erasure", "undo", "action",
    ].map { StoreQuery("DELETE FROM \($0)") }
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
