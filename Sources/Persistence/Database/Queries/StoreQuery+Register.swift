/// Registers, versions, and the history of objects.
extension StoreQuery {
    private static let registers =
        "SELECT stamp, segment, sequence, idx, conflict_count, register, write_count FROM register"
    static let register = StoreQuery("\(registers) WHERE register = ?")
    static let setRegister = setRegisters(1)
    static let setRegisterGroup = setRegisters(RowWriter.groupCount)
    private static func setRegisters(_ count: Int) -> StoreQuery {
        StoreQuery(
            """
            INSERT INTO register (register, stamp, segment, sequence, idx, conflict_count, changed, write_count)
            VALUES \(places(rows: count, columns: 8)) ON CONFLICT (register) DO UPDATE SET stamp = excluded.stamp,
            segment = excluded.segment, sequence = excluded.sequence, idx = excluded.idx,
            conflict_count = excluded.conflict_count, changed = excluded.changed, write_count = excluded.write_count
            """
        )
    }
    static let insertNameBlock = StoreQuery("INSERT OR IGNORE INTO name_block (name, block) VALUES (?, ?)")
    static let hasUnlistedName = StoreQuery(
        """
        SELECT EXISTS (
            SELECT 1 FROM register WHERE NOT EXISTS (
                SELECT 1 FROM name_block
                WHERE name_block.name = register.name AND name_block.block = register.object >> 6
            )
        )
        """
    )
    static let registersOfObject = StoreQuery("\(registers) WHERE register BETWEEN ? AND ?")
    static let propertiesOfObject = StoreQuery(
        """
        SELECT operation.operation, operation.kind, operation.value, name.text FROM register
        LEFT JOIN change ON change.segment = register.segment AND change.sequence = register.sequence
        LEFT JOIN operation ON operation.operation = change.operation + register.idx
            AND register.idx < change.operation_count
        LEFT JOIN name ON name.name = register.name
        WHERE register.register BETWEEN ? AND ? AND register.conflict_count >= 0
        """
    )
    static let changedRegisters = StoreQuery("\(registers) WHERE register BETWEEN ? AND ? AND changed > ?")
    static let conflictedRegisters = StoreQuery(
        "\(registers) WHERE register IN (SELECT register FROM version WHERE status = 1)"
    )
    static let setVersion = StoreQuery(
        """
        INSERT OR REPLACE INTO version (register, stamp, segment, sequence, idx, status) VALUES (?, ?, ?, ?, ?, ?)
        """
    )
    static let deleteRegister = StoreQuery("DELETE FROM register WHERE register = ?")
    static let deleteVersions = StoreQuery("DELETE FROM version WHERE register = ?")
    static let restampVersion = StoreQuery(
        """
        UPDATE version SET stamp = ?6
        WHERE register = ?1 AND stamp = ?2 AND segment = ?3 AND sequence = ?4 AND idx = ?5
        """
    )
    static let deleteVersion = StoreQuery(
        "DELETE FROM version WHERE register = ? AND stamp = ? AND segment = ? AND sequence = ? AND idx = ?"
    )
    private static let versionsOf = "SELECT stamp, segment, sequence, idx FROM version WHERE register = ?"
    static let versions = StoreQuery("\(versionsOf) AND status = ?")
    static let objectsWithDifferentCreations = StoreQuery(
        // The type and the kind of a creation are numbers in these columns.
        """
        SELECT version.register >> 32 FROM version
        JOIN change ON change.segment = version.segment AND change.sequence = version.sequence
        JOIN operation ON operation.operation = change.operation + version.idx
        WHERE version.status = 2
        GROUP BY version.register
        HAVING min(operation.operand) <> max(operation.operand) OR min(operation.value) <> max(operation.value)
        """
    )
    static let lastVersions = StoreQuery("\(versionsOf) AND stamp BETWEEN ? AND ? ORDER BY stamp DESC")
    static let versionOfSameChange = StoreQuery(
        "\(versionsOf) AND stamp = ? AND segment = ? AND sequence = ? AND idx < ? ORDER BY idx DESC LIMIT 1"
    )
    static let lastStampsOfObject = StoreQuery(
        // The highest of each kind; stamps with the highest bit set are negative here.
        """
        WITH stamps (stamp) AS (
            SELECT coalesce(register.stamp, change.stamp) FROM register LEFT JOIN change USING (segment, sequence)
            WHERE register BETWEEN ?1 AND ?2
        )
        SELECT created_stamp FROM object WHERE object = ?3
        UNION ALL SELECT max(stamp) FROM stamps
        UNION ALL SELECT max(stamp) FROM stamps WHERE stamp < 0
        UNION ALL SELECT max(stamp) FROM version WHERE register = ?2
        UNION ALL SELECT max(stamp) FROM version WHERE register = ?2 AND stamp < 0
        UNION ALL SELECT max(stamp) FROM move WHERE object = ?3 AND effective = 0
        UNION ALL SELECT max(stamp) FROM move WHERE object = ?3 AND effective = 0 AND stamp < 0
        UNION ALL SELECT max(stamp) FROM move WHERE object = ?3 AND effective = 1
        UNION ALL SELECT max(stamp) FROM move WHERE object = ?3 AND effective = 1 AND stamp < 0
        """
    )
    static let historyOfObject = StoreQuery(
        """
        SELECT created_stamp, created_segment, created_sequence, created_idx FROM object
        WHERE object = ?3 AND created_stamp IS NOT NULL
        UNION
        SELECT stamp, segment, sequence, idx FROM version WHERE register BETWEEN ?1 AND ?2
        UNION ALL
        SELECT coalesce(register.stamp, change.stamp), segment, sequence, idx
        FROM register LEFT JOIN change USING (segment, sequence) WHERE register BETWEEN ?1 AND ?2
        UNION ALL
        SELECT stamp, segment, sequence, idx FROM move WHERE object = ?3
        """
    )
    static let conflictsFromSegment = StoreQuery("\(versionsOf) AND segment >= ? AND status = 1 ORDER BY segment")
    static let supersededWrites = StoreQuery("\(versionsOf) AND status = 0 ORDER BY stamp")
}
