package import CRDTCore

extension SQLiteTransaction {
    package func addAction(_ record: ActionRecord) throws(StoreError) {
        try self.statements[.insertAction]
            .run(record.point, record.label, record.firstSequence, record.start, UInt64(record.link.rawValue))
    }

    package func lastAction(on segment: SegmentIndex, upTo sequence: UInt64) throws(StoreError) -> ActionRecord? {
        try self.statements[.lastAction].first(segment, sequence) { row throws(StoreError) in try self.action(row) }
    }

    package func lastAction(
        of label: String,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> ActionRecord? {
        try self.statements[.lastActionOfLabel].first(segment, label, sequence) { row throws(StoreError) in
            try self.action(row)
        }
    }

    package func firstAction(on segment: SegmentIndex, after sequence: UInt64) throws(StoreError) -> ActionRecord? {
        try self.statements[.firstAction].first(segment, sequence) { row throws(StoreError) in try self.action(row) }
    }

    package func firstAction(on segment: SegmentIndex, startedAt start: Stamp) throws(StoreError) -> ActionRecord? {
        try self.statements[.firstActionOfStart].first(segment, start) { row throws(StoreError) in
            try self.action(row)
        }
    }

    package func lastPiece(of first: SegmentPoint, before sequence: UInt64) throws(StoreError) -> SegmentPoint? {
        try self.statements[.lastPiece].first(first, sequence) { row throws(StoreError) in try self.point(row, at: 0) }
    }

    private func action(_ row: Statement) throws(StoreError) -> ActionRecord {
        let point = try self.point(row, at: 0)
        let first = row.bits(3)
        guard (self.progress(of: point.segment).firstSequence...point.sequence).contains(first) else {
            throw .damaged("a row of the database names an action that cannot be")
        }
        guard let link = UInt8(exactly: row.bits(5)).flatMap({ ActionLink(rawValue: $0) }) else {
            throw .damaged("a row of the database links changes of an action in an unknown way")
        }
        let start = row.isNull(4) ? nil : Stamp(rawValue: row.bits(4))
        return ActionRecord(
            point: point,
            label: row.text(2),
            firstSequence: first,
            start: start,
            link: link
        )
    }
}
