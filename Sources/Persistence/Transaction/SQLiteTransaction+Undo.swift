package import CRDTCore

extension SQLiteTransaction {
    package func addUndo(_ undo: UndoRecord) throws(StoreError) {
        var scope: [UInt8]?
        if case .device(let device) = undo.scope { scope = device.bytes.array }
        try self.statements[.insertUndo].run(
            undo.point,
            undo.change,
            undo.target,
            scope,
            undo.next.map { Int64($0.segment.rawValue) },
            undo.next.map { Int64(bitPattern: $0.sequence) }
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

    package func lastUndo(on segment: SegmentIndex, upTo sequence: UInt64) throws(StoreError) -> UndoRecord? {
        try self.statements[.lastUndo].first(segment, sequence) { row throws(StoreError) in try self.undo(row) }
    }

    private func undo(_ row: Statement) throws(StoreError) -> UndoRecord {
        var scope = UndoScope.user
        if !row.isNull(6) {
            guard let device = Bytes32(row.bytes(6)) else { throw .damaged("the scope of an undo cannot be read") }
            scope = .device(DeviceID(bytes: device))
        }
        return UndoRecord(
            point: try self.point(row, at: 0),
            change: try self.point(row, at: 2),
            target: try self.point(row, at: 4),
            scope: scope,
            next: row.isNull(7) ? nil : try self.point(row, at: 7)
        )
    }
}
