/// Segments, restamps, and checkpoints of contexts.
extension StoreQuery {
    static let allSegments = StoreQuery(
        """
        SELECT segment, replica, introduction, parent_segment, parent_sequence, first_hash, sibling_hash,
        stored_sequence, stored_hash, applied_sequence, applied_stamp, recent, first_raised,
        checkpoint_sequence, checkpoint_number, merged_sequence, closed_sequence FROM segment ORDER BY segment
        """
    )
    static let insertSegment = StoreQuery(
        """
        INSERT INTO segment (segment, stored_sequence, stored_hash, applied_sequence, applied_stamp, recent,
        first_raised, checkpoint_sequence, checkpoint_number, branch, merged_sequence, closed_sequence, replica,
        parent_segment, parent_sequence, first_hash, sibling_hash)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    )
    static let updateSegment = StoreQuery(
        """
        UPDATE segment SET stored_sequence = ?2, stored_hash = ?3, applied_sequence = ?4, applied_stamp = ?5,
        recent = ?6, first_raised = ?7, checkpoint_sequence = ?8, checkpoint_number = ?9, branch = ?10,
        merged_sequence = ?11, closed_sequence = ?12 WHERE segment = ?1
        """
    )
    static let allRestamps = StoreQuery(
        """
        SELECT author_segment, replica, first_sequence, last_sequence, last_hash, is_settled, restamp, stamp
        FROM restamp ORDER BY restamp
        """
    )
    static let settleRestamp = StoreQuery("UPDATE restamp SET is_settled = 1 WHERE restamp = ?")
    static let insertRestamp = StoreQuery(
        """
        INSERT INTO restamp (author_segment, replica, first_sequence, last_sequence, last_hash, stamp)
        VALUES (?, ?, ?, ?, ?, ?)
        """
    )
    static let raisedStamp = StoreQuery(
        "SELECT stamp, cause_segment, cause_sequence FROM raised WHERE segment = ? AND sequence = ?"
    )
    static let setRaisedStamp = StoreQuery(
        """
        INSERT OR REPLACE INTO raised (segment, sequence, stamp, cause_segment, cause_sequence) VALUES (?, ?, ?, ?, ?)
        """
    )
    static let deleteRaisedStamp = StoreQuery("DELETE FROM raised WHERE segment = ? AND sequence = ?")
    static let raisedStampsByCause = StoreQuery(
        """
        SELECT segment, sequence FROM raised WHERE cause_segment = ? AND cause_sequence = ? ORDER BY segment, sequence
        """
    )
    static let setCheckpoint = StoreQuery(
        "INSERT OR REPLACE INTO checkpoint (segment, sequence, number, base, additions) VALUES (?, ?, ?, ?, ?)"
    )
    private static let checkpoints = "SELECT sequence, number, base, additions FROM checkpoint WHERE segment = ?"
    static let checkpoint = StoreQuery("\(checkpoints) AND sequence <= ? ORDER BY sequence DESC LIMIT 1")
    static let checkpointsOfSegment = StoreQuery("\(checkpoints) ORDER BY sequence")
    static let removeCheckpoints = StoreQuery("DELETE FROM checkpoint WHERE segment = ? AND sequence > ?")
    static let updateSegmentIntroduction = StoreQuery(
        "UPDATE segment SET user = ?2, device = ?3, device_name = ?4, introduction = ?5 WHERE segment = ?1"
    )
}
