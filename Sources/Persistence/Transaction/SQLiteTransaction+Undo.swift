package import CRDTCore

extension SQLiteTransaction {
    package func addUndo(_ undo: UndoRecord) throws(StoreError) {
        try self.statements[.insertUndo].run(
            undo.point,
            undo.subject.change,
            undo.target,
            undo.action,
            undo.scope.device?.bytes,
            undo.scope.label,
            undo.next,
            undo.subject.merge,
            undo.isRedo
        )
    }

    package func undo(at point: SegmentPoint) throws(StoreError) -> UndoRecord? {
        try self.statements[.undoAt].first(point) { row throws(StoreError) in try self.undo(row) }
    }

    package func lastUndo(
        of change: SegmentPoint,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> UndoRecord? {
        try self.statements[.lastUndoOfChange].first(change, segment, sequence) { row throws(StoreError) in
            try self.undo(row)
        }
    }

    package func segmentWithUndo(
        of change: SegmentPoint,
        after segment: SegmentIndex?
    ) throws(StoreError) -> SegmentIndex? {
        let last = segment.map { Int64($0.rawValue) } ?? -1
        return try self.statements[.segmentWithUndo].first(change, last) { row throws(StoreError) in
            // A text is behind all numbers, and reads as one.
            guard let number = UInt32(exactly: row.int64(0)), number < self.segmentCount, Int64(number) > last else {
                throw .damaged("a row of the database names a segment that cannot be")
            }
            return SegmentIndex(rawValue: number)
        }
    }

    package func lastUndo(
        in scope: UndoScope?,
        on segment: SegmentIndex,
        upTo sequence: UInt64
    ) throws(StoreError) -> UndoRecord? {
        guard let scope else {
            return try self.statements[.lastUndo].first(segment, sequence) { row throws(StoreError) in
                try self.undo(row)
            }
        }
        let statement = try self.statements[.lastUndoInScope]
        return try statement.first(segment, scope.device?.bytes, scope.label, sequence) { row throws(StoreError) in
            try self.undo(row)
        }
    }

    private func undo(_ row: Statement) throws(StoreError) -> UndoRecord {
        let device = row.isNull(8) ? nil : DeviceID(bytes: try row.bytes32(8))
        return UndoRecord(
            point: try self.point(row, at: 0),
            subject: UndoSubject(
                change: try self.point(row, at: 2),
                merge: row.isNull(12) ? nil : try self.point(row, at: 12)
            ),
            target: try self.point(row, at: 4),
            isRedo: row.int64(14) != 0,
            action: try self.point(row, at: 6),
            scope: UndoScope(device: device, label: row.isNull(9) ? nil : row.text(9)),
            next: row.isNull(10) ? nil : try self.point(row, at: 10)
        )
    }
}
