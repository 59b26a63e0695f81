package import CRDTCore

extension SQLiteTransaction {
    package func addErasure(_ erasure: PendingErasure) throws(StoreError) {
        try self.statements[.insertErasure].run(erasure.key, erasure.change)
    }

    package func removeErasure(_ erasure: PendingErasure) throws(StoreError) {
        try self.statements[.deleteErasure].run(erasure.key, erasure.change)
    }

    package func erasures(after key: RegisterKey?) throws(StoreError) -> [PendingErasure] {
        try self.statements[.erasuresFrom].rows(key?.rowNumber ?? .min) { row throws(StoreError) in
            PendingErasure(
                key: RegisterKey(rowNumber: row.int64(0)),
                change: try self.point(row, at: 1),
                isReleased: row.int64(3) == 0
            )
        }
    }

    package func delayErasure(_ erasure: PendingErasure, until time: WallTime) throws(StoreError) {
        try self.statements[.delayErasure].run(erasure.key, erasure.change, Self.due(time))
    }

    package func delayErasures(of segment: SegmentIndex, until time: WallTime) throws(StoreError) {
        try self.statements[.delayErasuresOfSegment].run(segment, Self.due(time))
    }

    package func releaseErasures(dueBy time: WallTime, of segments: [SegmentIndex]) throws(StoreError) {
        try self.statements[.releaseDueErasures].run(Self.due(time))
        for segment in segments { try self.statements[.releaseErasuresOfSegment].run(segment) }
    }

    package func waitingErasures() throws(StoreError) -> [WaitingErasures] {
        try self.statements[.waitingErasures].rows { row throws(StoreError) in
            guard let number = UInt32(exactly: row.int64(0)), number < self.segmentCount else {
                throw .damaged("a row of the database names a segment that cannot be")
            }
            let due = WallTime(milliseconds: UInt64(max(0, row.int64(2))))
            return WaitingErasures(segment: SegmentIndex(rawValue: number), count: Int(row.int64(1)), due: due)
        }
    }

    /// A time as its row has it.
    private static func due(_ time: WallTime) -> Int64 { Int64(clamping: time.milliseconds) }

    /// Whether an erasure of a property is not done yet.
    package func isErasurePending(at key: RegisterKey) throws(StoreError) -> Bool {
        try self.statements[.erasuresOf].first(key) { _ in true } ?? false
    }

    package func supersededWrites(
        at key: RegisterKey,
        upTo limit: Int,
        where isWanted: (WriteReference) -> Bool
    ) throws(StoreError) -> [WriteReference] {
        try self.flush()
        let statement = try self.statements[.supersededWrites]
        defer { statement.reset() }
        statement.bind(1, key)
        var found: [WriteReference] = []
        while found.count < limit, try statement.step() {
            let write = try self.write(statement)
            if isWanted(write) { found.append(write) }
        }
        return found
    }
}
