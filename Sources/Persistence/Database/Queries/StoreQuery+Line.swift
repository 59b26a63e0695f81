/// Lines, restamps, and checkpoints of contexts.
extension StoreQuery {
    static let allLines = StoreQuery(
        """
        SELECT line, replica, introduction, parent_line, parent_sequence, first_hash, sibling_hash,
        stored_sequence, stored_hash, applied_sequence, applied_stamp, recent, first_raised,
        checkpoint_sequence, checkpoint_number, branch, merged_sequence FROM line ORDER BY line
        """
    )
    static let insertLine = StoreQuery(
        """
        INSERT INTO line (line, stored_sequence, stored_hash, applied_sequence, applied_stamp, recent,
        first_raised, checkpoint_sequence, checkpoint_number, branch, merged_sequence, replica, parent_line,
        parent_sequence, first_hash, sibling_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    )
    static let updateLine = StoreQuery(
        """
        UPDATE line SET stored_sequence = ?2, stored_hash = ?3, applied_sequence = ?4, applied_stamp = ?5,
        recent = ?6, first_raised = ?7, checkpoint_sequence = ?8, checkpoint_number = ?9, branch = ?10,
        merged_sequence = ?11 WHERE line = ?1
        """
    )
    static let allRestamps = StoreQuery(
        """
        SELECT author_line, replica, first_sequence, last_sequence, last_hash, is_settled, restamp FROM restamp
        ORDER BY restamp
        """
    )
    static let settleRestamp = StoreQuery("UPDATE restamp SET is_settled = 1 WHERE restamp = ?")
    static let insertRestamp = StoreQuery(
        """
        INSERT INTO restamp (author_line, replica, first_sequence, last_sequence, last_hash)
        VALUES (?, ?, ?, ?, ?)
        """
    )
    static let raisedStamp = StoreQuery(
        "SELECT stamp, cause_line, cause_sequence FROM raised WHERE line = ? AND sequence = ?"
    )
    static let setRaisedStamp = StoreQuery(
        """
        INSERT OR REPLACE INTO raised (line, sequence, stamp, cause_line, cause_sequence) VALUES (?, ?, ?, ?, ?)
        """
    )
    static let deleteRaisedStamp = StoreQuery("DELETE FROM raised WHERE line = ? AND sequence = ?")
    static let raisedStampsByCause = StoreQuery(
        """
        SELECT line, sequence FROM raised WHERE cause_line = ? AND cause_sequence = ? ORDER BY line, sequence
        """
    )
    static let setCheckpoint = StoreQuery(
        "INSERT OR REPLACE INTO checkpoint (line, sequence, number, base, additions) VALUES (?, ?, ?, ?, ?)"
    )
    static let checkpoint = StoreQuery(
        """
        SELECT sequence, number, base, additions FROM checkpoint WHERE line = ? AND sequence <= ?
        ORDER BY sequence DESC LIMIT 1
        """
    )
    static let checkpointsOfLine = StoreQuery(
        "SELECT sequence, number, base, additions FROM checkpoint WHERE line = ? ORDER BY sequence"
    )
    static let removeCheckpoints = StoreQuery("DELETE FROM checkpoint WHERE line = ? AND sequence > ?")
    static let updateLineIntroduction = StoreQuery(
        "UPDATE line SET user = ?2, device = ?3, device_name = ?4, introduction = ?5 WHERE line = ?1"
    )
}
